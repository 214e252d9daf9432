"""The parts of `make soak` that kill processes, cut the power and damage what servers read."""

import os

from part import Part, Row

# A kill loses nothing that was written, so files in memory are enough; they are faster.
MEMORY = {"TMPDIR": "/dev/shm"} if os.path.isdir("/dev/shm") else {}
DATABASES = ("lmdb", "rocksdb")


def of_databases(wanted):
    return tuple(Row(name, ("--database", name), wanted) for name in DATABASES)


PARTS = (
    Part(name="environment", title="Guards and sidecars whose files, disks and servers change",
         row_title="on", command=("build/tests/quality/soak/soak_environment",),
         rows=tuple(Row(name, ("--on", name), {"operations": 1_000_000})
                    for name in (*DATABASES, "redis", "sidecar")),
         first_amount=20000, environment=MEMORY),
    Part(name="sidecars", title="Sidecars of databases that crash, and go back", row_title="database",
         command=("build/tests/sidecar_model",), rows=(Row("memory", (), {"steps": 1_000_000}),),
         first_amount=3000, environment=MEMORY),
    Part(name="sqlite", title="Guards of SQLite, several connections", row_title="extension",
         command=("build/tests/system/sqlite/sqlite_model",),
         rows=(Row("besom_guard", (), {"steps": 1_000_000}),), first_amount=10000,
         environment=MEMORY),
    Part(name="kills", title="Guards that are killed under load", row_title="store",
         command=("build/tests/guard_kill",), rows=of_databases({"kills": 1000}), first_amount=40,
         timeout=600, environment=MEMORY),
    Part(name="sidecar-kills", title="Applications with a sidecar that are killed under load",
         row_title="database", command=("build/tests/sidecar_kill",),
         rows=of_databases({"kills": 1000}), first_amount=40, timeout=600, environment=MEMORY),
    Part(name="power-cuts", title="Simulated power cuts of guards", row_title="stores",
         command=("build/tests/guard_power_cut",), rows=(Row("all", (), {"states": 10000}),),
         first_amount=200, timeout=600, environment=MEMORY),
    Part(name="redis-kills", title="Redis servers that are killed under load", row_title="server",
         command=("python3", "tests/system/redis/kill_part.py"), rows=(Row("redis", (), {"kills": 1000}),),
         first_amount=20, at_once=1, timeout=900, environment=MEMORY),
    Part(name="failovers", title="Failovers of Redis servers while filters grow",
         row_title="server", command=("python3", "tests/system/redis/failover_part.py"),
         rows=(Row("redis", (), {"failovers": 100}),), first_amount=4, at_once=1, timeout=900,
         environment=MEMORY),
    Part(name="restore", title="RESTORE of malformed payloads, with sanitizers", row_title="server",
         command=("python3", "tests/system/redis/restore_part.py"),
         rows=(Row("redis", (), {"payloads": 1000000}),), first_amount=10000, timeout=900,
         environment=MEMORY),
    Part(name="updates", title="Updates of signed lists, killed or without disk space",
         row_title="command", command=("python3", "tests/system/cli/update_part.py"),
         # On a disk: where a sync takes no time, hardly a kill is between two steps of an update.
         rows=(Row("besom", (), {"updates": 1000}),), first_amount=60, timeout=900),
    Part(name="syncs", title="Syncs of published sets, killed, cut off or without disk space",
         row_title="command", command=("python3", "tests/system/publish/sync_part.py"),
         rows=(Row("besom", (), {"syncs": 1000}),), first_amount=60, timeout=900),
)
