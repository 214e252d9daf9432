"""A guard in front of an HTTP service that answers 404 for unknown names."""

from typing import Any

import besom
import requests


def guard_service(base: str) -> besom.LookupGuard[Any]:
    session = requests.Session()

    def fetch(name: str) -> Any:
        answer = session.get(f"{base}/users/{name}", timeout=10)
        if answer.status_code == 404:
            return None
        answer.raise_for_status()  # other errors pass through, and nothing is reported
        return answer.json()

    def names() -> Any:
        return session.get(f"{base}/users", timeout=60).json()

    return besom.Guard.wrap(fetch, keys=names)
