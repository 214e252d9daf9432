"""What the tests share."""

import os
import signal

import besom
import hypothesis
from besom import _besom

# The same examples in every run: no test fails by chance.
hypothesis.settings.register_profile(
    "besom", derandomize=True, deadline=None, database=None, max_examples=25,
    stateful_step_count=40, suppress_health_check=list(hypothesis.HealthCheck),
)
hypothesis.settings.load_profile("besom")

# A shell starts programs in the background with SIGINT ignored, and they inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

SEED = bytes(range(16))
IS_ASAN = "BESOM_ASAN" in os.environ


def _use_one_seed():
    """Filters and guards without a given seed have this one: no test fails by chance."""
    make_filter, make_build = _besom.FilterBase.__new__, _besom.build

    def new(cls, *args, **config):
        return make_filter(cls, *args, **{"seed": SEED, **config})

    def build(cls, yes, no, like, progress, config):
        return make_build(cls, yes, no, like, progress, {"seed": SEED, **config})

    make_guard = besom.Guard.__new__

    def new_guard(cls, *args, **config):
        return make_guard(cls, *args, **{"seed": SEED, **config})

    besom.Filter.__new__ = new
    besom.Guard.__new__ = new_guard
    _besom.build = build


_use_one_seed()
