"""The command that tests start and kill: ``python -m tests.cluster.command OUT
[OPTION=VALUE]...``.
"""

from __future__ import annotations

import sys

from tests.cluster.played import play

from trafficgen.errors import TrafficgenError


def main() -> int:
    out, *options = sys.argv[1:]
    given = dict(option.split("=", 1) for option in options)
    try:
        play(
            out,
            workers=int(given.get("workers", "1")),
            scheduler=given.get("scheduler"),
            storage=given.get("storage"),
        )
    except TrafficgenError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
