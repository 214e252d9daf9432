"""The besom command that is part of the package: `besom VERB ...`, or `python -m besom VERB ...`."""

import os
import pathlib
import sys


def main():
    program = pathlib.Path(__file__).with_name("bin") / "besom"
    if not program.exists():
        sys.exit(f"{program} is missing: build the package with the command (BESOM_CLI=ON)")
    os.execv(program, ["besom", *sys.argv[1:]])


if __name__ == "__main__":
    main()
