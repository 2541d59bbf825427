"""What `trafficgen simulate` prints of sessions that share a path."""

from __future__ import annotations

import trafficgen
from trafficgen.cli._tables import print_table
from trafficgen.cli._terminal import say_line


def print_shares(result: trafficgen.WorkloadResult) -> None:
    """Print who got what: groups, competing flows, all sessions, links."""
    from trafficgen.workloads.share_texts import (  # noqa: PLC0415 - --help needs none of it
        LINK_HEADER,
        SHARE_HEADER,
        describe_shares,
        link_rows,
        share_rows,
    )

    say_line(describe_shares(result))
    print()
    print_table(SHARE_HEADER, share_rows(result), right=range(1, len(SHARE_HEADER)))
    print()
    print_table(LINK_HEADER, link_rows(result), right=range(1, len(LINK_HEADER)))
