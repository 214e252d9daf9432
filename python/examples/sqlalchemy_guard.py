"""A guard against cache penetration: queries for absent rows do not reach the database."""

from typing import Any

import besom
from sqlalchemy import event, select
from sqlalchemy.orm import Session, sessionmaker


def guard_rows(sessions: "sessionmaker[Session]", model: Any, key: str) -> besom.LookupGuard[Any]:
    """A function of a key: the row of the model that has it, or None. Make it before rows are added."""
    column = getattr(model, key)

    def lookup(value: Any) -> Any:
        with sessions() as session:
            return session.scalars(select(model).where(column == value)).first()

    def keys() -> Any:
        with sessions() as session:
            yield from session.scalars(select(column).execution_options(yield_per=10_000)).partitions()

    guard: besom.LookupGuard[Any] = besom.Guard.wrap(lookup, keys=keys)

    # Not before the commit: a query that does not see the row yet would be a false positive.
    def remember(session: Session, context: Any) -> None:
        added = [getattr(row, key) for row in session.new if isinstance(row, model)]
        session.info.setdefault("added", []).extend(added)

    def tell(session: Session) -> None:
        for value in session.info.pop("added", ()):
            guard.add(value)

    event.listen(sessions, "after_flush", remember)
    event.listen(sessions, "after_commit", tell)
    event.listen(sessions, "after_rollback", lambda session: session.info.pop("added", None))
    return guard
