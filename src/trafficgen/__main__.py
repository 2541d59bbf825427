"""`python -m trafficgen` is the command `trafficgen`."""

from __future__ import annotations

from trafficgen.cli.entry import main

if __name__ == "__main__":  # workers import this module too
    main()
