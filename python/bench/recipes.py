"""Memory and time of the recipes of docs/python-recipes.md, beside the obvious way.

PYTHONPATH=build/python /usr/bin/python3 python/bench/recipes.py [NAME...] prints a table. Every row
is a process of its own: processor time, and the most memory above what it had after its imports.
"""

import http.server
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "examples"))

import besom  # noqa: E402
import numpy as np  # noqa: E402
import pandas  # noqa: E402

ROWS, DISTINCT, CHUNK = 10**7, 3_000_000, 10**6
KEYS, LINES = 500_000, 2_000_000
USERS, ABSENT = 100_000, 20_000
REQUESTS, PASSWORDS = 2000, 500_000
# Where the rows of one recipe share their input.
WORK = pathlib.Path(os.environ.get("BESOM_BENCH_WORK", "."))


# ---------------------------------------------------------------- deduplicate


def chunks():
    random = np.random.default_rng(1)
    for _ in range(ROWS // CHUNK):
        yield pandas.DataFrame({"id": random.integers(0, DISTINCT, CHUNK, dtype=np.uint64)})


def deduplicate_by_filter():
    from deduplicate import deduplicate

    return sum(map(len, deduplicate(chunks(), "id", DISTINCT)))


def deduplicate_by_set():
    seen, rows = set(), 0
    for chunk in chunks():
        fresh = [key for key in chunk["id"].drop_duplicates().tolist() if key not in seen]
        seen.update(fresh)
        rows += len(fresh)
    return rows


def deduplicate_by_drop_duplicates():
    return len(pandas.concat(chunks()).drop_duplicates("id"))


# ---------------------------------------------------------------- semi-join


def make_semi_join():
    with open(WORK / "small.csv", "w") as file:
        file.write("email\n")
        file.writelines(f"customer{3 * i}@example.org\n" for i in range(KEYS))
    with open(WORK / "large.csv", "w") as file:
        file.write("order,email\n")
        file.writelines(f"{i},customer{i * 7919 % (300 * KEYS)}@example.org\n" for i in range(LINES))


def semi_join_by_filter():
    from semi_join import semi_join

    return len(semi_join(str(WORK / "large.csv"), str(WORK / "small.csv"), "email", KEYS))


def semi_join_by_frames():
    large = pandas.read_csv(WORK / "large.csv", dtype=str)
    small = pandas.read_csv(WORK / "small.csv", dtype=str)
    return len(large[large["email"].isin(small["email"])])


# ---------------------------------------------------------------- SQLAlchemy


def sessions():
    import sqlalchemy
    from sqlalchemy import orm

    global User
    base = orm.declarative_base()

    class User(base):
        __tablename__ = "users"
        name = sqlalchemy.Column(sqlalchemy.String, primary_key=True)

    engine = sqlalchemy.create_engine(f"sqlite:///{WORK / 'users.db'}")
    return engine, base, orm.sessionmaker(engine, future=True)


def make_sqlalchemy():
    engine, base, make = sessions()
    base.metadata.create_all(engine)
    with make() as session:
        session.bulk_insert_mappings(User, [{"name": f"user {i}"} for i in range(USERS)])
        session.commit()


def sqlalchemy_by_guard():
    from sqlalchemy_guard import guard_rows

    guard = guard_rows(sessions()[2], User, "name")
    return sum(guard(f"nobody {i}") is None for i in range(ABSENT))


def sqlalchemy_by_query():
    make, absent = sessions()[2], 0
    for i in range(ABSENT):
        with make() as session:
            absent += session.get(User, f"nobody {i}") is None
    return absent


# ---------------------------------------------------------------- requests


class Users(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    names = json.dumps([f"user{i}" for i in range(1000)]).encode()

    def do_GET(self):
        body = self.names if self.path == "/users" else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def serve():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Users)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def requests_by_guard():
    from requests_guard import guard_service

    guard = guard_service(serve())
    return sum(guard(f"nobody{i}") is None for i in range(REQUESTS))


def requests_by_request():
    import requests

    base, session = serve(), requests.Session()
    return sum(session.get(f"{base}/users/nobody{i}").status_code == 404 for i in range(REQUESTS))


# ---------------------------------------------------------------- breached passwords


def all_hashes():
    from breached import sha1

    return (sha1(f"password{i}") for i in range(PASSWORDS))


def breached_by_filter():
    from breached import is_breached

    known = besom.build(all_hashes(), capacity=PASSWORDS, fpr=0.001)
    return sum(not is_breached(f"good {i}", known, lambda prefix: "") for i in range(PASSWORDS))


def breached_by_set():
    from breached import sha1

    known = set(all_hashes())
    return sum(sha1(f"good {i}") not in known for i in range(PASSWORDS))


# ---------------------------------------------------------------- running

RECIPES = {
    "deduplicate": (deduplicate_by_filter, deduplicate_by_set, deduplicate_by_drop_duplicates),
    "semi_join": (semi_join_by_filter, semi_join_by_frames),
    "sqlalchemy": (sqlalchemy_by_guard, sqlalchemy_by_query),
    "requests": (requests_by_guard, requests_by_request),
    "breached": (breached_by_filter, breached_by_set),
}


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_one(name):
    before, start = peak(), time.process_time()
    result = globals()[name]()
    seconds, memory = time.process_time() - start, peak() - before
    print(f"| {name.replace('_', ' ')} | {seconds:.2f} | {memory:.0f} | {result} |")


def main(names):
    print("| way | seconds | MB | result |\n|---|---|---|---|", flush=True)
    for recipe in names or RECIPES:
        with tempfile.TemporaryDirectory() as work:
            os.environ["BESOM_BENCH_WORK"] = work
            setup = [f"make_{recipe}"] if f"make_{recipe}" in globals() else []
            for name in setup + [function.__name__ for function in RECIPES[recipe]]:
                subprocess.run([sys.executable, __file__, "--one", name], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        run_one(sys.argv[2])
    else:
        main(sys.argv[1:])
