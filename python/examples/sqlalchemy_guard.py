"""A guard against cache penetration: queries for absent rows do not reach the database."""

from typing import Any

import besom
from sqlalchemy import event, select
from sqlalchemy.orm import Session, sessionmaker


def guard_rows(sessions: "sessionmaker[Session]", model: Any, key: str) -> besom.LookupGuard[Any]:
    """A function of a key: the row of the model that has it, or None."""
    column = getattr(model, key)

    def lookup(value: Any) -> Any:
        with sessions() as session:
            return session.scalars(select(model).where(column == value)).first()

    def keys() -> Any:
        with sessions() as session:
            yield from session.scalars(select(column).execution_options(yield_per=10_000)).partitions()

    guard: besom.LookupGuard[Any] = besom.Guard.wrap(lookup, keys=keys)
    # A row of a transaction that is rolled back costs one query, and is reported then.
    event.listen(model, "after_insert", lambda mapper, connection, row: guard.add(getattr(row, key)))
    return guard
