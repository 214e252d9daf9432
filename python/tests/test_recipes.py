"""The recipes of docs/python-recipes.md: as they are printed there, and with real libraries."""

import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import zlib

import besom
import numpy as np
import pytest
from conftest import IS_ASAN

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / "python" / "examples"
sys.path.insert(0, str(EXAMPLES))


def code_of(path):
    """Without the docstring and the imports of the standard library."""
    return path.read_text().split('"""', 2)[2].strip()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_the_page_has_the_example(path):
    page = (ROOT / "docs" / "python-recipes.md").read_text()
    blocks = [block.strip() for block in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)]
    assert code_of(path) in blocks


@pytest.mark.skipif(not shutil.which("mypy"), reason="mypy is not installed")
@pytest.mark.skipif(IS_ASAN, reason="it does not run besom")
def test_mypy_strict():
    files = [str(path) for path in EXAMPLES.glob("*.py")] + ["src/besom/__init__.pyi"]
    run = subprocess.run(
        ["mypy", "--strict", "--config-file", "pyproject.toml", "--python-executable",
         "/usr/bin/python3", *files],
        cwd=ROOT / "python", env={"PATH": "/usr/bin:/bin", "MYPYPATH": "src"},
        capture_output=True, text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_deduplicate_ten_million_rows():
    pandas = pytest.importorskip("pandas")
    from deduplicate import deduplicate

    rows, distinct, chunk = (10**5, 30_000, 10**4) if IS_ASAN else (10**7, 3_000_000, 10**6)
    random = np.random.default_rng(1)
    parts = [random.integers(0, distinct, chunk, dtype=np.uint64) for _ in range(rows // chunk)]
    chunks = (pandas.DataFrame({"id": part, "row": np.arange(len(part))}) for part in parts)
    fresh = np.concatenate([part["id"].to_numpy() for part in deduplicate(chunks, "id", distinct)])
    there = np.zeros(distinct, dtype=bool)
    for part in parts:
        there[part] = True
    assert len(np.unique(fresh)) == len(fresh)  # nothing comes twice
    assert 0 <= there.sum() - len(fresh) <= 10  # at a rate of 1e-6, some 3 are taken for repeated


def test_semi_join(tmp_path):
    pandas = pytest.importorskip("pandas")
    from semi_join import semi_join

    small, large = tmp_path / "small.csv", tmp_path / "large.csv"
    small.write_text("email,city\n" + "".join(f"c{i}@x,Bonn\n" for i in range(0, 5000, 3)) + ",\n")
    large.write_text("order,email\n" + "".join(f"{i},c{i % 9000}@x\n" for i in range(30_000)) + "7,\n")
    found = semi_join(str(large), str(small), "email", capacity=2000)
    left, right = pandas.read_csv(large, dtype=str), pandas.read_csv(small)
    expected = left[left["email"].isin(right["email"].dropna())]
    assert found.equals(expected) and len(found) > 5000


def test_sqlalchemy():
    sqlalchemy = pytest.importorskip("sqlalchemy")
    from sqlalchemy import orm, pool
    from sqlalchemy_guard import guard_rows

    class Base(orm.declarative_base()):
        __abstract__ = True

    class User(Base):
        __tablename__ = "users"
        name = sqlalchemy.Column(sqlalchemy.String, primary_key=True)
        city = sqlalchemy.Column(sqlalchemy.String)

    engine = sqlalchemy.create_engine("sqlite://", poolclass=pool.StaticPool)
    Base.metadata.create_all(engine)
    sessions = orm.sessionmaker(engine, expire_on_commit=False, future=True)
    with sessions() as session:
        session.add_all(User(name=f"user {i}", city="Bonn") for i in range(2000))
        session.commit()
    guard = guard_rows(sessions, User, "name")
    assert guard("user 7").city == "Bonn" and len(guard.filter) == 2000
    asked = []
    sqlalchemy.event.listen(engine, "before_cursor_execute", lambda *args: asked.append(args))
    for _ in range(3):
        assert not any(f"nobody {i}" in guard for i in range(2000))
    assert len(asked) < 60 and guard.stats().false_positives == len(asked)
    with sessions() as session:
        session.add(User(name="new", city="Rome"))
        session.commit()
        session.add(User(name="undone", city="Rome"))
        session.flush()
        session.rollback()
    assert guard("new").city == "Rome" and guard("undone") is None
    assert "undone" not in guard.filter


def test_sqlalchemy_a_query_before_the_commit_denies_no_row(tmp_path):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    from sqlalchemy import orm
    from sqlalchemy_guard import guard_rows

    Base = orm.declarative_base()

    class User(Base):
        __tablename__ = "users"
        name = sqlalchemy.Column(sqlalchemy.String, primary_key=True)

    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/users.db")
    Base.metadata.create_all(engine)
    sessions = orm.sessionmaker(engine, future=True)
    guard = guard_rows(sessions, User, "name")
    with sessions() as session:
        for name in ("ann", "bob"):
            session.add(User(name=name))
            session.flush()
            assert guard(name) is None
        session.commit()
    assert guard("ann").name == "ann" and guard("bob").name == "bob"
    engine.dispose()


class Service(http.server.BaseHTTPRequestHandler):
    answers: dict = {}
    paths: list = []

    def do_GET(self):
        self.paths.append(self.path)
        body = self.answers.get(self.path)
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *args):
        pass


@pytest.fixture
def service():
    Service.answers, Service.paths = {}, []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_requests(service):
    requests = pytest.importorskip("requests")
    from requests_guard import guard_service

    names = [f"user{i}" for i in range(500)]
    Service.answers = {f"/users/{name}": json.dumps({"name": name}).encode() for name in names}
    Service.answers["/users"] = json.dumps(names).encode()
    users = guard_service(service)
    assert users("user7") == {"name": "user7"} and users["user8"]["name"] == "user8"
    before = len(Service.paths)
    for _ in range(2):
        assert [users(f"nobody{i}") for i in range(1000)] == [None] * 1000
    assert len(Service.paths) - before < 30
    Service.answers["/users/new"] = b'"created"'
    users.invalidate("new")
    assert users("new") == "created"
    with pytest.raises(requests.ConnectionError):
        guard_service("http://127.0.0.1:9")("x")


def test_breached(tmp_path):
    from breached import build_list, hashes, is_breached, sha1

    passwords = [f"password{i}" for i in range(3000)]
    ranges = {}
    for password in passwords:
        digest = sha1(password)
        ranges.setdefault(digest[:5], []).append(f"{digest[5:]}:{zlib.crc32(password.encode()) % 99}")
    for prefix, lines in ranges.items():
        (tmp_path / prefix).write_text("\r\n".join(lines))
    assert sorted(hashes(tmp_path)) == sorted(map(sha1, passwords))
    known = build_list(tmp_path, len(passwords))
    sent = []

    def fetch_range(prefix):
        sent.append(prefix)
        return "\n".join(ranges.get(prefix, ()))

    assert all(is_breached(password, known, fetch_range) for password in passwords)
    assert {len(prefix) for prefix in sent} == {5} and len(sent) == 3000
    sent.clear()
    assert not any(is_breached(f"good {i}", known, fetch_range) for i in range(3000))
    assert len(sent) < 30
