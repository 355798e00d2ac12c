# SPDX-License-Identifier: Apache-2.0
"""Chromium without a screen, driven by Debian's python3-selenium: the page of the map as somebody
who looks at it has it."""
import json
import sys
import time

PACKAGES = "/usr/lib/python3/dist-packages"
CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
WAIT_S = 20
SIZE = (1400, 900)
# What a page says that it is about to lose: these are what the tests make happen.
EXPECTED = ("net::ERR_CONNECTION_REFUSED", "net::ERR_INCOMPLETE_CHUNKED", "net::ERR_EMPTY_RESPONSE",
            "net::ERR_CONNECTION_RESET",
            "net::ERR_SOCKET_NOT_CONNECTED")


def webdriver():
    """Debian's module, also where another Python runs the tests; None when it is not installed"""
    sys.path.append(PACKAGES)
    try:
        from selenium import webdriver as module
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        return None, None
    finally:
        sys.path.remove(PACKAGES)
    return module, Service


class Page:
    """one browser with one window; a context"""

    def __init__(self, url, size=SIZE, dark=True, words=()):
        module, service = webdriver()
        options = module.ChromeOptions()
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu",
                     "--force-device-scale-factor=1", f"--window-size={size[0]},{size[1]}", *words):
            options.add_argument(word)
        if dark:
            options.add_argument("--blink-settings=preferredColorScheme=0")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = module.Chrome(service=service(DRIVER), options=options)
        self.url, self.requests, self.console = url, [], []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    # ---- going somewhere ----

    def open(self, fragment="", wait=True):
        """a new page, not the same one with another fragment"""
        self.driver.get("about:blank")
        self.driver.get(f"{self.url}/map{fragment}")
        return self.until_state("live", "paused") if wait else None

    def turn(self, fragment):
        self.js("location.hash = arguments[0]", fragment)

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def until(self, ready, what, seconds=WAIT_S):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            got = ready()
            if got:
                return got
            time.sleep(.03)
        raise AssertionError(f"{what}: not within {seconds} s; the page says: {self.text()[:600]}")

    def until_state(self, *states, seconds=WAIT_S):
        return self.until(lambda: self.app().get("state") in states and self.app(),
                          f"data-state {states}", seconds)

    # ---- what is there ----

    def app(self):
        return (self.rows("app") or [{}])[0]

    def rows(self, name):
        """data-… of all elements with this data-testid"""
        return self.js(
            "return [...document.querySelectorAll(`[data-testid=\"${arguments[0]}\"]`)].map(e => "
            "Object.assign({}, e.dataset))", name)

    def links(self):
        """{link: value} of the table"""
        rows = self.js("return [...document.querySelectorAll('[data-testid=\"link-table\"] "
                       "[data-link]')].map(e => [e.dataset.link, e.dataset.value])")
        return {link: float(value) for link, value in rows if value}

    def text(self):
        return self.js("return document.body.innerText")

    def timings(self, what):
        return [each["ms"] for each in self.js("return window.pathdump.timings()")
                if each["what"] == what]

    def bright(self, at):
        """brightness of the brightest pixel near a place of the picture, 0 to 255: lines are
        thin"""
        data = self.js("""const c = document.querySelector('.picture canvas');
            const b = c.getBoundingClientRect();
            const copy = new OffscreenCanvas(5, 3).getContext('2d', {willReadFrequently: true});
            copy.drawImage(c, arguments[0] - b.left - 2, arguments[1] - b.top - 1, 5, 3,
                           0, 0, 5, 3);
            return [...copy.getImageData(0, 0, 5, 3).data]""", at["x"], at["y"])
        return max(2 * data[n] + 5 * data[n + 1] + data[n + 2] for n in range(0, len(data), 4)) / 8

    def click_at(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {
                "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1})

    def locate(self, link):
        return self.js("return window.pathdump.locate(arguments[0])", link)

    def click_link(self, link):
        at = self.until(lambda: self.locate(link), f"a place of {link}")
        self.click_at(at["x"], at["y"])
        return at

    def fill(self, label, value):
        """the input of this label, as if typed"""
        self.js("""const box = [...document.querySelectorAll('label')]
            .find(l => l.textContent.trim().startsWith(arguments[0]))
            .querySelector('input, select');
            const set = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(box), 'value').set;
            set.call(box, arguments[1]);
            box.dispatchEvent(new Event(box.tagName === 'SELECT' ? 'change' : 'input',
                                        {bubbles: true}));""", label, value)

    def press(self, words):
        self.js("[...document.querySelectorAll('button')].find(b => "
                "b.textContent.trim().startsWith(arguments[0])).click()", words)

    def shot(self, path):
        self.driver.save_screenshot(path)

    # ---- what it did ----

    def complaints(self):
        """lines of the console that nobody has expected, reports of the policy among them"""
        self.console += self.driver.get_log("browser")
        return [line["message"] for line in self.console if line["level"] in (
            "SEVERE", "ERROR", "WARNING") and not any(e in line["message"] for e in EXPECTED)]

    def asked(self):
        """[(URL, bytes without packing)] of all requests so far"""
        events = [json.loads(line["message"])["message"]
                  for line in self.driver.get_log("performance")]
        self.requests += events
        urls = {e["params"]["requestId"]: e["params"]["request"]["url"] for e in self.requests
                if e["method"] == "Network.requestWillBeSent"}
        sizes = dict.fromkeys(urls, 0)
        for event in self.requests:
            if event["method"] == "Network.dataReceived" and event["params"]["requestId"] in sizes:
                sizes[event["params"]["requestId"]] += event["params"]["dataLength"]
        return [(urls[n], sizes[n]) for n in urls
                if not urls[n].startswith(("data:", "about:", "chrome", "blob:"))]
