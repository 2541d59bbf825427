"""Options of `trafficgen simulate`, declared once for the function and the command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trafficgen.capture.options import memory_option
from trafficgen.options import Option, offer, option, seed_option
from trafficgen.packet_files.formats import View, format_option
from trafficgen.standard_streams import output_path
from trafficgen.units import parse_duration_s

if TYPE_CHECKING:
    from pydantic import JsonValue

    from trafficgen.simulation.competitors import Competitor
    from trafficgen.simulation.path import PathLike
else:  # the command line, which offers none of these fields, loads nothing for them
    JsonValue = Competitor = PathLike = Any


PATH_HELP = (
    "The path: keys such as rate=725kbps,delay=45ms,queue=80p,loss=0.03,loss_start=15s, a named"
    " path such as preset:lte (see `trafficgen models list --paths`) and keys that change it,"
    " recorded (of a fitted model: the path of its capture) and such keys, or a YAML or JSON file"
    " with them. Keys: rate (default: no limit), steps=0s:2Mbps/30s:1Mbps or trace=FILE (mahimahi,"
    " CSV or JSON), delay (one way; 0), delay_jitter (mean of what packets take"
    " longer; 0), queue (80p or 10kB; default: the larger of 50 packets and"
    " twice the bandwidth-delay product), aqm (red, pie, codel, fq_codel or dualpi2, or"
    " priority: the media first; default: drop-tail), aqm_target (5ms; pie,"
    " dualpi2: 15ms), aqm_interval (100ms; pie: 15ms, red:"
    " 500ms), ecn=on (mark instead of drop; off), burst (token bucket), policer=on (drop what"
    " finds no tokens; off; its burst: 250ms of the rate), loss, loss_start, loss_stop,"
    " loss_burst, access (rate of each end's own link), reverse_rate, reverse_delay,"
    " reverse_queue, reverse_loss (default: as forward,"
    " without loss), hold=in_flight, overhead, reorder, reorder_delay, fade, fade_every, fade_loss,"
    " harq, harq_delay (8ms), handover, handover_every."
)


@dataclass(frozen=True, kw_only=True)
class SimulateOptions:
    """Path, competing flows and settings of a simulation.

    Attributes:
        path: The path: a list such as ``rate=725kbps,delay=45ms,queue=80p``, a YAML or JSON file, a
            dictionary with the same keys, one of :meth:`~trafficgen.Path.presets`, or a
            :class:`~trafficgen.Path`; ``recorded`` is that of the capture of a fitted model.
        compete: Competing flows, such as ``tcp@-10s``, ``cbr:200kbps``, ``ping`` or a model's name.
        settings: Options and parameters of a published model.
        runs: Repeat the session this many times with other seeds, so that ``answers`` of the result
            has intervals. A fitted model also draws again what its capture leaves open: policy,
            buffer, rungs that were not visited, laws.
        at: End of the path whose view a pcap or CSV shows.
    """

    path: PathLike = field(metadata=offer(Option(("--path",), PATH_HELP, "PATH", str)))
    compete: str | Iterable[str | Competitor] = ()
    settings: Mapping[str, JsonValue] | None = None
    duration_s: float | None = option(
        None,
        "--duration",
        help=(
            "Stop the session after this time, such as 20min (60 is 60 s); default: it ends by"
            " itself."
        ),
        metavar="TIME",
        parse=parse_duration_s,
    )
    tcp: str | None = option(
        None,
        "--tcp",
        help=(
            "Play the media over TCP with this congestion control: cubic, reno, bbr or bbr3;"
            " default: the model's, else cubic."
        ),
        metavar="CONTROL",
        values=("cubic", "reno", "bbr", "bbr3"),
    )
    quic: str | None = option(
        None,
        "--quic",
        help=(
            "Play the media over QUIC with this congestion control: cubic, reno, bbr or bbr3, with"
            " settings in brackets such as cubic(zero_rtt=true); default: over what the model was"
            " fitted to."
        ),
        metavar="CONTROL",
    )
    runs: int = option(
        1,
        "--runs",
        help=(
            "Repeat the session this many times with other seeds and report intervals; a fitted"
            " model also draws again what its capture leaves open."
        ),
        low=1,
    )
    seed: int = seed_option()
    out: str | Path | None = option(
        None,
        *("-o", "--out"),
        help="Write the packets too: .parquet, .csv, .pcap or .pcapng; - is standard output.",
        metavar="OUT",
        parse=output_path,
    )
    to_format: str | None = format_option()
    at: View = "sender"
    memory_bytes: int | None = memory_option()
