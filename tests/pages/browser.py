"""Chromium without a screen, driven by chromedriver, and what every page of ours has to be like."""

import base64
import json
import os
import re
import subprocess
import urllib.request

PHONE, DESKTOP = (390, 844), (1280, 900)


class Driver:
    """chromedriver, on a port of its choice."""

    def __init__(self):
        self.process = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            port = re.search(r"successfully on port (\d+)", line)
            if port:
                self.url = f"http://127.0.0.1:{port[1]}"
                return
        raise RuntimeError("chromedriver does not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method,
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)["value"]


class Page:
    """A page in a browser of that size."""

    def __init__(self, driver, path, size):
        metrics = {"deviceMetrics": {"width": size[0], "height": size[1], "pixelRatio": 1, "mobile": size == PHONE}}
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
                   "mobileEmulation": metrics}
        capabilities = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        session = driver.call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self.driver, self.path, self.size = driver, f"/session/{session['sessionId']}", size
        self.call("POST", "/url", {"url": "file://" + os.path.abspath(path)})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.call("DELETE", "")

    def call(self, method, path, body=None):
        return self.driver.call(method, self.path + path, body)

    def ask(self, script):
        """The value of a JavaScript expression."""
        return self.call("POST", "/execute/sync", {"script": f"return {script};", "args": []})

    def complaints(self):
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", "/screenshot")))


# Of each picture: its caption, the box it takes, how many curves or bars it shows, and the size of its smallest text on the
# screen.
PICTURES = """[...document.querySelectorAll('svg')].map(svg => {
  const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
  const visible = [...svg.querySelectorAll('path, polyline, rect, polygon, circle')].filter(
    e => { const b = e.getBoundingClientRect(); return b.width > 1 || b.height > 1; });
  const sizes = [...svg.querySelectorAll('text')].map(e => parseFloat(getComputedStyle(e).fontSize) * scale);
  return {name: svg.getAttribute('aria-label'), left: box.left, right: box.right, height: box.height,
          shapes: visible.length, smallest: Math.min(...sizes)};
})"""

DOUBLE_IDS = """(ids => ids.filter((id, i) => ids.indexOf(id) !== i))(
  [...document.querySelectorAll('[id]')].map(e => e.id))"""

DEAD_LINKS = """[...document.querySelectorAll('a[href^="#"]')].map(a => a.getAttribute('href').slice(1))
  .filter(id => !document.getElementById(id))"""


def check_page(page, least_text):
    """It fits its width, says what it says legibly, draws all its pictures, and needs nothing from elsewhere."""
    width = page.size[0]
    assert page.ask("document.documentElement.scrollWidth") <= width, f"wider than {width}"
    assert page.ask("document.title"), "no title"
    assert page.ask("parseFloat(getComputedStyle(document.body).fontSize)") >= 14
    pictures = page.ask(PICTURES)
    for picture in pictures:
        assert picture["left"] >= 0 and picture["right"] <= width, f"does not fit in {width}: {picture}"
        assert picture["height"] > 100 and picture["shapes"] >= 2, f"not drawn: {picture}"
        assert picture["smallest"] >= least_text, f"too small to read at {width}: {picture}"
    assert page.ask(DOUBLE_IDS) == [], page.ask(DOUBLE_IDS)
    assert page.ask(DEAD_LINKS) == [], page.ask(DEAD_LINKS)
    assert page.ask("performance.getEntriesByType('resource').length") == 0, "it loads something"
    assert page.complaints() == [], page.complaints()
    return pictures


def check_in_both_sizes(path, least_text=8):
    """Gives the pictures of the page as they are on a desktop."""
    with Driver() as driver:
        for size in (PHONE, DESKTOP):
            with Page(driver, path, size) as page:
                pictures = check_page(page, least_text)
                page.picture(f"{os.path.splitext(path)[0]}-{size[0]}.png")
    return pictures
