"""The examples of the docstrings, of docs/python.md and of the README."""

import doctest
import http.server
import json
import pathlib
import re
import threading

import besom
import pytest

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MANUAL = pathlib.Path(__file__).parents[2] / "docs" / "python.md"


def documented():
    """Names and docstrings of everything public."""
    yield "besom", besom.__doc__
    for name in besom.__all__:
        thing = getattr(besom, name)
        yield name, thing.__doc__
        for member in dir(thing) if isinstance(thing, type) else ():
            if not member.startswith("_"):
                yield f"{name}.{member}", getattr(thing, member).__doc__


EXAMPLES = {name: text for name, text in documented() if text and ">>>" in text}


def run(text, name, names=()):
    names = {"besom": besom, **dict(names)}
    test = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    output = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=output.append)
    assert not result.failed, "".join(output)
    return result.attempted


@pytest.mark.parametrize("name", EXAMPLES)
def test_docstring(name):
    assert run(EXAMPLES[name], name)


def test_everything_public_is_documented():
    fields = ("Stats", "Kind.", "Offender.", "Error.")
    missing = [name for name, text in documented() if not text]
    assert not [name for name in missing if not any(field in name for field in fields)]


class Users(http.server.BaseHTTPRequestHandler):
    """The service of the recipe."""

    def do_GET(self):
        answers = {"/users": ["ann"], "/users/ann": {"city": "Bonn"}}
        self.send_response(200 if self.path in answers else 404)
        self.end_headers()
        self.wfile.write(json.dumps(answers.get(self.path)).encode())

    def log_message(self, *args):
        pass


@pytest.fixture
def service():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Users)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


SECTIONS = {text.splitlines()[0]: text
            for text in re.split("^#+ ", MANUAL.read_text(), flags=re.MULTILINE) if ">>>" in text}


@pytest.mark.parametrize("title", SECTIONS)
def test_manual(title, tmp_path, monkeypatch, service):
    if title == "pandas":
        pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    text = re.sub("^```.*$", "", SECTIONS[title], flags=re.MULTILINE)
    assert run(text, title, {"BASE": service})


@pytest.mark.parametrize("page, title, output", [
    ("README.md", "## Python\n\n", "True Bonn None\n"),
    ("python/README.md", "", "True\nFalse\nBonn None\n"),
    ("docs/jobs/deduplicate.md", "", "['a', 'b', 'c']\n"),
])
def test_readme(page, title, output, capsys):
    """They can be pasted as they are."""
    text = (MANUAL.parents[1] / page).read_text()
    example = re.search(rf"^{title}```python\n(.*?)^```$", text, re.M | re.S).group(1)
    names = {}
    exec(example, names)
    assert capsys.readouterr().out == output
