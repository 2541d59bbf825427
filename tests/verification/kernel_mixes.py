"""Run mixes of flows in the kernel and keep what they brought: ``python -m
tests.verification.kernel_mixes [--runs 5] [NAME ...]`` (root; a minute and a quarter a run).

``kernel_mixes.json`` holds the runs, which the simulation is compared with wherever the tests run.
"""

from __future__ import annotations

import argparse
import math
import platform
import sys
from pathlib import Path

from tests.verification import kernel_path
from tests.verification.mixes import Got, Mix, queue_of
from tests.verification.runs_kept import keep_runs

from trafficgen.units import ms_from_s

#: Linux counts frames with their Ethernet header in a token bucket filter.
ETHERNET_BYTES = 14
#: Mean of what hosts and the wire take longer, s, if the law is exponential: the wire is late by 30
#: microseconds in the median, as each run says, which is ln 2 of the mean.
JITTER_S = 30e-6 / math.log(2)
#: Trials with more than one frame in 1000 later than this, s, do not count, nor more than so many.
LATEST_S = 5e-3
MOST_TRIALS = 5
#: Reno in Linux, apart from its window, is as any other control there; the papers' is not.
_LINUX = {"rack": True, "window_validation": True, "quick_acks": 22}
FILE = Path(__file__).with_name("kernel_mixes.json")


def _mix(
    controls: str, *, products: float, round_trip_s: float = 0.04, udp_bps: float = 0.0
) -> Mix:
    """Return flows over 10 Mbit/s; the queue has so many bandwidth-delay products."""
    return Mix(
        rate_bps=10e6,
        round_trip_s=round_trip_s,
        queue_packets=queue_of(10e6, round_trip_s, products=products),
        controls=tuple(controls.split()),
        udp_bps=udp_bps,
        overhead_bytes=ETHERNET_BYTES,
        token_bucket_bytes=1_600,
        jitter_s=JITTER_S,
        tcp=_LINUX,
    )


#: Chosen before any was run: each control alone and with each other, shallow and deep queues (in
#: bandwidth-delay products), short and long paths.
MIXES = {
    "cubic, queue of 0.25, 100 ms": _mix("cubic", products=0.25, round_trip_s=0.1),
    "cubic cubic, queue of 1, 40 ms": _mix("cubic cubic", products=1),
    "reno, queue of 0.5, 100 ms": _mix("reno", products=0.5, round_trip_s=0.1),
    "reno cubic, queue of 1, 40 ms": _mix("reno cubic", products=1),
    "reno cubic, queue of 4, 10 ms": _mix("reno cubic", products=4, round_trip_s=0.01),
    "bbr, queue of 0.5, 40 ms": _mix("bbr", products=0.5),
    "bbr bbr, queue of 8, 40 ms": _mix("bbr bbr", products=8),
    "bbr cubic, queue of 1, 40 ms": _mix("bbr cubic", products=1),
    "bbr cubic, queue of 4, 40 ms": _mix("bbr cubic", products=4),
    "bbr reno, queue of 2, 40 ms": _mix("bbr reno", products=2),
    "bbr cubic, queue of 2, 100 ms": _mix("bbr cubic", products=2, round_trip_s=0.1),
    "cubic with 3 Mbit/s of UDP, queue of 2, 10 ms": _mix(
        "cubic", products=2, round_trip_s=0.01, udp_bps=3e6
    ),
    "bbr with 3 Mbit/s of UDP, queue of 1, 40 ms": _mix("bbr", products=1, udp_bps=3e6),
    "reno with 3 Mbit/s of UDP, queue of 1, 40 ms": _mix("reno", products=1, udp_bps=3e6),
}


def run_mix(mix: Mix) -> Got:
    """Run a mix once in the kernel; again where the machine was too busy, whatever came out."""
    for _ in range(MOST_TRIALS):
        with kernel_path.dumbbell(
            rate_bps=round(mix.rate_bps),
            delay_s=mix.round_trip_s / 2,
            queue_packets=mix.queue_packets,
        ) as names:
            got = kernel_path.measure_mix(names, mix)
        median_ms, most_ms = ms_from_s(names.median_late_s), ms_from_s(names.most_late_s)
        sys.stderr.write(f"  frames late by {median_ms:.3f} ms, one in 1000 by {most_ms:.1f} ms\n")
        if names.most_late_s <= LATEST_S:
            return got
    sys.exit(f"the machine is too busy: {MOST_TRIALS} trials were late; stop what else runs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    if (reason := kernel_path.why_not()) is not None:
        sys.exit(f"the kernel cannot be run here: {reason}")
    for name in given.names or MIXES:
        found = []
        for number in range(1, given.runs + 1):
            sys.stderr.write(f"{name}: run {number} of {given.runs}\n")
            found.append(run_mix(MIXES[name]))
        keep_runs(given.out, name, found, of=f"Linux {platform.release()}")


if __name__ == "__main__":
    main()
