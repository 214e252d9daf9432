"""Runs the scenes of the playground in Chromium: playground.py PAGE NUMBERS [PICTURES].

PAGE: build/playground.html. NUMBERS: the program playground-numbers, which computes the same natively. PICTURES: a directory
for the pictures that the documentation uses.
"""

import json
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "system", "pages"))
from browser import DESKTOP, PALE_TEXTS, PHONE, Driver, Page, check_page  # noqa: E402

TAB, RIGHT, ENTER = "\ue004", "\ue014", "\ue007"
SMALLEST_TARGET = 24  # pixels: WCAG 2.2, 2.5.8


def text(page, selector):
    return page.ask(f"document.querySelector('{selector}').textContent")


def opened(page):
    page.wait("document.documentElement.dataset.ready === 'yes'", "the page does not start")
    return page


def reload(page):
    page.call("POST", "/refresh", {})
    return opened(page)


def settle(page):
    """Waits for the library, and goes to the last step of the operation."""
    page.ask("(async () => { await playground.table.busy; clearTimeout(playground.table.timer); playground.table.finish(); })()")


# ---------------------------------------------------------------- the table


def natively(numbers, page):
    """The table after the same operations, computed by the native program."""
    table = page.ask("({seed: playground.table.seed, history: playground.table.history})")
    lines = "".join(f"{operation} {key}\n" for operation, key in table["history"])
    done = subprocess.run([numbers, "table", "56", "4", str(table["seed"])], input=lines, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def shown(page):
    flat = "(rows => rows.flatMap(row => Object.values(row).filter(v => typeof v === 'number')))"
    return page.ask(f"""{{totals: Object.values(playground.table.snapshot.totals), slots: {flat}(playground.table.snapshot.slots),
      fingerprints: {flat}(playground.table.snapshot.fingerprints)}}""".join(["(", ")"]))


def check_same_table(page, numbers):
    assert shown(page) == natively(numbers, page), "the page shows another table than the native library has"


def test_report(page, numbers):
    wrong = text(page, ".chips .wrong")
    before = page.ask("playground.table.snapshot.totals.extensionBits")
    page.click(".chips .wrong")
    settle(page)
    assert page.ask("playground.table.snapshot.totals.extensionBits") > before, "no fingerprint was extended"
    assert "from now on" in text(page, "#told"), text(page, "#told")
    assert page.ask(f"[...document.querySelectorAll('.chips .fixed')].some(e => e.textContent === '{wrong}')"), "not learned"
    assert page.ask("document.querySelectorAll('.token.further.fresh').length") > 0, "the extension is not drawn"
    check_same_table(page, numbers)
    page.type("#key", wrong)
    page.click("#query")
    settle(page)
    assert "certain" in text(page, "#told") and "learned" in text(page, "#told"), text(page, "#told")
    counts = page.ask("playground.table.counts")
    assert counts == {"queries": 2, "falsePositives": 1, "repeats": 0, "reads": 1, "plain": 2}, counts


def test_changes_and_undo(page, numbers):
    start = shown(page)
    for button, key, told in (("#insert", "otter", "is stored"), ("#query", "otter", "was right"), ("#delete", "apple", "deleted"),
                              ("#delete", "apple", "Nothing is deleted"), ("#insert", "otter", "Nothing is inserted"),
                              ("#insert", "<b>&", "is stored")):
        page.type("#key", key)
        page.click(button)
        settle(page)
        assert told in text(page, "#told"), text(page, "#told")
        check_same_table(page, numbers)
    for _ in range(6):
        page.click("#undo")
        settle(page)
    check_same_table(page, numbers)
    assert shown(page) == start, "undo does not restore the table"


def test_until_all_is_learned(page, numbers):
    """The script of Play, step by step, until no absent key is a false positive."""
    page.ask("""(async () => { for (let i = 0; i < 400; i++) {
      if (document.getElementById('told').textContent.includes('has learned')) break;
      await playground.table.step();
    } })()""")
    assert "has learned" in text(page, "#told"), "there are false positives left"
    assert page.ask("document.querySelectorAll('.chips .wrong').length") == 0
    counts = page.ask("playground.table.counts")
    assert counts["repeats"] == 0 and counts["plain"] > counts["falsePositives"], counts
    check_same_table(page, numbers)
    page.click("#play")
    assert text(page, "#play") == "Play", "Play goes on although all is learned"
    page.click("#rekey")
    page.wait("document.querySelectorAll('.chips .wrong').length > 0", "a new seed has other false positives")
    page.click("#play")
    page.wait("playground.table.counts.queries > 0", "Play does not play")
    assert text(page, "#play") == "Pause"
    page.click("#play")
    check_same_table(page, numbers)


def test_full(page, numbers):
    """Inserts until the table is full, then reports until the reserve is."""
    page.ask("(async () => { for (let i = 0; i < 40; i++) await playground.table.operate(['insert', 'key' + i]); })()")
    settle(page)
    assert "Nothing is inserted" in text(page, "#told"), text(page, "#told")
    check_same_table(page, numbers)
    page.ask("""(async () => { for (let i = 0; i < 400 && !window.refused; i++) {
      await playground.table.operate(['query', 'absent' + i]);
      window.refused = playground.table.steps.at(-1).title === 'full';
    } })()""")
    assert page.ask("window.refused"), "the reserve is never full"
    settle(page)
    assert "stays a false positive" in text(page, "#told"), text(page, "#told")
    check_same_table(page, numbers)


# ---------------------------------------------------------------- the race


def check_same_numbers(page, numbers):
    setup = page.ask("playground.race.setup")
    arguments = [setup[name] for name in ("seed", "members", "universe", "skew", "attack", "bitsPerKey", "past")]
    done = subprocess.run([numbers, "race", *map(str, arguments), str(page.ask("playground.race.done"))], capture_output=True,
                          text=True, check=True)
    for native, lane in zip(json.loads(done.stdout), page.ask("playground.race.lanes.map(lane => Object.entries(lane))"), strict=True):
        (_, kind), *rest = lane
        names, values = [name for name, _ in rest], [value for _, value in rest]
        assert kind == native["kind"]
        # A pointer has 32 bits in WebAssembly, so that the structs of a filter are smaller.
        bits = names.index("bitsPerKey")
        assert abs(values[bits] - native["numbers"][bits]) < 0.15, (kind, values, native)
        values[bits] = native["numbers"][bits]
        assert values == native["numbers"], (kind, values, native)


def finished(page):
    page.click("#race-end")
    page.wait("document.getElementById('verdict').textContent !== ''", "the race does not end")
    return {lane["kind"]: lane for lane in page.ask("playground.race.lanes")}


def test_race(page, numbers):
    page.click("#race-step")
    page.wait("playground.race.done === 50000", "a step of the race")
    check_same_numbers(page, numbers)
    for preset in ("uniform", "zipf", "adversary"):
        page.click(f".presets label:has([value={preset}]) span")
        page.wait("playground.race.done === 0", "another preset starts again")
        lanes = finished(page)
        check_same_numbers(page, numbers)
        assert all(lane["falseNegatives"] == 0 and lane["status"] == 0 for lane in lanes.values()), lanes
        assert lanes["aqf"]["repeats"] == 0 and lanes["aqf"]["falsePositives"] < lanes["qf"]["falsePositives"], lanes
        if preset == "adversary":
            assert lanes["qf"]["falsePositives"] > 50 * lanes["aqf"]["falsePositives"], lanes
        told = page.ask("[...document.querySelectorAll('#lanes tr')].map(row => row.cells[1].textContent)")
        assert told == [f"{int(lane['falsePositives']):,}" for lane in lanes.values()], told


def test_race_controls(page):
    page.ask("(e => { e.value = 9; e.dispatchEvent(new Event('input')); })(document.getElementById('bits'))")
    page.wait("playground.race.done === 0 && playground.race.lanes[0].bitsPerKey < 10", "the slider makes smaller filters")
    page.click("#run")
    page.wait("playground.race.done > 0", "the race does not start")
    page.click("#run")
    assert text(page, "#run") == "Continue", text(page, "#run")
    seed = page.ask("playground.race.seed")
    page.click("#race-seed")
    page.wait(f"playground.race.seed === {seed + 1} && playground.race.done === 0", "a new seed")


# ---------------------------------------------------------------- for everyone

NAMELESS = """[...document.querySelectorAll('button, input, summary, a, [tabindex="0"]')].filter(e =>
  !(e.textContent.trim() || e.getAttribute('aria-label') || (e.labels && e.labels.length))).map(e => e.outerHTML)"""

SMALL_TARGETS = f"""[...document.querySelectorAll('button, input:not([type=radio]), .presets span')].filter(e =>
  e.getBoundingClientRect().height < {SMALLEST_TARGET}).map(e => e.outerHTML)"""

SHIFTS = """(window.shifts = [], new PerformanceObserver(list => window.shifts.push(...list.getEntries().map(e =>
  [e.value, ...e.sources.map(s => s.node?.id || s.node?.className || s.node?.nodeName)]))).observe({type: 'layout-shift', buffered: true}))"""


def test_keyboard(page):
    """Everything is reached by the tab key, in the order of the page; the focus is visible."""
    page.ask("document.querySelector('.skip').focus()")
    reached = []
    for _ in range(40):
        reached.append(page.ask("(e => e.id || e.className || e.name || e.textContent)(document.activeElement)"))
        assert page.ask("getComputedStyle(document.activeElement).outlineStyle !== 'none' || document.activeElement.type === 'radio'"), reached
        page.press(TAB)
        if page.ask("document.activeElement === document.body"):
            break
    wanted = ["key", "query", "insert", "delete", "step", "play", "rekey", "preset", "skew", "attack", "bits", "run", "race-step",
              "race-end", "race-seed"]
    assert [name for name in reached if name in wanted] == wanted, reached
    page.ask("document.querySelector('#absent button').focus()")
    page.press(RIGHT)
    assert page.ask("document.activeElement.textContent") == "badger"
    page.press(ENTER)
    page.wait("playground.table.counts.queries === 1", "Enter does not query the key")


def test_motion(page):
    """Steps follow each other, unless the reader prefers no motion: then the last one is shown at once."""
    page.prefer(reduced_motion="no-preference")
    reload(page)
    steps = page.ask("""(async () => {
      const now = () => document.querySelector('.dots [aria-current]').textContent;
      document.querySelector('.chips .wrong').click();
      await playground.table.busy;
      const seen = [now(), playground.table.timer !== undefined];
      for (let i = 0; i < 2; i++) {
        await playground.table.step();
        seen.push(now());
      }
      return seen;
    })()""")
    assert steps == ["hash", True, "run", "store"], steps
    page.prefer(reduced_motion="reduce")
    reload(page)
    assert page.ask("getComputedStyle(document.querySelector('.token')).transitionDuration") == "0s"
    page.click(".chips .wrong")
    page.wait("playground.table.steps.length > 0 && playground.table.finished", "the last step is not shown at once")
    assert page.ask("document.querySelector('.dots [aria-current]').textContent") == "learned"


def test_links(page):
    """The links lead to claims of the page of the quick runs."""
    with open(os.path.join(ROOT, "bench", "records", "quick.md"), encoding="utf-8") as file:
        claims = re.findall(r"^### (.+)$", file.read(), re.MULTILINE)
    links = page.ask("[...document.querySelectorAll('a[href*=\"quick.md\"]')].map(a => a.getAttribute('href').split('#')[1])")
    assert len(links) > 5 and set(links) <= set(claims), set(links) - set(claims)


def check_for_everyone(page):
    assert page.ask(NAMELESS) == [], page.ask(NAMELESS)
    assert page.ask(SMALL_TARGETS) == [], page.ask(SMALL_TARGETS)
    assert page.ask("document.querySelectorAll('#told[aria-live], #verdict[aria-live]').length") == 2


def prepared(page, theme, whole_race):
    """A page in the middle of both scenes, drawn without motion."""
    page.prefer(color_scheme=theme, reduced_motion="reduce")
    reload(page)
    page.ask(SHIFTS)
    page.ask("(async () => { for (let i = 0; i < 64; i++) await playground.table.step(); })()")
    page.ask("document.querySelector('.chips .wrong').click()")
    settle(page)
    page.ask(f"document.getElementById('{'race-end' if whole_race else 'race-step'}').click()")
    page.wait(f"playground.race.done === {1000000 if whole_race else 50000}", "the race does not go on")
    page.wait("playground.race.history[0].points.at(-1)[0] === playground.race.done", "the race is not drawn")
    shifts = page.ask("shifts")
    assert sum(shift[0] for shift in shifts) < 0.01, f"the page moves while it works: {shifts}"
    return page


def test_looks(driver, path, pictures):
    """Both widths, light and dark: everything fits and can be read."""
    for size in (DESKTOP, PHONE):
        with Page(driver, path, size) as page:
            for theme in ("light", "dark"):
                prepared(page, theme, theme == "light")
                if pictures and size == DESKTOP:
                    take_pictures(page, theme, pictures)
                assert page.ask(PALE_TEXTS) == [], page.ask(PALE_TEXTS)
                check_for_everyone(page)
            check_page(page, 10)


def take_pictures(page, theme, directory):
    name = os.path.join(directory, f"playground-{{}}-{theme}.webp")
    page.picture_of("#bench", name.format("table"), margin=10)
    page.click(".presets label:has([value=adversary]) span")
    page.wait("playground.race.done === 0", "another preset starts again")
    finished(page)
    page.picture_of("#race .panel", name.format("race"), margin=10)


def main(path, numbers, pictures=None):
    with Driver() as driver:
        with Page(driver, path, DESKTOP) as page:
            page.prefer(reduced_motion="reduce")
            reload(page)
            test_report(page, numbers)
            test_changes_and_undo(page, numbers)
            test_until_all_is_learned(page, numbers)
            test_full(page, numbers)
            test_race(page, numbers)
            test_race_controls(page)
            reload(page)
            test_links(page)
            test_keyboard(page)
            test_motion(page)
            assert page.complaints() == [], page.complaints()
        test_looks(driver, path, pictures)


main(*map(os.path.abspath, sys.argv[1:]))
