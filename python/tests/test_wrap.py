"""Guards over lookup functions: what they return, what is refused, threads and asyncio."""

import asyncio
import functools
import re
import threading

import besom
import numpy as np
import pytest

TABLE = {f"user {i}": i for i in range(2000)}
ABSENT = [f"nobody {i}" for i in range(20_000)]


def test_a_function_that_returns_false_is_refused():
    guard = besom.Guard.wrap(lambda key: TABLE.get(key, False), keys=TABLE)
    with pytest.raises(TypeError, match="absent=False.*absent=None"):
        for key in ABSENT:
            guard(key)
    assert guard("user 7") == 7


@pytest.mark.parametrize("absent, value", [
    (False, False), (-1, -1), ("", ""), (lambda value: value == "none", "none"),
    (np.nan, np.nan),
])
def test_absent(absent, value):
    guard = besom.Guard.wrap(lambda key: TABLE.get(key, value), keys=TABLE, absent=absent)
    for _ in range(3):
        assert not any(key in guard for key in ABSENT)
    stats = guard.stats()
    assert 0 < stats.false_positives == stats.reported == stats.lookups
    assert all(guard(key) == i for key, i in TABLE.items())


def test_false_as_a_value():
    flags = {key: i % 2 == 0 for key, i in TABLE.items()}
    guard = besom.Guard.wrap(flags.get, keys=flags, absent=None)
    assert all(guard[key] is flags[key] for key in flags)
    assert not any(key in guard for key in ABSENT)
    mapping = besom.Guard.wrap({"a": False, "b": None})
    assert mapping["a"] is False and mapping["b"] is None and "b" in mapping


def test_coroutine_functions_are_refused():
    async def fetch(key):
        return TABLE.get(key)

    class Fetch:
        async def __call__(self, key):
            return TABLE.get(key)

    for lookup in (fetch, Fetch(), functools.partial(fetch)):
        with pytest.raises(TypeError, match="besom.AsyncGuard"):
            besom.Guard.wrap(lookup, keys=TABLE)
    guard = besom.Guard.wrap(lambda key: fetch(key), keys=TABLE)
    with pytest.raises(TypeError, match="besom.AsyncGuard"):
        guard("user 7")
    with pytest.raises(TypeError, match="besom.Guard.wrap"):
        besom.AsyncGuard(TABLE.get, keys=TABLE)


def chunks_of_lists():
    names = list(TABLE)
    return (names[i : i + 300] for i in range(0, len(names), 300))


@pytest.mark.parametrize("keys", [
    TABLE, list(TABLE), TABLE.keys, lambda: iter(TABLE), chunks_of_lists,
    lambda: [np.array(list(TABLE)[:1000]), list(TABLE)[1000:]],
], ids=["mapping", "list", "function", "iterator", "stream of chunks", "list of chunks"])
def test_keys(keys):
    for config in ({}, {"capacity": 5000}, {"fpr": 0.001}, {"kind": "qf"}):
        guard = besom.Guard.wrap(TABLE.get, keys=keys, **config)
        assert all(guard(key) == i for key, i in TABLE.items())
        assert not any(key in guard for key in ABSENT[:1000])
        guard.discard("user 7")
        guard.add("user 7")
        assert guard("user 7") == 7


def test_a_stream_of_unknown_length_is_not_copied():
    most = alive = 0

    class Key(str):
        def __new__(cls, text):
            nonlocal alive, most
            alive += 1
            most = max(most, alive)
            return super().__new__(cls, text)

        def __del__(self):
            nonlocal alive
            alive -= 1

    guard = besom.Guard.wrap(lambda key: 1, keys=(Key(i) for i in range(100_000)))
    assert most < 30_000 and guard.filter.contains_many([str(i) for i in range(100_000)]).all()


@pytest.mark.parametrize("kind", ["aqf", "cf", "bloom"])
def test_no_key_is_denied_after_others_were_invalidated_and_discarded(kind):
    table = {f"member {i}": i for i in range(300)}
    members = dict(table)
    removable = kind != "bloom"
    guard = besom.Guard.wrap(
        table.get, keys=list(table), kind=kind, fpr=0.2, capacity=600, removable=removable
    )
    for i in range(300):
        name = f"guest {i}"
        table[name] = i
        for _ in range(1 + i % 20):
            guard.invalidate(name)
        assert guard[name] == i
        del table[name]
        guard.discard(name)
        assert guard.get(name) is None
    assert all(guard.get(name) == value for name, value in members.items())


@pytest.mark.parametrize("kind", ["ribbon", "fuse"])
def test_a_static_filter_needs_no_copy_of_a_known_key(kind):
    guard = besom.Guard.wrap(TABLE.get, keys=TABLE, kind=kind, removable=False)
    key = next(iter(TABLE))
    guard.invalidate(key)
    assert guard[key] == TABLE[key]


def test_invalidate():
    table = {}
    guard = besom.Guard.wrap(table.get, keys=[], fpr=0.2)
    for i in range(500):
        guard(i)
        table[i] = i
        guard.invalidate(i)
        n = len(guard.filter)
        guard.invalidate(i)
        assert len(guard.filter) == n
    assert all(guard(i) == i for i in range(500))


def test_a_set_as_the_filter():
    table = dict(TABLE)
    guard = besom.Guard.wrap(table, filter=besom.build(TABLE, capacity=5000, fpr=0.1))
    assert not guard.filter.removable
    for key in list(table)[:200]:
        del guard[key]
        assert key not in guard
    assert all(guard[key] == i for key, i in list(TABLE.items())[200:])
    guard["user 7"] = 8
    assert guard["user 7"] == 8


# ---------------------------------------------------------------- the decorator


def test_guarded():
    calls = []

    @besom.guarded(keys=lambda: TABLE.keys(), fpr=0.01)
    def phone(name):
        """The number of a user."""
        calls.append(name)
        return TABLE.get(name)

    assert phone.__name__ == "phone" and phone.__doc__.startswith("The number") and not calls
    assert phone("user 7") == 7 and calls == ["user 7"]
    assert [phone(key) for key in ABSENT[:2000] * 3] == [None] * 6000
    assert len(calls) < 100 and phone.stats().lookups == len(calls)
    phone.invalidate("somebody")
    phone.add("another")
    phone.discard("another")
    assert phone("somebody") is None and phone.guard.filter


def test_guarded_over_a_coroutine_function():
    @besom.guarded(keys=TABLE)
    async def phone(name):
        await asyncio.sleep(0)
        return TABLE.get(name)

    assert asyncio.run(phone("user 7")) == 7
    assert asyncio.run(phone("nobody")) is None
    assert isinstance(phone.guard, besom.AsyncGuard)


def test_guarded_without_arguments():
    with pytest.raises(TypeError, match="keys="):

        @besom.guarded
        def phone(name):
            return None

    with pytest.raises(TypeError, match="keys"):
        besom.guarded()(TABLE.get)("user 7")


# ---------------------------------------------------------------- asyncio


def test_an_async_guard():
    running = most = 0

    async def fetch(key):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        if key == "nobody 3":
            raise KeyError(key)
        return TABLE.get(key)

    guard = besom.AsyncGuard(fetch, keys=TABLE, fpr=0.3)

    async def main():
        for _ in range(3):
            found = await asyncio.gather(*(guard(key) for key in [*TABLE, *ABSENT[:2000]]))
            assert found == [*range(2000), *[None] * 2000]
        assert await guard.get("nobody 3", "default") == "default"
        assert await guard.has("user 7") and not await guard.has("nobody 3")

    asyncio.run(main())
    stats = guard.stats()
    assert most > 100  # lookups run beside each other
    assert stats.reported == stats.false_positives < 1000
    assert stats.lookups == stats.false_positives + 3 * 2000 + 1


def test_false_from_a_coroutine_function():
    async def fetch(key):
        return TABLE.get(key, False)

    async def ask_all(guard):
        return [await guard(key) for key in ABSENT[:2000]]

    with pytest.raises(TypeError, match="absent=False"):
        asyncio.run(ask_all(besom.AsyncGuard(fetch, keys=TABLE)))
    guard = besom.AsyncGuard(fetch, keys=TABLE, absent=False)
    assert asyncio.run(ask_all(guard)) == [None] * 2000


def test_an_error_of_the_lookup_is_not_a_report():
    async def fetch(key):
        raise OSError("the network")

    guard = besom.AsyncGuard(fetch, keys=TABLE)
    with pytest.raises(OSError):
        asyncio.run(guard("user 7"))
    assert guard.stats().false_positives == 0 and "user 7" in guard.filter


def test_a_key_that_is_stored_while_it_is_looked_up():
    """A lookup reads before the key is stored, and ends after that: it must not report."""
    table = {}
    first = asyncio.Event()

    async def fetch(key):
        value = table.get(key)
        if not first.is_set():
            first.set()
            for _ in range(5):
                await asyncio.sleep(0)
        return value

    guard = besom.AsyncGuard(fetch, keys=["x"])

    async def main():
        asking = asyncio.create_task(guard("x"))
        await first.wait()
        table["x"] = 1
        guard.invalidate("x")
        assert await asking is None
        assert await guard("x") == 1

    asyncio.run(main())


def test_threads_and_event_loops_share_a_guard():
    table, failures = dict(TABLE), []

    async def fetch(key):
        await asyncio.sleep(0)
        return table.get(key)

    guard = besom.AsyncGuard(fetch, keys=TABLE, fpr=0.2)

    async def ask(part):
        for i in range(part, 2000, 4):
            name = f"new {i}"
            await guard(name)
            table[name] = i
            guard.add(name)
            assert await guard(name) == i
            assert await guard(f"user {i}") == i
            assert await guard(f"nobody {i}") is None

    def work(part):
        try:
            asyncio.run(ask(part))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_what_is_no_filter_and_no_function_is_refused_at_once():
    for no_filter in (5, ["a"], {"a"}):
        with pytest.raises(TypeError, match="filter is a besom.Filter, not"):
            besom.Guard.wrap({}.get, filter=no_filter)
    with pytest.raises(TypeError, match="a function is decorated, not int"):
        besom.guarded(keys=["a"])(5)


def test_repr_shows_the_lookup_and_the_fill():
    def find(name):
        return None

    guard = besom.Guard.wrap(find, keys=["a"])
    guard.get("a"), guard.get("b")
    assert re.fullmatch(
        r"<besom.LookupGuard over .*find: 2 queries, 1 lookups, <besom.Filter aqf, removable: .*>>",
        repr(guard),
    )
    large = {str(i): i for i in range(10000)}
    assert "over dict:" in repr(besom.Guard.wrap(large))
