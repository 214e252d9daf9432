"""The parts of `make soak` and what is wanted of each. part.py documents the fields."""

PARTS = ()
