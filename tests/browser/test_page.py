#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every view of the page in a browser, against a controller with four agents: what is shown is what
REST says, and strangers' words stay words."""
import contextlib
import http.server
import json
import math
import os
import signal
import subprocess
import threading
import time
import unittest

from browser import Page
from world import AT, FLOW, HOSTILE, START_S, TWO_PATHS, World

LOST_S = 3


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        cls.page = Page(cls.world.url)
        cls.addClassCleanup(cls.page.__exit__)

    def setUp(self):
        self.page.complaints()
        self.page.console = []

    def tearDown(self):
        self.assertEqual(self.page.complaints(), [])
        self.assertIsNone(self.page.js("return window.hurt"))
        foreign = [url for url, _ in self.page.asked() if not url.startswith(self.world.url)]
        self.assertEqual(foreign, [])

    # ---- the pictures ----

    def rest(self, metric, to=AT, window=10):
        rows = self.world.get(f"/v1/links?metrics={metric}&from={to - window}&to={to}")["links"]
        return {row["link"]: row[metric] for row in rows if row[metric]}

    def same_as_rest(self, metric, to=AT, window=10):
        wanted = self.rest(metric, to, window)

        def equal():
            shown = {link: value for link, value in self.page.links().items() if value}
            return shown.keys() == wanted.keys() and all(
                math.isclose(shown[link], value, rel_tol=1e-6) for link, value in wanted.items())
        self.page.until(equal, f"the values of {metric}, {wanted}")
        return wanted

    def test_fabric(self):
        """the table is what REST says, the colours are those of the values, a click opens the
        link"""
        self.page.open(f"#view=fabric&metric=load_bps&at={AT}")
        values = self.same_as_rest("load_bps")
        self.assertEqual(len(self.page.links()), 64)
        hottest, idle = max(values, key=values.get), "1-9"
        self.assertNotIn(idle, values)
        hot, cold = (self.page.locate(link) for link in (hottest, idle))
        self.assertFalse(hot["bundle"])
        self.assertGreater(self.page.bright(hot), self.page.bright(cold) + 60)
        back = self.page.locate("-".join(reversed(hottest.split("-"))))
        self.assertNotEqual((hot["x"], hot["y"]), (back["x"], back["y"]))
        self.page.click_link(hottest)
        self.page.until(lambda: self.page.rows("link-panel")
                        == [{"testid": "link-panel", "link": hottest}], "the panel of the link")
        self.assertIn(f"link={hottest}", self.page.js("return location.hash"))

    def test_matrix(self):
        self.page.open(f"#view=matrix&metric=load_bps&at={AT}")
        values = self.same_as_rest("load_bps")
        hottest = max(values, key=values.get)
        at = self.page.locate(hottest)
        idle = self.page.locate("1-9")
        self.assertGreater(self.page.bright(at), self.page.bright(idle) + 60)
        self.page.click_link(hottest)
        self.page.until(lambda: self.page.rows("link-panel"), "the panel of the link")
        self.assertEqual(self.page.rows("link-panel")[0]["link"], hottest)

    def test_metrics(self):
        """each metric that the controller has, chosen with the mouse; an unknown one harms
        nothing"""
        self.page.open(f"#view=fabric&at={AT}")
        self.page.fill("show", "use")
        self.same_as_rest("use")
        self.page.turn(f"#view=fabric&metric=load_bps&at={AT}&window=5")
        self.same_as_rest("load_bps", window=5)
        self.page.turn(f"#view=fabric&metric=no-such&at={AT}")
        self.page.until(lambda: "no metric no-such" in self.page.text(), "words about the metric")

    def test_link(self):
        self.page.open(f"#view=link&link=4-11&metric=load_bps&at={AT}")
        flows = self.page.until(
            lambda: self.page.js("return [...document.querySelectorAll('[data-testid=top-flows] "
                                 "tr[data-flow]')].map(r => r.dataset.flow)"), "top flows")
        self.assertEqual(flows, ["10.2.2.2:1002 → 10.2.1.2:80/17"])
        self.page.until(lambda: self.page.js(
            "return document.querySelector('.uplot canvas') !== null"), "the curve")
        self.page.turn("#view=link&link=4-17")
        self.page.until(lambda: "no such link" in self.page.text(),
                        "words about a link that is none")

    def test_long_names(self):
        """what all long names have in common is left out where there is little room; the title has
        all of it"""
        names = self.page.js("""const {Network} = await import('/map/model.js');
            const make = names => new Network({nodes: names
                .map((name, n) => ({id: n + 1, name, role: 'tor'})), links: []})
                .nodes.map(node => node.brief);
            return [make(['ams-3-hall-2-tor-1-1.example.net', 'ams-3-hall-2-agg-1-1.example.net',
                          'ams-3-hall-2-core-7.example.net']),
                make(['tor-1', 'tor-2']),
                make(['\\u{1f9ff}'.repeat(64) + '-1', '\\u{1f9ff}'.repeat(64) + '-2']),
                make(['one']), make([])]""")
        self.assertEqual(names, [["tor-1-1", "agg-1-1", "core-7"], ["tor-1", "tor-2"], ["1", "2"],
                                 ["one"], []])

    # ---- flows ----

    def test_flow(self):
        """one flow, two paths, each with what took it; both are drawn"""
        self.page.open(f"#view=flow&flow=10.2.2.2,,1002,,&metric=load_bps&at={AT}")
        paths = self.page.until(lambda: len(self.page.rows("flow-path")) == 2
                                and self.page.rows("flow-path"), "two paths")
        self.assertEqual({row["path"] for row in paths}, TWO_PATHS)
        self.assertEqual({row["pkts"] for row in paths}, {"35"})
        self.assertEqual(self.page.js("return document.querySelectorAll('.timeline rect').length"),
                         2)
        self.page.open("#view=flow")
        self.page.fill("dst ip", "10.1.1.2")
        self.page.press("Show paths")
        self.page.until(lambda: [row["path"] for row in self.page.rows("flow-path")]
                        == ["2,9,1"], "the paths to one address")
        self.assertIn("dst", self.page.js("return document.querySelector('.fields').textContent"))

    # ---- alarms, verdicts ----

    def test_alarms(self):
        """as they come, grouped, with a count; a click leads to the paths; strangers' words are
        words"""
        self.page.open("#view=alarms")
        for n, words in enumerate(HOSTILE):
            self.world.alarm(detail=words, port=100 + n)
        group = self.page.until(lambda: [g for g in self.page.rows("alarm-group") if g[
            "reason"] == "PC_FAIL" and int(g["count"]) >= len(HOSTILE)], "the group")
        self.assertEqual(len(group), 1)
        self.page.js("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        self.assertIn(HOSTILE[-1], self.page.js(
            "return document.querySelector('[data-testid=alarm-group] details').textContent"))
        self.assertEqual(
            self.page.js("return document.querySelectorAll('#root img, #root script').length"), 0)
        self.page.turn("#view=fabric&metric=load_bps")
        self.page.until(lambda: self.page.links(), "links")
        self.page.until(lambda: "alarm" in self.page.js(
            "return document.querySelector('tr[data-link=\"1-9\"]').textContent"),
                        "the link's badge")

    def test_alarms_in_a_crowd(self):
        """10,000 at once: counted, and the page goes on"""
        self.page.open("#view=alarms")
        self.page.js("""window.longest = 0; let last = performance.now();
            window.watch = setInterval(() => {
                const now = performance.now();
                window.longest = Math.max(window.longest, now - last - 20); last = now; }, 20)""")
        for n in range(40):
            self.world.alarm(reason="POOR_PERF", number=250, port=250 * n)
        self.page.until(lambda: sum(int(g["count"]) for g in self.page.rows("alarm-group")
                                    if g["reason"] == "POOR_PERF") >= 10_000, "all of them", 40)
        self.assertLess(self.page.js("clearInterval(window.watch); return window.longest"), 1000)

    def test_verdicts(self):
        self.page.open("#view=verdicts")
        self.page.until(lambda: self.page.js(
            "return [...document.querySelectorAll('option')].some(o => o.value === 'top-talkers' "
            "|| o.value === 'silent-drops')"), "applications")
        self.page.fill("application", "silent-drops")
        self.page.press("Run")
        report = self.page.until(lambda: self.page.rows("verdict"), "the report")
        self.assertEqual((report[0]["app"], report[0]["links"], report[0]["certain"]),
                         ("silent-drops", "", "false"))
        status, made = self.world.ask("POST", "/v1/watches",
                                      {"app": "silent-drops", "period_s": 0.5})
        self.assertEqual(status, 200)
        self.page.until(lambda: len(self.page.rows("verdict")) == 2, "the watch's report, too")
        self.world.ask("DELETE", f"/v1/watches/{made['id']}")

    # ---- questions ----

    def test_ask(self):
        """a form from the description of the API, the answer as a table, CSV and JSON"""
        self.page.open("#view=ask")
        self.page.until(lambda: "Ask all hosts" in self.page.text(), "the form")
        self.page.fill("query", "getFlows")
        self.page.until(lambda: "src port" in self.page.text(), "its fields")
        self.page.fill("src port", "1002")
        self.page.js("window.saved = []; URL.createObjectURL = blob => { blob.text().then(t => "
                     "window.saved.push(t)); return 'blob:none'; }")
        self.page.js("HTMLAnchorElement.prototype.click = () => {}")
        self.page.press("Ask all hosts")
        rows = self.page.until(
            lambda: self.page.js("return [...document.querySelectorAll('[data-testid=answer] tbody "
                                 "tr')].map(r => r.innerText)"), "rows")
        self.assertEqual(len(rows), 2)
        self.page.press("CSV")
        self.page.press("JSON")
        saved = self.page.until(lambda: len(self.page.js("return window.saved")) == 2
                                and self.page.js("return window.saved"), "two files")
        self.assertEqual(len(saved[0].splitlines()), 3)
        self.assertIn("src_ip", saved[0].splitlines()[0])
        self.assertEqual(len(json.loads(saved[1])["flows"]), 2)
        self.page.fill("src port", "many")
        self.page.press("Ask all hosts")
        self.page.until(lambda: "src_port" in self.page.text(), "what is wrong")
        self.page.until(lambda: any("400" in line for line in self.page.complaints()),
                        "the console's line of the refusal")
        self.page.console = [line for line in self.page.console if "400" not in line["message"]]

    # ---- time ----

    def test_time(self):
        """paused, live again, and a moment of the past; two windows at different times know nothing
        of each other"""
        self.page.open("#view=fabric&metric=load_bps")
        self.page.until(
            lambda: not self.page.js("return [...document.querySelectorAll('button')].find(b => "
                                     "b.textContent === 'Pause').disabled"), "a time")
        self.page.press("Pause")
        self.assertEqual(self.page.until_state("paused")["view"], "fabric")
        self.page.turn("#view=fabric&metric=load_bps")
        self.page.until_state("live")
        first = self.page.driver.current_window_handle
        self.page.turn(f"#view=fabric&metric=load_bps&at={AT}")
        self.same_as_rest("load_bps")
        self.page.driver.switch_to.new_window("tab")
        self.page.open(f"#view=fabric&metric=load_bps&at={AT + 20}")
        self.page.until(lambda: self.page.app()["state"] == "paused"
                        and len(self.page.links()) == 64, "an empty moment")
        self.assertFalse(any(self.page.links().values()))
        self.page.driver.close()
        self.page.driver.switch_to.window(first)
        self.same_as_rest("load_bps")

    def test_wrong_clock(self):
        """a browser whose clock is off by a day asks for the controller's time"""
        self.page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {
            "source": "const now = Date.now; Date.now = () => now() + 86400000; "
            "performance.timeOrigin"})
        self.page.open("#view=fabric&metric=load_bps")
        self.page.until(
            lambda: not self.page.js("return [...document.querySelectorAll('button')].find(b => "
                                     "b.textContent === 'Pause').disabled"), "a time")
        self.page.press("Pause")
        self.page.until_state("paused")
        at = float(self.page.js("return new URLSearchParams(location.hash.slice(1)).get('at')"))
        self.assertLess(abs(at - time.time()), 30)

    # ---- how it looks ----

    def test_small_window(self):
        self.page.driver.set_window_size(300, 200)
        try:
            self.page.open(f"#view=fabric&metric=load_bps&at={AT}")
            self.same_as_rest("load_bps")
            self.assertLessEqual(
                self.page.js("return document.documentElement.scrollWidth - innerWidth"), 1)
        finally:
            self.page.driver.set_window_size(1400, 900)

    def test_keyboard(self):
        """from the top of the page to a link of the table with the Tab key alone, and into it"""
        self.page.open(f"#view=fabric&metric=load_bps&at={AT}")
        self.same_as_rest("load_bps")
        seen = set()
        for _ in range(60):
            for kind in ("rawKeyDown", "keyUp"):
                self.page.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {
                    "type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9})
            what = self.page.js("const e = document.activeElement; return "
                                "e.closest('[data-link]')?.dataset.link ? 'link' : e.tagName")
            seen.add(what)
            if what == "link":
                break
        self.assertLessEqual({"A", "SELECT", "BUTTON", "CANVAS", "link"}, seen)
        self.page.js("document.activeElement.click()")
        self.page.until(lambda: self.page.rows("link-panel"), "the link")

    def test_size(self):
        """what the page loads, from its own origin"""
        with Page(self.world.url) as page:
            page.open(f"#view=link&link=4-11&metric=load_bps&at={AT}")
            page.until(lambda: page.js(
                "return document.querySelector('.uplot canvas') !== null"), "the curve")
            files = [(url, size) for url, size in page.asked() if "/map" in url]
            self.assertLessEqual(len({url for url, _ in files}), 20)
            self.assertLessEqual(sum(size for _, size in files), 300_000)


class FaultTest(unittest.TestCase):
    """what happens under the page"""

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.page = Page(self.world.url)
        self.addCleanup(self.page.__exit__)

    def test_missing_host(self):
        self.page.open(f"#view=fabric&metric=load_bps&at={AT}")
        self.world.agents[22].__exit__()
        self.page.until(lambda: [row["id"] for row in self.page.rows("host-missing")]
                        == ["22"], "the missing host")
        self.page.turn("#view=alarms")
        self.assertEqual([row["id"] for row in self.page.rows("host-missing")], ["22"])
        self.page.turn(f"#view=link&link=10-1&metric=load_bps&at={AT}")
        self.page.until(lambda: "incomplete" in self.page.text(),
                        "the mark of numbers that lack something")

    def test_lost(self):
        """killed, started again; stopped so that it says nothing, and going on"""
        self.page.open("#view=matrix&metric=load_bps&link=4-11")
        self.world.controller.__exit__()
        self.page.until_state("lost", seconds=LOST_S)
        self.world.start()
        self.assertEqual(self.page.until_state("live")["view"], "matrix")
        self.assertIn("link=4-11", self.page.js("return location.hash"))
        self.world.controller.process.send_signal(signal.SIGSTOP)
        self.page.until_state("lost", seconds=LOST_S + 0.5)
        self.world.controller.process.send_signal(signal.SIGCONT)
        self.page.until_state("live")
        self.assertEqual(self.page.complaints(), [])

    def streams(self):
        return self.world.get("/v1/status")["events"]["streams"]

    def test_left_behind(self):
        """pages that "back" would show again hold no connection: a browser has six to one server,
        and the seventh page waited for ever"""
        for n in range(8):
            self.page.open(f"#view=link&link=4-11&metric=load_bps&at={AT + n}")
        self.page.until(lambda: self.streams() == 1, "one stream, that of the page in sight")
        for _ in range(4):
            self.page.driver.back()         # an empty page, and the one before
        self.page.until_state("paused")
        self.assertTrue(self.page.js("return location.hash").endswith(f"at={AT + 5}"))
        self.page.until(lambda: any(self.page.links().values()), "its values")

    def test_chosen_while_loading(self):
        """another moment and another metric, chosen before the topology has come or while it comes
        anew"""
        self.page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": """
            const real = window.fetch; window.held = [];
            window.fetch = async (url, options) => {
                if (String(url).startsWith('/v1/topology') && !window.free)
                    await new Promise(go => window.held.push(go));
                return real(url, options);
            };"""})
        self.page.open("#view=fabric&metric=use", wait=False)
        self.page.until(
            lambda: self.page.js("return window.held.length"), "the question for the topology")
        self.page.turn(f"#view=fabric&metric=load_bps&at={AT}")
        time.sleep(.3)
        self.page.js("window.free = true; window.held.forEach(go => go())")
        self.page.until_state("paused")
        self.page.until(lambda: any(self.page.links().values()), "values of then")
        self.page.js(
            "window.free = false; window.held = []; dispatchEvent(new "
            "PageTransitionEvent('pagehide')); dispatchEvent(new PageTransitionEvent('pageshow'))")
        self.page.until(lambda: self.page.js("return window.held.length"), "the question for the "
                        "topology, again")
        self.page.turn(f"#view=fabric&metric=use&at={AT}")
        time.sleep(.3)
        self.page.js("window.free = true; window.held.forEach(go => go())")
        self.page.until(lambda: self.page.rows("app")[0]["state"] == "paused"
                        and 0 < max(self.page.links().values(), default=0) < 1, "the use of then")

    def test_reload(self):
        """another topology: the page has it, keeps its view, and a chosen link that is gone is said
        to be"""
        self.page.open("#view=fabric&metric=load_bps&link=9-17")
        before = self.page.until(lambda: self.page.app().get("generation")
                                 and self.page.app(), "a generation")["generation"]
        with open(self.world.topology, encoding="utf-8") as file:
            topology = json.load(file)
        topology["links"] = [link for link in topology["links"]
                             if {link["source"], link["target"]} != {9, 17}]
        topology.pop("codec")
        self.world.write("topology.json", json.dumps(topology))
        self.world.controller.process.send_signal(signal.SIGHUP)
        self.page.until(lambda: self.page.app()["generation"] not in ("", before),
                        "another generation")
        self.page.until(lambda: "no such link" in self.page.text() and len(self.page.links()) == 62,
                        "62 links")
        self.assertEqual(self.page.app()["view"], "fabric")

    def test_bad_answers(self):
        """late, cut, no JSON, not of this topology: an error in words, and the page goes on"""
        self.page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": """
            const real = window.fetch; window.spoil = '';
            window.fetch = async (url, options) => {
                const answer = await real(url, options);
                if (!String(url).includes('/v1/links?') || !window.spoil) return answer;
                const bytes = new Uint8Array(await answer.arrayBuffer());
                const bad = {cut: bytes.slice(0, 40), short: bytes.slice(0, 10),
                             words: new TextEncoder().encode('<html>'),
                             empty: new Uint8Array()}[window.spoil];
                return new Response(bad, {status: 200, headers: answer.headers});
            };"""})
        self.page.open(f"#view=fabric&metric=load_bps&at={AT}")
        for n, kind in enumerate(("cut", "short", "words", "empty")):
            self.page.js("window.spoil = arguments[0]", kind)
            self.page.turn(f"#view=fabric&metric=load_bps&at={AT + 1 + n}")
            self.page.until(lambda: "not of this topology" in self.page.text(),
                            f"words about an answer that is {kind}")
            self.page.js("window.spoil = ''")
            self.page.turn(f"#view=fabric&metric=load_bps&at={AT}")
            self.page.until(lambda: any(self.page.links().values())
                            and "not of this topology" not in self.page.text(), "values again")

    def test_late_answers(self):
        """what was asked first and comes last is nobody's any more"""
        self.page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": """
            const real = window.fetch; window.held = null; window.hold = '';
            window.fetch = async (url, options) => {
                if (window.hold && String(url).includes(window.hold))
                    await new Promise(go => { window.held = go; });
                return real(url, options);
            };"""})
        self.page.open(f"#view=fabric&metric=load_bps&at={AT + 100}")
        self.page.js("window.hold = arguments[0]", f"to={AT}")
        self.page.turn(f"#view=fabric&metric=load_bps&at={AT}")
        self.page.until(lambda: self.page.js("return window.held !== null"), "the first question")
        self.page.turn(f"#view=fabric&metric=load_bps&at={AT + 90}")
        self.page.until(lambda: len(self.page.links()) == 64, "an empty moment")
        self.page.js("window.hold = ''; window.held()")
        time.sleep(.5)
        self.assertFalse(any(self.page.links().values()))
        self.page.turn(f"#view=fabric&metric=load_bps&at={AT}")
        self.page.until(lambda: any(self.page.links().values()), "values of then")


class StrangerTest(unittest.TestCase):
    """pages of others, in the same browser"""

    READER = "reader-token-0123456789"

    def serve(self, *more):
        world = World(*more, hosts=(21,))
        self.addCleanup(world.close)
        return world

    def with_token(self):
        import tempfile
        folder = tempfile.mkdtemp(prefix="pathdump-token-")
        self.addCleanup(lambda: subprocess.run(["rm", "-rf", folder], check=False))
        path = os.path.join(folder, "tokens")
        with open(path, "w", encoding="utf-8") as out:
            os.fchmod(out.fileno(), 0o600)
            out.write(f"admin ada {self.READER}\n")
        return self.serve("--token-file", path)

    def test_login(self):
        """a token once, then a cookie that no script sees; it ends, and the page asks again"""
        world = self.with_token()
        with Page(world.url) as page:
            page.open(wait=False)
            page.until_state("login")
            page.fill("token", "x" * 20)
            page.press("Log in")
            page.until(lambda: "not known here" in page.text(), "words about the token")
            page.fill("token", self.READER)
            page.press("Log in")
            page.until_state("live")
            self.assertEqual(page.js("return document.cookie"), "")
            cookie = page.driver.get_cookie("__Host-pathdump")
            self.assertTrue(cookie["httpOnly"] and cookie["secure"]
                            and cookie["sameSite"] == "Strict", cookie)
            status = page.js(
                "return (await fetch('/v1/install', {method: 'POST', body: '{}'})).status")
            self.assertEqual(status, 403)
            page.js("await fetch('/v1/session', {method: 'DELETE'})")
            page.driver.delete_all_cookies()
            page.turn("#view=fabric&metric=load_bps&at=1700000010")
            page.until_state("login")

    def log_in(self, page):
        page.open(wait=False)
        page.until_state("login")
        page.fill("token", self.READER)
        page.press("Log in")
        page.until_state("live")

    def test_forged_cookie(self):
        """cookies that this server has not made, and one of a server that was started anew: the
        page asks for a token"""
        world = self.with_token()
        with Page(world.url) as page:
            for forged in ("0" * 64, "x" * 64, "", "a" * 3000):
                page.driver.get(f"{world.url}/map/icon.svg")
                page.driver.execute_cdp_cmd("Network.setCookie", {
                    "name": "__Host-pathdump", "value": forged, "url": world.url, "secure": True,
                    "path": "/"})
                page.open(wait=False)
                page.until_state("login")
            self.log_in(page)
            world.controller.__exit__()
            page.until_state("lost")
            world.start()
            page.until_state("login")

    @contextlib.contextmanager
    def neighbour(self, target):
        """the URL of a page on another port of this machine, to which browsers send the same
        cookies: it posts a form to `target`"""
        text = (f"<form method=post enctype=text/plain action='{target}'>"
                "<input name='{\"app\":\"silent-drops\",\"period_s\":1,\"x\":\"' value='\"}'>"
                "</form>").encode()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            server.server_close()

    def test_neighbour(self):
        """a page of the same machine's other port has the cookie sent: it neither reads nor
        posts"""
        world = self.with_token()
        with Page(world.url) as page, self.neighbour(f"{world.url}/v1/apps/silent-drops") as url:
            self.log_in(page)
            page.driver.get(url)
            for mode in ("cors", "no-cors"):
                got = page.js("return await fetch(arguments[0], {mode: arguments[1], credentials: "
                              "'include'}).then(a => a.text(), e => 'refused')",
                              f"{world.url}/v1/hosts", mode)
                self.assertEqual(got, "refused")
            page.js("document.forms[0].submit()")
            page.until(lambda: page.js("return location.href").startswith(world.url)
                       and page.text(), "an answer")
            self.assertIn("header Origin", page.text())

    def test_other_sites(self):
        """a page of another origin neither reads, nor posts, nor frames; a name that leads here is
        told 421"""
        world, other = self.serve(), self.serve()
        with Page(world.url, words=("--host-resolver-rules=MAP evil.example 127.0.0.1",)) as page:
            page.open()
            page.driver.get(f"http://evil.example:{world.controller.port}/map")
            self.assertIn("no name of this server", page.text())
            # its policy lets a page of it ask nobody
            page.driver.get(f"{other.url}/v1/nothing")
            for method in ("GET", "POST"):
                got = page.js("return await fetch(arguments[0], {method: arguments[1], mode: "
                              "'no-cors'}).then(a => a.type, e => 'refused')",
                              f"{world.url}/v1/hosts", method)
                self.assertEqual(got, "refused")
            before = world.get("/v1/status")["controller"]["http_unauthorized"]
            page.driver.get(
                "data:text/html,<form method=post enctype=text/plain action='" + world.url
                + "/v1/execute'><input name=a></form><script>document.forms[0].submit()</script>")
            page.until(lambda: world.get("/v1/status")["controller"]["http_unauthorized"]
                       > before, "the refusal of a cross-site form")
            page.driver.get("data:text/html,<iframe width=800 height=600 src='" + world.url
                            + "/map'></iframe>")
            time.sleep(1)
            page.driver.switch_to.frame(0)
            self.assertEqual(page.rows("app"), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
