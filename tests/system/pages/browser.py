"""Chromium without a screen, driven by chromedriver, and what every page of ours has to be like."""

import base64
import json
import os
import re
import subprocess
import time
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
        with urllib.request.urlopen(request, timeout=600) as response:
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

    def wait(self, script, what):
        """Waits until a JavaScript expression is true."""
        for _ in range(600):
            if self.ask(script):
                return
            time.sleep(0.05)
        raise AssertionError(f"{what}: {script}")

    def element(self, selector):
        found = self.call("POST", "/element", {"using": "css selector", "value": selector})
        return f"/element/{list(found.values())[0]}"

    def click(self, selector):
        self.call("POST", self.element(selector) + "/click", {})

    def type(self, selector, text):
        """Types into a field instead of what is there."""
        element = self.element(selector)
        self.call("POST", element + "/clear", {})
        self.call("POST", element + "/value", {"text": text})

    def press(self, key):
        """Presses a key where the focus is: a character, or a number of the WebDriver standard."""
        strokes = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]})

    def prefer(self, **features):
        """Media features of the reader: prefer(color_scheme="dark", reduced_motion="reduce")."""
        listed = [{"name": "prefers-" + name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.devtools("Emulation.setEmulatedMedia", {"features": listed})

    def devtools(self, command, parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def picture_of(self, selector, path, margin=0):
        """A picture of one element, also of what is outside of the window: .png or .webp."""
        box = self.ask(f"""(b => ({{x: b.x + scrollX - {margin}, y: b.y + scrollY - {margin}, width: b.width + 2 * {margin},
          height: b.height + 2 * {margin}}}))(document.querySelector('{selector}').getBoundingClientRect())""")
        shape = {"format": os.path.splitext(path)[1][1:], "captureBeyondViewport": True, "clip": {**box, "scale": 1}}
        shot = self.devtools("Page.captureScreenshot", shape)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

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
          shapes: visible.length, smallest: Math.min(1000, ...sizes)};
})"""

DOUBLE_IDS = """(ids => ids.filter((id, i) => ids.indexOf(id) !== i))(
  [...document.querySelectorAll('[id]')].map(e => e.id))"""

DEAD_LINKS = """[...document.querySelectorAll('a[href^="#"]')].map(a => a.getAttribute('href').slice(1))
  .filter(id => !document.getElementById(id))"""

# Labels beside a picture, not in it, that overlap another one of the same axis.
OVERLAPS = """[...document.querySelectorAll('.plot')].flatMap(plot => ['.x', '.y'].flatMap(axis => {
  const boxes = [...plot.querySelectorAll(axis)].map(e => ({text: e.textContent, box: e.getBoundingClientRect()}));
  return boxes.filter((a, i) => boxes.some((b, k) => k > i && a.box.left < b.box.right && b.box.left < a.box.right &&
    a.box.top < b.box.bottom && b.box.top < a.box.bottom)).map(a => a.text);
}))"""

# A screen reader's table of contents: one h1, first, and no level left out on the way down.
WRONG_HEADINGS = """(levels => levels.filter((level, i) => i ? level === 1 || level > levels[i - 1] + 1 : level !== 1))(
  [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(e => +e.tagName[1]))"""

# Texts whose colour is too near to the background's (WCAG 2: less than 4.5 to 1). Pictures have their own colours.
PALE_TEXTS = """(() => {
  const light = c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const luminance = rgb => [0.2126, 0.7152, 0.0722].reduce((sum, w, i) => sum + w * light(rgb[i] / 255), 0);
  const parse = colour => colour.match(/[\\d.]+/g).map(Number);
  const ground = e => {
    for (; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const told = [...document.querySelectorAll('body *:not(svg, svg *)')].filter(
    e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()));
  return told.filter(e => {
    const [a, b] = [parse(getComputedStyle(e).color), ground(e)].map(luminance).sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05) < 4.5;
  }).map(e => e.outerHTML.slice(0, 100));
})()"""


def check_readable(page):
    """For everyone, also by ear."""
    assert page.ask("document.title"), "no title"
    assert page.ask("document.documentElement.lang") == "en", "no language"
    assert page.ask("parseFloat(getComputedStyle(document.body).fontSize)") >= 14
    assert page.ask("document.querySelector('h1') !== null") and page.ask(WRONG_HEADINGS) == [], "headings out of order"
    assert page.ask(PALE_TEXTS) == [], page.ask(PALE_TEXTS)


def check_page(page, least_text):
    """It fits its width, says what it says legibly, draws all its pictures, and needs nothing from elsewhere."""
    width = page.size[0]
    page.ask("document.querySelectorAll('details').forEach(e => e.open = true)")
    assert page.ask("document.documentElement.scrollWidth") <= width, f"wider than {width}"
    check_readable(page)
    pictures = page.ask(PICTURES)
    for picture in pictures:
        assert picture["name"], f"without a name: {picture}"
        assert picture["left"] >= 0 and picture["right"] <= width, f"does not fit in {width}: {picture}"
        assert picture["height"] > 100 and picture["shapes"] >= 2, f"not drawn: {picture}"
        assert picture["smallest"] >= least_text, f"too small to read at {width}: {picture}"
    assert page.ask(OVERLAPS) == [], f"labels overlap at {width}: {page.ask(OVERLAPS)}"
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
