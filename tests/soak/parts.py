"""The parts of `make soak` and what is wanted of each. part.py documents the fields."""

import database_parts

PARTS = database_parts.PARTS
