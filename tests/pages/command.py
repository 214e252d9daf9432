"""Checks the HTML pages of besom advise and besom demo in a browser: command.py BESOM."""

import os
import subprocess
import sys
import tempfile

from browser import check_in_both_sizes


def main(besom):
    with tempfile.TemporaryDirectory() as work:
        members, queries = os.path.join(work, "members.txt"), os.path.join(work, "queries.txt")
        with open(members, "w", encoding="utf-8") as file:
            file.writelines(f"member{i}\n" for i in range(2000))
        with open(queries, "w", encoding="utf-8") as file:
            file.writelines(f"absent{i * i % 500}\n" for i in range(4000))
        advice, demo = os.path.join(work, "advice.html"), os.path.join(work, "demo.html")
        subprocess.run([besom, "advise", "--set", members, "--queries", queries, "--html", advice],
                       check=True, stdout=subprocess.DEVNULL)
        subprocess.run([besom, "demo", "--keys", "20000", "--queries", "20000", "--html", demo],
                       check=True, stdout=subprocess.DEVNULL, cwd=work)
        for page in (advice, demo):
            assert check_in_both_sizes(page), f"no chart in {page}"


main(os.path.abspath(sys.argv[1]))
