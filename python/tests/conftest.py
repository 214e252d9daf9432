"""What the tests share."""

import os

import hypothesis
import pytest

# The same examples in every run: no test fails by chance.
hypothesis.settings.register_profile(
    "besom", derandomize=True, deadline=None, database=None, max_examples=25,
    stateful_step_count=40, suppress_health_check=list(hypothesis.HealthCheck),
)
hypothesis.settings.load_profile("besom")

SEED = bytes(range(16))
IS_ASAN = "BESOM_ASAN" in os.environ


@pytest.fixture
def seed():
    return SEED
