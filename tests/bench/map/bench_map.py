#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the page of the map costs: prints one JSON object a line. Wants Debian's Chromium
(tools/deps browser).

    bench_map.py BIN [NAME …]      names: small, large, alarms, clicks, shown, crowd, heap, bed; all
    but bed without any
"""
import contextlib
import http.client
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(
    HERE, "../../../build/release/bin")
os.environ["PD_BIN"] = os.environ["PATHDUMP_BIN"] = BIN
sys.path.insert(0, os.path.join(HERE, "../../browser"))
from browser import Page                        # noqa: E402
from world import AT, World                     # noqa: E402

ROUNDS, ALARMS, CLICKS, SAMPLES, BROWSERS = 10, 100, 20, 200, 50
UPDATES, FEW = 1000, 100
CROWD_S = 15

# As many values as the page has links, drawn as one line each in one canvas: what others do.
NAIVE = """const n = arguments[0], c = document.createElement('canvas'); c.width = 1020;
    c.height = 650; document.body.append(c);
    const x = c.getContext('2d'), begun = performance.now();
    for (let i = 0; i < n; i++) { x.strokeStyle = `rgb(${i % 256},${i >> 8 & 255},80)`;
        x.beginPath();
        x.moveTo(i * 7 % 1020, 10 + i % 3 * 200);
        x.lineTo(i * 13 % 1020, 210 + i % 3 * 200); x.stroke(); }
    x.getImageData(0, 0, 1, 1); const ms = performance.now() - begun; c.remove(); return ms"""
# New values by the page's own way in, then until its canvas has all pixels of them; and how long
# nothing else could run meanwhile and until the table was there, too.
PAINT = """const done = arguments[0]; (async () => {
    const {store, changed} = await import('/map/store.js');
    const newest = () => window.pathdump.timings().filter(t => t.what.startsWith('painted')).pop();
    const before = newest();
    const values = Float32Array.from({length: store.network.len}, Math.random);
    const begun = performance.now();
    let blocked = 0, last = begun;
    store.values = values; store.arrived = begun; changed();
    let ms = 0;
    const beat = setInterval(() => {
        const now = performance.now();
        blocked = Math.max(blocked, now - last - 5);
        last = now;
        if (!ms && newest() !== before) {
            document.querySelector('.picture canvas').getContext('2d').getImageData(0, 0, 1, 1);
            ms = performance.now() - begun;
        } else if (ms && now > begun + ms + 150) {
            clearInterval(beat);
            done({ms, blocked});
        }
    }, 5); })()"""
# The longest tasks so far, [ms, when].
LONG = """const done = arguments[0]; const found = [];
    new PerformanceObserver(list => found.push(...list.getEntries()
        .map(e => [e.duration, Math.round(e.startTime)]))).observe(
            {type: 'longtask', buffered: true});
    setTimeout(() => done(found.sort((a, b) => b[0] - a[0]).slice(0, 5)), 300)"""


def say(name, **figures):
    print(json.dumps({"bench": "map", "name": name, **figures}), flush=True)


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, math.ceil(share * len(values)) - 1)]


@contextlib.contextmanager
def simulated(k, load=0.3):
    """URL of a simulated fat-tree"""
    with tempfile.TemporaryDirectory() as at, socket_port() as port:
        with open(os.path.join(at, "s.json"), "w", encoding="utf-8") as out:
            json.dump({"topology": {"fat_tree": k}, "link_mbps": 1000, "load": load,
                       "duration_s": 600, "flow_sizes": "web-search"}, out)
        words = [os.path.join(BIN, "pathdump"), "simulate", out.name, "--seed", "7", "--serve",
                 f"127.0.0.1:{port}"]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(port, "/map")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def socket_port():
    from programs import free_port
    yield free_port()


def get(port, target, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", target, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def wait_for(port, target, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if get(port, target)[0] == 200:
                return
        time.sleep(.1)
    raise RuntimeError(f"port {port} does not answer")


def first_ms(url, fragment, rounds):
    """from the navigation to a live page"""
    found = []
    for _ in range(rounds):
        with Page(url) as page:
            page.driver.get(f"{url}/map{fragment}")
            page.until_state("live", "paused", seconds=60)
            found.append(page.timings("first")[0])
            asked = [(u, n) for u, n in page.asked() if "/map" in u]
    return found, asked


def small():
    with simulated(4) as url:
        found, asked = first_ms(url, "#view=fabric&metric=load_bps", ROUNDS)
        say("k = 4, simulated: navigation to live", median_ms=statistics.median(found),
            rounds=ROUNDS)
        say("what the page loads", bytes=sum(n for _, n in asked),
            requests=len({u for u, _ in asked}))


def large():
    with simulated(48, load=0.02) as url:
        port = int(url.rsplit(":", 1)[1])
        _, packed = get(port, "/v1/topology?hosts=false", **{"Accept-Encoding": "gzip"})
        say("k = 48: topology on the wire", bytes=len(packed))
        found, _ = first_ms(url, "#view=fabric&metric=use", 3)
        say("k = 48: first picture", median_ms=statistics.median(found))
        with Page(url) as page:
            page.driver.set_script_timeout(60)
            for view in ("fabric", "matrix"):
                page.open(f"#view={view}&metric=use")
                time.sleep(4)
                say(f"k = 48: longest tasks while it begins, {view}",
                    ms_at=page.driver.execute_async_script(LONG))
                painted = [page.driver.execute_async_script(PAINT) for _ in range(20)]
                naive = [page.js(NAIVE, 110_592) for _ in range(3)]
                mine, theirs = statistics.median(each["ms"]
                                                 for each in painted), statistics.median(naive)
                say(f"k = 48: 110,592 values arrived to painted, {view}", median_ms=mine,
                    naive_ms=round(theirs, 1), share=round(mine / theirs, 4),
                    blocked_ms=round(max(each["blocked"] for each in painted)),
                    blocked_median_ms=round(statistics.median(each["blocked"] for each in painted)))


def alarms():
    world = World()
    with contextlib.closing(world), Page(world.url) as page:
        page.open("#view=alarms")
        page.js("""window.seen = {};
            new MutationObserver(() => document
                .querySelectorAll('[data-testid=alarm-group]').forEach(e => {
            const r = e.dataset.reason; if (!(r in window.seen)) window.seen[r] = Date.now();
            })).observe(document.body, {subtree: true, childList: true})""")
        begun = {}
        for n in range(ALARMS):
            reason = f"BENCH_{n}"
            begun[reason] = time.time() * 1000
            world.alarm(reason=reason, port=2000 + n)
            time.sleep(random.uniform(.01, .1))
        page.until(lambda: len(page.js("return window.seen")) >= ALARMS, "all alarms")
        waits = [at - begun[reason] for reason, at in page.js("return window.seen").items()
                 if reason in begun]
        say("alarm taken by the controller to row in the page", p99_ms=round(quantile(waits, .99)),
            median_ms=round(statistics.median(waits)), alarms=len(waits))


def clicks(url=None, link="4-11", hosts=4):
    world = None if url else World()
    with contextlib.closing(world) if world else contextlib.nullcontext(), Page(
        url or world.url) as page:
        page.open("#view=fabric&metric=load_bps" + ("" if url else f"&at={AT}"))
        found = []
        for _ in range(CLICKS):
            page.js("location.hash = location.hash.replace(/&link=[^&]*/, '')")
            page.until(lambda: not page.rows("link-panel"), "no panel")
            page.js("""window.shown = 0;
                addEventListener('pointerdown', () => { window.down = performance.now(); },
                                 {once: true, capture: true});
                new MutationObserver((_, o) => {
                    if (document.querySelector('[data-testid=top-flows]')) {
                        window.shown = performance.now(); o.disconnect(); } })
                    .observe(document.body, {subtree: true, childList: true})""")
            page.click_link(link)
            found.append(page.until(
                lambda: page.js("return window.shown && window.shown - window.down"), "flows"))
        say(f"click on a link to its top flows, {hosts} hosts",
            median_ms=round(statistics.median(found)), clicks=CLICKS)


def shown():
    world, wrong = World(), 0
    with contextlib.closing(world), Page(world.url) as page:
        page.open(f"#view=fabric&metric=load_bps&at={AT}")
        checked = 0
        while checked < SAMPLES:
            at, window = AT - random.randrange(8), random.choice((5, 10))
            page.turn(f"#view=fabric&metric=load_bps&at={at}&window={window}")
            rows = world.get(f"/v1/links?metrics=load_bps&from={at - window}&to={at}")["links"]
            wanted = {row["link"]: row["load_bps"] for row in rows if row["load_bps"]}
            with contextlib.suppress(AssertionError):
                page.until(lambda: {k for k, v in page.links().items() if v} == set(wanted)
                           and all(math.isclose(page.links()[k], v, rel_tol=1e-6)
                                   for k, v in wanted.items()), "the same", 5)
            got = page.links()
            wrong += sum(not math.isclose(got.get(link, 0), wanted.get(link, 0), rel_tol=1e-6)
                         for link in got)
            checked += len(got)
        say("shown values against REST", samples=checked, differences=wrong)


class Reader(threading.Thread):
    """a browser's stream, read and forgotten"""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.connection.request(
            "GET", "/v1/events?types=alarm,host,switch,verdict,reload,link&metrics=load_bps")
        self.answer = self.connection.getresponse()
        self.start()

    def run(self):
        with contextlib.suppress(OSError, AttributeError, ValueError, http.client.HTTPException):
            while self.answer.read1(65536):
                pass


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def crowd():
    world = World()
    with contextlib.closing(world):
        def measure(readers):
            streams = [Reader(world.controller.port) for _ in range(readers)]
            time.sleep(1)
            asked, cpu = world.get("/v1/status")["links"]["hosts_asked"], cpu_s(
                world.controller.process.pid)
            time.sleep(CROWD_S)
            got = world.get("/v1/status")["links"]["hosts_asked"] - asked, cpu_s(
                world.controller.process.pid) - cpu
            for stream in streams:
                stream.connection.close()
                stream.answer.close()
            time.sleep(12)
            return got
        (one, cpu_one), (many, cpu_many), (none, _) = measure(1), measure(BROWSERS), measure(0)
        say("50 browsers against 1", hosts_asked_1=one, hosts_asked_50=many, hosts_asked_0=none,
            cpu_s_1=round(cpu_one, 2), cpu_s_50=round(cpu_many, 2),
            ratio=round(cpu_many / max(cpu_one, .01), 2))


def heap():
    with simulated(16, load=0.02) as url, Page(url) as page:
        page.open("#view=fabric&metric=use")
        page.driver.set_script_timeout(300)
        update = """const done = arguments[1], n = arguments[0];
            (async () => { const {store, changed} = await import('/map/store.js');
            for (let i = 0; i < n; i++) {
                store.values = new Float32Array(store.network.len).map(Math.random);
                store.arrived = performance.now(); changed();
                await new Promise(go => setTimeout(go, 25)); } done(1); })()"""

        def used(updates):
            page.driver.execute_async_script(update, updates)
            page.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
            return page.driver.execute_cdp_cmd("Runtime.getHeapUsage", {})["usedSize"]
        few = used(FEW)
        many = used(UPDATES - FEW)
        say("k = 16: heap after 1,000 updates against 100", bytes_100=int(few),
            bytes_1000=int(many), ratio=round(many / few, 3))


def bed():
    import test_bed
    with test_bed.scenario.bed("mapbench", tagged=all, controller=True) as made:
        test_bed.start_all(made)
        with test_bed.Background(made.hosts.values()):
            url = made.controller.door()
            time.sleep(10)
            found, _ = first_ms(url, "#view=fabric&metric=load_bps", ROUNDS)
            say("k = 4 test bed: navigation to live with the load of 16 hosts",
                median_ms=statistics.median(found), rounds=ROUNDS)
            clicks(url, "9-17", 16)


ALL = {"small": small, "large": large, "alarms": alarms, "clicks": clicks, "shown": shown,
       "crowd": crowd, "heap": heap, "bed": bed}

if __name__ == "__main__":
    for chosen in sys.argv[2:] or [name for name in ALL if name != "bed"]:
        ALL[chosen]()
