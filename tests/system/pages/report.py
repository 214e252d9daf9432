"""Tests the report of besom-bench with a few quick claims: report.py SOURCE BENCH.

report.py SOURCE BENCH PAGE tests only an existing page, in the browser.
"""

import html
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

from browser import DESKTOP, PHONE, Driver, Page, check_in_both_sizes, check_readable

QUICK = ["space", "lists", "repeats"]


def command(source, bench, out, only):
    return [sys.executable, os.path.join(source, "bench", "report"), "--bench", bench, "--out", out, "--seeds", "1",
            "--only", ",".join(only)]


def make(source, bench, out, *more, only=QUICK):
    return subprocess.run(command(source, bench, out, only) + list(more), capture_output=True, text=True, check=False)


def make_double(bench, path, does):
    """Writes a program that lists the claims of besom-bench, but runs a shell command instead of a claim."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\n[ "$*" = "run --json" ] && exec "{bench}" run --json\n{does}\n')
    os.chmod(path, 0o755)
    return path


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def kept_records(docs):
    """The records of quick runs that a project with these docs has committed."""
    return os.path.join(os.path.dirname(docs), "bench", "records", "quick")


def quick_claims(docs):
    """The page of the claims, of quick runs."""
    return read(f"{kept_records(docs)}.md")


def claims_of(bench):
    return json.loads(subprocess.run([bench, "run", "--json"], capture_output=True, text=True, check=True).stdout)


def test_resumes(source, bench, out):
    first = make(source, bench, out, only=QUICK[:1])
    assert first.returncode == 0, first.stderr
    again = make(source, bench, out)
    assert again.returncode == 0, again.stderr
    assert "2 of 2" in again.stderr and QUICK[0] not in again.stderr, again.stderr
    assert make(source, bench, out).stderr == "", "a claim with a record was measured again"
    for name in QUICK:
        record = read(out, "records", f"{name}.csv")
        for line in ("# seed: be50\n", "# commit: ", "# date: ", "# machine: ", f"# claim: {name}\n"):
            assert line in record, record


FULL_RECORD = "# claim: repeats\\n# size: full\\n# seed: be50\\n# seeds: {seeds}\\n# wanted_seeds: 3\\n# verdict: {verdict}\\n# parts: 1 of 2\\n"


def test_full_runs(source, bench, work):
    """A claim at full size has a limit, its record outlives the program, and the page says how much was run."""
    docs, columns = os.path.join(work, "full", "docs"), ",".join(next(c for c in claims_of(bench) if c["name"] == "repeats")["columns"])
    double = os.path.join(work, "bench-full")
    quick = f"# program: a\n# commit: b\n# machine: c\n# date: d\n# seconds: 1\n{FULL_RECORD}{columns}\n"
    kept = kept_records(docs)
    os.makedirs(docs)
    os.makedirs(kept)
    with open(os.path.join(kept, "repeats.csv"), "w", encoding="utf-8") as file:
        file.write(quick.replace("\\n", "\n").format(seeds=3, verdict="holds").replace("size: full", "size: quick"))

    def run(does, only, *more):
        make_double(bench, double, f'case "$2" in {does}; esac')
        made = make(source, double, os.path.join(work, "full-page"), "--full", "--docs", docs, *more, only=only)
        assert made.returncode == 0, made.stderr
        return made.stderr, read(os.path.dirname(kept), "results-full.md")

    measured = f"repeats) echo \"$*\" >{work}/asked; printf '{FULL_RECORD.format(seeds=2, verdict='does not hold')}{columns}\\n'"
    error, page = run(f"{measured} ;; zipf) while :; do :; done", ["repeats", "zipf"], "--limit", "0.02")
    assert "--full --seconds" in read(work, "asked"), read(work, "asked")
    assert "zipf was not tested: cut: the first seed takes more than" in error, error
    assert "Run at full size: 1 of" in page and "repeats (2 of 3)" in page and "Not run at full size: adapt-or-cache" in page, page
    assert "Verdicts that differ from those of the quick runs, of the claims that were run: 1." in page and "| holds | 1 of 2 parts hold | does not hold |" in page, page
    error, _ = run("*) exit 1", ["repeats", "zipf"], "--limit", "0.02")  # another program, the same claims
    assert "of 1:" not in error and "of 2:" not in error and "cut" in error, "a claim with a full record was measured again"
    error, page = run("*) exit 7", ["repeats", "zipf"], "--limit", "1")
    for name in ("repeats", "zipf"):
        assert f"{name} was not tested: ended with exit code 7" in error, "what a lower limit has cut is not run again"
    assert "repeats (2 of 3)" in page, "a record is lost by a run that failed"
    assert "tale" not in page, page
    check_tables(page.splitlines())
    record = os.path.join(os.path.dirname(docs), "bench", "records", "full", "repeats.csv")
    with open(record, "r+", encoding="utf-8") as file:
        changed = re.sub("# source: .*", f"# source: {0:016}", file.read())
        file.seek(0)
        file.write(changed)
    _, page = run("*) exit 7", ["repeats"], "--stored", os.path.dirname(record))
    assert "Stale, because the claim or the library has changed since the run: repeats." in page and "| stale, fewer seeds than stated |" in page, page


def wait_until(condition, what):
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(f"timed out: {what}")


def is_alive(process):
    return os.path.exists(f"/proc/{process}")


def test_stops_on_signal(source, bench, work, how):
    """The report and the processes that it started stop."""
    out, started = os.path.join(work, f"stopped-{how.name}"), os.path.join(work, f"started-{how.name}")
    double = make_double(bench, os.path.join(work, "sleeper"), f"mktemp -d >{started}.new; echo $$ >>{started}.new\n"
                                                               f"mv {started}.new {started}; exec sleep 100")
    run = subprocess.Popen(command(source, double, out, ["zipf"]), stderr=subprocess.PIPE, text=True)
    wait_until(lambda: os.path.exists(started), "a claim is tested")
    scratch, process = read(started).split()
    assert is_alive(process) and os.path.exists(scratch)
    run.send_signal(how)
    _, error = run.communicate(timeout=600)
    assert run.returncode != 0 and "to continue" in error and "Traceback" not in error, error
    assert not is_alive(process) and not os.path.exists(scratch), "a process or a directory is left"
    assert os.listdir(out) == ["records"] and not os.listdir(os.path.join(out, "records")), "an incomplete file is left"


def test_reports_failures(source, bench, work):
    cases = (("crash", "kill -SEGV $$", "ended by signal 11"), ("nonsense", "echo 1,2,3", "not a complete record"),
             ("complaint", "echo '<lists> are missing' >&2; exit 3", "<lists> are missing (ended with exit code 3)"))
    for name, does, why in cases:
        out = os.path.join(work, name)
        run = make(source, make_double(bench, os.path.join(work, f"bench-{name}"), does), out, only=["zipf"])
        assert run.returncode == 0 and f"zipf was not tested: {why}" in run.stderr, run.stderr
        page = read(out, "index.html")
        assert "not tested" in page and html.escape(why) in page, page


def test_judges(source):
    """The verdict of an interval, and the interval of some factors."""
    sys.path.insert(0, os.path.join(source, "bench", "report"))
    import verdicts
    cases = ((100, (75, 90), "reproduced"), (100, (70, 90), "weaker"), (100, (50, 79), "weaker"), (100, (0.5, 0.9), "contradicted"),
             (100, (0.9, 200), "not decided"), (100, (81, 300), "reproduced"), (1.2, (0.9, 1.5), "weaker"), (1, (0.75, 0.87), "reproduced"),
             (1, (0.565, 1.04), "weaker"), (1, (0.5, 0.7), "contradicted"), (None, (1.1, 1.2), "reproduced"), (None, (0.9, 1.2), "weaker"),
             (None, (0.9, 1.9), "not decided"), (None, (0.5, 0.9), "contradicted"))
    for wanted, (low, high), verdict in cases:
        assert verdicts.decide(wanted, math.sqrt(low * high), low, high) == verdict, (wanted, low, high)
    for high, verdict in ((0.99, "contradicted"), (1.01, "reproduced")):
        assert verdicts.decide(1, 0.95, 0.9, high, bound=True) == verdict, high
    for (low, high), verdict in (((0.8, 1.25), "reproduced"), ((1.14, 2.21), "weaker"), ((0.7, 0.9), "weaker"), ((1.3, 2), "contradicted"),
                                 ((0.5, 0.79), "contradicted"), ((0.9, 2), "not decided"), ((0.6, 1.2), "not decided")):
        assert verdicts.decide(1, math.sqrt(low * high), low, high, similar=True) == verdict, (low, high)
    mean, low, high = verdicts.interval([2, 8])
    assert abs(mean - 4) < 1e-9 and low < 1e-3 and high > 1e4, (mean, low, high)
    assert verdicts.interval([3]) == (3, 3, 3) and max(verdicts.interval([5, 5, 5])) < 5.0001


def test_refuses(source, bench, work):
    """A sentence without a verdict, a quote that is not in the paper, and a record without the factors of a sentence."""
    copy, texts = os.path.join(work, "copy"), os.path.join(work, "papers")
    shutil.copytree(os.path.join(source, "bench", "report"), os.path.join(copy, "bench", "report"))
    more = os.path.join(copy, "bench", "report", "sentences", "more.py")

    def refused(text, why, *arguments):
        with open(more, "w", encoding="utf-8") as file:
            file.write(f"from sentences import Sentence\nSENTENCES = [{text}]\n")
        run = make(copy, bench, os.path.join(work, "refused"), *arguments, only=["repeats"])
        assert run.returncode == 1 and why in run.stderr, run.stderr

    refused('Sentence("new", "thesis: Section 1", "a", "b")', "sentence new has no verdict")
    refused('Sentence("new", "thesis: Section 1", "a", "b", claim="nothing")', "there is no claim 'nothing'")
    refused('Sentence("new", "thesis: Section 1", "a", "b", claim="repeats")', "repeats measured no factor for the sentence new")
    refused('Sentence("new", "thesis: Section 1", "a", "b", claim="repeats", timed=True, judge=lambda rows: 2)', "it needs 3 rounds")
    os.makedirs(texts)
    for name in ("adaptiveqf", "telescoping-filter", "adaptive-quotient-filter-thesis", "adapt-or-cache", "stacked-filters"):
        with open(os.path.join(texts, f"{name}.txt"), "w", encoding="utf-8") as file:
            file.write("no sentence of ours")
    refused("", "the paper does not say", "--papers", texts)


def test_reports_bad_arguments(source, bench, work):
    out = os.path.join(work, "missing")
    cases = ((make(source, os.path.join(work, "nowhere"), out), "cannot run"),
             (make(source, "false", out), "does not list its claims"),
             (make(source, bench, out, only=["no-such"]), "there is no claim no-such"),
             (make(source, bench, os.path.join(bench, "out")), "Not a directory"))
    for run, why in cases:
        assert run.returncode == 1 and run.stderr.startswith("report: ") and why in run.stderr, run.stderr


def test_replaces_a_broken_record(source, bench, out):
    path = os.path.join(out, "records", "repeats.csv")
    for broken in (read(path)[:-10], read(path).replace("# date", "# day"), ""):
        with open(path, "w", encoding="utf-8") as file:
            file.write(broken)
        run = make(source, bench, out)
        assert run.returncode == 0 and "1 of 1: repeats" in run.stderr, run.stderr


def test_draws_special_values(source):
    """Texts with a meaning in gnuplot or HTML, and numbers that a logarithmic axis cannot show."""
    sys.path.insert(0, os.path.join(source, "bench", "report"))
    import figures
    import records
    text = "".join(f"# {name}: 0\n" for name in records.NEEDED) + 'name,x,y,zero\n"a\\b ""c"" <d>",1,30000,0\n0,2,0,0\n,,,\n'
    plot = dict.fromkeys(("panels", "where", "x_label", "y_label", "log_x", "log_y", "bars", "map", "map_value"))
    plot.update(title='"<&', x="x", y="y", series="name")
    for change in ({}, {"bars": True}, {"log_x": True, "log_y": True}, {"log_y": True, "y": "zero"},
                   {"log_y": True, "y": "zero", "bars": True}, {"x": "name", "bars": True}, {"y_label": 'a "label" \\n ' * 9}):
        (title, svg), = figures.draw({**plot, **change}, records.Record(text), "name")
        label = xml.etree.ElementTree.fromstring(svg).get("aria-label")
        assert label == title and label.startswith('"<&'), svg


def test_tells_what_contradicts(source):
    """The chapter of a claim has what was measured of each contradicted sentence, and of no other."""
    sys.path.insert(0, os.path.join(source, "bench", "report"))
    import records
    import results
    import sentences
    import verdicts
    claim = {"name": "c", "title": "t", "source": "thesis: Section 1", "paper": "", "statement": "s", "differs": "", "plots": []}
    record = records.Record("".join(f"# {name}: 0\n" for name in records.NEEDED) + "x\n1\n")
    found = {"c": [verdicts.Verdict(sentences.Sentence(verdict, "thesis: Section 1", verdict, "a / b", claim="c"), verdict, 0.5, 0.4, 0.6, 3)
                   for verdict in (verdicts.CONTRADICTED, verdicts.REPRODUCED)]}
    lines = [line for line in results.chapter(claim, record, None, found).splitlines() if "Measured" in line]
    assert lines == ["*Contradicted:* Section 1, “contradicted”. Measured: a / b: 0.5 (0.4 to 0.6), 3 seeds; the paper: above 1."], lines


def check_tables(lines):
    """Every row of a Markdown table has as many cells as the first, and an empty line precedes the table."""
    for before, line in zip(lines, lines[1:]):
        if line.startswith("|") and before.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) == len(re.findall(r"(?<!\\)\|", before)), line
        elif line.startswith("|"):
            assert before == "", before


def test_writes_docs(source, bench, out, docs):
    os.makedirs(docs)
    readme = os.path.join(docs, "..", "README.md")
    with open(readme, "w", encoding="utf-8") as file:
        file.write("before\n<!-- make report -->\nold\n<!-- end -->\nafter\n")
    run = make(source, bench, out, "--docs", docs)
    assert run.returncode == 0, run.stderr
    assert read(kept_records(docs), "lists.csv") == read(out, "records", "lists.csv")
    results, claims = read(docs, "results.md").splitlines(), quick_claims(docs).splitlines()
    assert any("](quick/lists.csv)" in line for line in claims), claims
    for name in QUICK:
        assert f"### {name}" in claims, claims
        assert any(f"[{name}](../bench/records/quick.md#{name})" in line for line in results), results
    check_tables(results)
    check_tables(claims)
    begin, line, end = read(readme).partition("Two lists of equal length")  # the only claim here that the README shows
    assert line and begin == "before\n<!-- make report -->\n- ", read(readme)
    assert end.endswith("<!-- end -->\nafter\n") and end.count("\n- ") == 0, read(readme)


def test_renders_stored_records(source, bench, out, docs):
    """Records of another program are rendered and not measured again; claims without a record are left out."""
    path = os.path.join(kept_records(docs), "lists.csv")
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub("# program: .*", "# program: another", read(out, "records", "lists.csv")))
    os.remove(os.path.join(kept_records(docs), "space.csv"))
    run = make(source, bench, os.path.join(docs, "page"), "--stored", kept_records(docs), "--docs", docs)
    assert run.returncode == 0 and run.stderr == "", run.stderr
    assert "# program: another" in read(path)
    claims = quick_claims(docs)
    assert "### lists" in claims and "### repeats" in claims and "### space" not in claims, claims


# The winner of each cell of the map that the next test draws, and who may win as well.
MAP = {("0", "0"): ("ribbon", "learned"), ("0", "0.1"): ("adapt_once", ""), ("1.25", "0"): ("learned", ""), ("1.25", "0.1"): ("cached", "")}


def map_record(bench, winners):
    """A record of the claim who-wins, with these winners."""
    columns = next(claim for claim in claims_of(bench) if claim["name"] == "who-wins")["columns"]
    text = "".join(f"# {name}: 0\n" for name in ("program", "commit", "machine", "seconds", "seed", "parts", "verdict"))
    text += "# claim: who-wins\n# size: quick\n# date: 2026-01-01 00:00 UTC\n" + ",".join(columns) + "\n"
    for (zipf, share), (winner, tie) in winners.items():
        for name in ("ribbon", "learned", "cached", "adapt_once"):
            place = "yes" if name == winner else "tie" if name == tie else "no"
            row = {"zipf": zipf, "attack_share": share, "design": name, "wins": place, "wins_map_counted": place}
            text += ",".join(row.get(column, "0.001234") for column in columns) + "\n"
    return text


# The cells of the first map: the winner, the colour, and the lines of text inside the cell.
MAP_CELLS = """(svg => [...svg.querySelectorAll('.cell')].map(cell => {
  const box = cell.getBoundingClientRect(), inside = e => (b => b.left >= box.left && b.right <= box.right && b.top >= box.top &&
    b.bottom <= box.bottom)(e.getBoundingClientRect());
  return {winner: cell.dataset.winner, colour: cell.getAttribute('fill'), width: box.width, right: box.right,
          texts: [...svg.querySelectorAll('text')].filter(inside).map(e => e.textContent)};
}))(document.querySelector('#who-wins svg:has(.cell)'))"""


def check_map(page, winners=None):
    """Every cell of the map names its winner inside the cell, and a winner has one colour. winners: as in MAP."""
    cells = page.ask(MAP_CELLS)
    assert cells, "there is no map"
    for cell in cells:
        assert cell["texts"][:1] == [cell["winner"].replace("_", " ")], f"the winner is not named in its cell: {cell}"
        assert cell["width"] > 60 and cell["right"] <= page.size[0], f"the cell is not visible: {cell}"
    colours = {(cell["winner"], cell["colour"]) for cell in cells}
    assert len(colours) == len({cell["winner"] for cell in cells}) == len({cell["colour"] for cell in cells}), colours
    if winners:
        shown = [(cell["winner"], cell["texts"][2:]) for cell in cells]
        assert shown == [(winner, [f"or {tie}"] if tie else []) for winner, tie in winners.values()], shown


def test_draws_map(source, bench, work):
    """The map of winners: on the page at both widths, and as a table of the claim. A cell without a winner is an error."""
    docs, stored = os.path.join(work, "map", "docs"), os.path.join(work, "map", "stored")
    os.makedirs(docs)
    os.makedirs(stored)
    with open(os.path.join(docs, "..", "README.md"), "w", encoding="utf-8") as file:
        file.write("<!-- make report -->\n<!-- end -->\n")

    def render(winners):
        with open(os.path.join(stored, "who-wins.csv"), "w", encoding="utf-8") as file:
            file.write(map_record(bench, winners))
        return make(source, bench, os.path.join(work, "map"), "--stored", stored, "--docs", docs, only=["who-wins"])

    run = render({**MAP, ("0", "0.1"): ("nobody", "")})
    assert run.returncode == 1 and "0 winners at zipf 0, attack_share 0.1" in run.stderr, run.stderr
    run = render(MAP)
    assert run.returncode == 0, run.stderr
    claims = quick_claims(docs)
    assert "| 0 | ribbon or learned (0.0012) | adapt_once (0.0012) |\n| 1.25 | learned (0.0012) | cached (0.0012) |\n" in claims, claims
    check_tables(claims.splitlines())
    page = os.path.join(work, "map", "index.html")
    check_in_both_sizes(page)
    with Driver() as driver:
        for size in (PHONE, DESKTOP):
            with Page(driver, page, size) as shown:
                check_map(shown, MAP)


def test_counts_minutes(source):
    """Claims that run side by side count once; a pause between two runs does not count."""
    sys.path.insert(0, os.path.join(source, "bench", "report"))
    import records
    runs = [{"ended": "1100", "seconds": "100"}, {"ended": "1130", "seconds": "80"}, {"ended": "2010", "seconds": "10"}]
    assert records.elapsed(runs) == 140, records.elapsed(runs)
    assert records.elapsed([{"date": "1970-01-01 00:02 UTC", "seconds": "60"}, {"ended": "130", "seconds": "60"}]) == 70


# Elements that have to be on the first screen, and how far down they begin.
FIRST_SCREEN = """['h1', '.lead', '.chips .verdict', '.bar'].map(s => {
  const e = document.querySelector('#top ' + s);
  return e ? e.getBoundingClientRect().bottom + scrollY : 1e9;
})"""

# The lists of what holds and of what does not, and how far down they end.
BOTH_LISTS = """[...document.querySelectorAll('#top .sides section')].map(e => [e.querySelector('h2').textContent,
  e.getBoundingClientRect().bottom + scrollY])"""

LOW_DESKTOP = 800  # pixels: the height of the smallest screen on which both lists must be visible

LONG_LINES = """[...document.querySelectorAll('.sentences td, .sides li')].filter(
  e => e.getBoundingClientRect().right > innerWidth).map(e => e.textContent)"""


def check_new_parts(page):
    """The first screen, the verdicts, the glossary and the ways back to the top, in both colour schemes."""
    for scheme in ("light", "dark"):
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        page.call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": media})
        check_readable(page)
    assert max(page.ask(FIRST_SCREEN)) < page.size[1], "the counts of the verdicts are not on the first screen"
    lists = page.ask(BOTH_LISTS)
    assert [name for name, _ in lists] in (["What holds"], ["What holds", "What does not"]), lists
    assert page.size != DESKTOP or all(end <= LOW_DESKTOP for _, end in lists), f"not on the first screen: {lists}"
    if page.ask("document.querySelector('#who-wins figure') !== null"):
        check_map(page)
    assert page.ask("document.querySelectorAll('article .sentences q').length") > 0, "no sentence of a paper"
    assert page.ask("document.querySelectorAll('#glossary dt').length") >= 20, "no glossary"
    assert page.ask("[...document.querySelectorAll('h3')].every(e => e.textContent.includes(' '))"), "a slug instead of a title"
    assert page.ask(LONG_LINES) == [], page.ask(LONG_LINES)
    page.ask("(document.documentElement.style.scrollBehavior = 'auto', scrollTo(0, 1e6))")
    page.ask("document.querySelector('.top').click()")
    assert page.ask("document.querySelector('#top').getBoundingClientRect().bottom") > 0, "back to top leads elsewhere"


def check_report(bench, page):
    """Returns the pictures of the page. Every plot of a tested claim is among them."""
    pictures = check_in_both_sizes(page)
    with Driver() as driver:
        for size in (PHONE, DESKTOP):
            with Page(driver, page, size) as shown:
                check_new_parts(shown)
    articles = dict(re.findall(r'<article id="([^"]*)">(.*?)</article>', read(page), flags=re.S))
    assert articles, "no claims"
    for claim in claims_of(bench):
        if "<table>" not in articles.get(claim["name"], ""):
            continue
        for plot in claim["plots"]:
            assert any(picture["name"].startswith(plot["title"]) for picture in pictures), f"{plot['title']} is not drawn"
    return pictures


def main(source, bench):
    with tempfile.TemporaryDirectory() as work:
        out = os.path.join(work, "out")
        test_resumes(source, bench, out)
        test_replaces_a_broken_record(source, bench, out)
        test_draws_special_values(source)
        test_counts_minutes(source)
        test_draws_map(source, bench, work)
        docs = os.path.join(work, "project", "docs")
        test_writes_docs(source, bench, out, docs)
        test_renders_stored_records(source, bench, out, docs)
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            test_stops_on_signal(source, bench, work, how)
        test_reports_failures(source, bench, work)
        test_full_runs(source, bench, work)
        test_judges(source)
        test_tells_what_contradicts(source)
        test_refuses(source, bench, work)
        test_reports_bad_arguments(source, bench, work)
        assert check_report(bench, os.path.join(out, "index.html")), "no pictures"


if len(sys.argv) == 4:
    print(f"{len(check_report(sys.argv[2], sys.argv[3]))} pictures, drawn and legible on a phone and on a desktop")
else:
    main(sys.argv[1], sys.argv[2])
