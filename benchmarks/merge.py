"""Merging the parts of a workload into one file, beside ``cp`` of that file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Contestant, race, role, run_once, sweep, work_folder
from benchmarks.models import models_in
from benchmarks.results import Race, Sweep, powers_of_ten

_SMALLEST = 100_000
_FULL_FRAME_BYTES = 1_100
_SNAPLEN_RECORD_BYTES = 200  # a record and its part, generously
#: File -> what it is, and how the names of the roles that write it end.
_KINDS = {
    "whole.pcap": ("pcap, whole frames", ""),
    "headers.pcap": ("pcap of 64 bytes a frame", "_headers"),
    "table.parquet": ("Parquet", ""),
}


def results(*, packets: int, runs: int, folder: Path | None) -> Iterator[Race | Sweep]:
    """Give a race for each kind of file, and a sweep over sizes."""
    whole = max(_SMALLEST, packets // 5)
    needed_bytes = 3 * max(whole * _FULL_FRAME_BYTES, packets * _SNAPLEN_RECORD_BYTES)
    with work_folder(needed_bytes, folder) as work:
        model = models_in(work)["tcp"]
        for name, (described, ending) in _KINDS.items():
            count = whole if name == "whole.pcap" else packets
            file, copy = work / name, work / f"copy-{name}"
            run_once(role(f"workload_1{ending}", model, count, file))
            size_bytes = file.stat().st_size
            outcomes = race(
                [
                    Contestant(
                        "merge of parts",
                        role(f"merge{ending}", model, count, copy),
                        count,
                        size_bytes,
                        copy,
                    ),
                    Contestant(
                        "cp of the file", role("copy", file, count, copy), count, size_bytes, copy
                    ),
                    Contestant(
                        "generate, merge, write",
                        role(f"workload_1{ending}", model, count, copy),
                        count,
                        size_bytes,
                        copy,
                    ),
                ],
                runs=runs,
            )
            file.unlink()
            yield Race(
                f"A workload of {count:,} packets to {described}, {size_bytes / 1e6:.0f} MB, one"
                " process",
                outcomes[0],
                outcomes[1:],
                remark=(
                    "merge and cp write to memory that was touched just before; a first touch costs"
                    " either more"
                ),
            )
        out = work / "headers.pcap"
        yield sweep(
            "Merging parts to a pcap of 64 bytes a frame",
            "packets",
            powers_of_ten(_SMALLEST, packets),
            lambda size: Contestant(
                "merge of parts", role("merge_headers", model, size, out), size, 0, out
            ),
        )
