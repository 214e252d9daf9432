"""Checks the HTML pages of besom advise and besom demo in a browser: command.py BESOM."""

import os
import subprocess
import sys
import tempfile

from browser import PHONE, Driver, Page, check_in_both_sizes, check_readable

VISIBLE_CURVES = """[...document.querySelectorAll('polyline')].filter(e => e.getClientRects().length).length"""

SMALL_LABELS = """[...document.querySelectorAll('figure *')].filter(
  e => !e.closest('svg') && parseFloat(getComputedStyle(e).fontSize) < 13).length"""

SELECT_ANOTHER = """document.querySelector('details input:not(:checked)').click()"""


def make_pages(besom, work):
    members, queries = os.path.join(work, "members.txt"), os.path.join(work, "queries.txt")
    with open(members, "w", encoding="utf-8") as file:
        file.writelines(f"member{i}\n" for i in range(2000))
    with open(queries, "w", encoding="utf-8") as file:
        file.writelines(f"absent{i * i % 500}\n" for i in range(4000))
    advice, demo = os.path.join(work, "advice.html"), os.path.join(work, "demo.html")
    subprocess.run([besom, "advise", "--set", members, "--queries", queries, "--runs", "1", "--memory", "1", "--html", advice],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run([besom, "demo", "--keys", "20000", "--queries", "20000", "--html", demo],
                   check=True, stdout=subprocess.DEVNULL, cwd=work)
    return advice, demo


def check_dark(driver, path):
    with Page(driver, path, PHONE) as page:
        bright = page.ask("getComputedStyle(document.body).backgroundColor")
        page.prefer(color_scheme="dark")
        assert page.ask("getComputedStyle(document.body).backgroundColor") != bright, "dark pages are not supported"
        check_readable(page)
        assert page.ask(SMALL_LABELS) == 0, "labels are too small"


def check_selection(driver, path):
    """Five curves are drawn; another one when it is selected."""
    with Page(driver, path, PHONE) as page:
        assert page.ask(VISIBLE_CURVES) == 5, page.ask(VISIBLE_CURVES)
        page.ask(SELECT_ANOTHER)
        assert page.ask(VISIBLE_CURVES) == 6, page.ask(VISIBLE_CURVES)


def main(besom):
    with tempfile.TemporaryDirectory() as work:
        advice, demo = make_pages(besom, work)
        for path in (advice, demo):
            assert check_in_both_sizes(path), f"no chart in {path}"
        with Driver() as driver:
            check_dark(driver, advice)
            check_dark(driver, demo)
            check_selection(driver, advice)


main(os.path.abspath(sys.argv[1]))
