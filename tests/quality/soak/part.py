"""What a part of `make soak` is. parts.py lists the parts, soak.py runs them.

A part is a program:

    PROGRAM --seed S --amount N [arguments of the row]

It does N units of work that depend only on the seed S. It ends with 0 if all is well. The last line
of its standard output is a JSON object of counts, for example {"operations": 1000000, "removes":
4711}. Any other exit code, or more time than `timeout`, is a failure.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, eq=False)
class Row:
    """One line in the table of a part: a kind, a store, a build."""

    name: str
    arguments: tuple = ()
    targets: dict = field(default_factory=dict)  # count -> how much of it is wanted


@dataclass(frozen=True, eq=False)
class Part:
    name: str
    title: str  # of its table in docs/trust/soak.md
    command: tuple  # program and first arguments, relative to the root of the sources
    rows: tuple
    row_title: str = ""  # what a row is: "kind", "store"
    totals: dict = field(default_factory=dict)  # count -> how much of it over all rows
    first_amount: int = 1  # of a row's first batch; the runner then aims at BATCH_SECONDS
    most_amount: int = 0  # of one batch; 0: no limit
    at_once: int = 0  # batches of this part that may run at the same time; 0: no limit
    timeout: int = 1800  # seconds per batch
    environment: dict = field(default_factory=dict)
