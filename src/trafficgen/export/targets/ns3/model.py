"""Laws of a fitted model for ns-3: one OnOffApplication for each phase of each stream.

``OnOffApplication`` (src/applications of ns-3, run in 3.37 and 3.44) alternates between a time off
and a time on, in which packets of one size leave at one rate, the first after one packet's time.
What is left of a packet at the end of a time on counts for the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trafficgen.distributions.two_samples import ks_distance
from trafficgen.errors import ExportError
from trafficgen.export.model_laws import model_report, play_phase
from trafficgen.export.sending_ends import ports_from
from trafficgen.export.settings import Settings
from trafficgen.export.target import Written
from trafficgen.export.targets.ns3.laws import (
    Ns3Law,
    constant_law,
    exact_law,
    nearest_law,
    table_law,
)
from trafficgen.export.targets.ns3.scenario import (
    FlowRow,
    model_how_to_run,
    write_flows,
    write_scenario,
)
from trafficgen.models import BurstProcess, FittedProvenance, Model, Phase, RenewalProcess, Stream
from trafficgen.processes.base import PlayedPackets
from trafficgen.randomness import random_stream
from trafficgen.simulation.sources import PATH_LIMITED_SHARE
from trafficgen.units import FloatArray, IntArray, bps_from_bytes, bytes_from_bps, ns_from_s

#: Packets that are played to find times on and off, and to measure distances.
_PLAYED_PACKETS = 50_000
#: Packets of a phase are counted over so long, s: rare ones have a rate too.
_LONG_S = 1e6
_MEAN_OF, _FEWEST_CYCLES = 1000, 100
#: Time on of a packet that stands alone, s: far shorter than gaps of packets, and whole
#: nanoseconds.
_SINGLE_PACKET_S = 1e-7
#: Shortest time between packets of a burst, s, and what a time on is longer than its packets take:
#: where it ends with its last packet, ns-3 would send that one with the next burst.
_SHORTEST_GAP_S, _MARGIN_S = 1e-6, 1e-9
_COMPARED_S = 1e-6
_NEARLY_ALL = 0.95
_COLUMNS = "stream,phase,protocol,port,start_s,stop_s,on_time,off_time,data_rate,packet_size"


@dataclass(frozen=True)
class OnOff:
    """The attributes of an OnOffApplication.

    Attributes:
        data_rate_bps: Rate of the payload in the times on, bit/s.
    """

    on_s: Ns3Law
    off_s: Ns3Law
    data_rate_bps: int
    packet_bytes: int

    @property
    def packet_s(self) -> float:
        """Time that a packet takes of the times on, s."""
        return self.packet_bytes / bytes_from_bps(self.data_rate_bps, 1.0)

    def play(self, generator: np.random.Generator, cycles: int) -> tuple[FloatArray, IntArray]:
        """Return the time of each packet, s, and its cycle, both of shape (packets,)."""
        on_s, off_s = self.on_s.sample(generator, cycles), self.off_s.sample(generator, cycles)
        ends_s = np.cumsum(on_s) + _MARGIN_S
        on_clock_s = np.arange(1, int(ends_s[-1] / self.packet_s) + 1) * self.packet_s
        cycle = np.minimum(np.searchsorted(ends_s, on_clock_s), cycles - 1)
        return on_clock_s + np.cumsum(off_s)[cycle], cycle


@dataclass(frozen=True)
class _Application:
    """A phase and its application."""

    number: int
    index: int
    stream: Stream
    phase: Phase
    on_off: OnOff
    played: PlayedPackets

    @property
    def bursts(self) -> IntArray | None:
        """Index of the first packet of each burst that was played; None if packets stand alone."""
        return _bursts(self.phase, self.played)

    @property
    def laws(self) -> tuple[tuple[str, Ns3Law], tuple[str, Ns3Law]]:
        """Value of the attribute, or name of the table's file, and law, of the times on and off."""
        stem = f"flow{self.number}.phase{self.index}"
        on, off = self.on_off.on_s, self.on_off.off_s
        return (on.variable or f"{stem}.on.csv", on), (off.variable or f"{stem}.off.csv", off)

    def row(self, port: int) -> str:
        """Return its line of ``applications.csv``."""
        name = "".join(
            letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "_"
            for letter in self.stream.name
        )
        phase, on_off, (on, off) = self.phase, self.on_off, self.laws
        span = f"{phase.start_s:.9f},{phase.end_s:.9f}"
        protocol = self.stream.transport.protocol
        rate_and_size = f"{on_off.data_rate_bps}bps,{on_off.packet_bytes}"
        return f"{name},{phase.name},{protocol},{port},{span},{on[0]},{off[0]},{rate_and_size}"


def write_ns3_model(model: Model, folder: Path, settings: Settings) -> Written:
    """Write the OnOffApplications that draw a model's law, and a scenario that runs them.

    Times on and off that ns-3 has no random variable for are written as tables
    (``EmpiricalRandomVariable``).

    Raises:
        ExportError: If a phase is neither a renewal process nor bursts and ``approximate`` is off,
            or its gaps or bursts are farther from the model's than ``largest_ks``.
    """
    ports = ports_from(settings.whole("first_port"), len(model.streams), target="ns3")
    applications = [
        _application(model, number, index, settings)
        for number, stream in enumerate(model.streams)
        for index in range(len(stream.phases))
    ]
    distances: dict[str, float] = {}
    for part in applications:
        distances |= _distances(part, settings)
    rows = [_COLUMNS, *(part.row(ports[part.number]) for part in applications)]
    (folder / "applications.csv").write_text("\n".join(rows) + "\n", encoding="ascii")
    names = ["applications.csv"]
    for name, law in (named for part in applications for named in part.laws):
        if law.variable is None:
            (folder / name).write_text(law.table_text(), encoding="ascii")
            names.append(name)
    flows = [
        _flow_row(number, stream, ports[number], applications)
        for number, stream in enumerate(model.streams)
    ]
    names += [*write_flows(flows, folder), *write_scenario(folder, settings, mode="onoff")]
    report = model_report("ns3", names, list(_lacks(model, applications)), distances)
    return Written(report, model_how_to_run())


def _application(model: Model, number: int, index: int, settings: Settings) -> _Application:
    stream = model.streams[number]
    phase = stream.phases[index]
    process = phase.process
    place = f"phase {phase.name} of stream {stream.name}"
    if not isinstance(process, RenewalProcess | BurstProcess) and not settings.flag("approximate"):
        raise ExportError(
            f"ns3: {place} is of the kind {process.kind}, whose dependence OnOffApplication cannot"
            " draw; generate packets and export those, or take gaps and sizes as independent with"
            " [--set approximate=on]"
        )
    played = play_phase(
        phase, place, packets=_PLAYED_PACKETS, over_s=_LONG_S, purpose=place, target="ns3"
    )
    packet_bytes = max(1, _packet_bytes(played) - stream.transport.header_bytes)
    on_off = _on_off(phase, played, packet_bytes, _link_bps(model, stream), settings.text("laws"))
    return _Application(number, index, stream, phase, on_off, played)


def _packet_bytes(played: PlayedPackets) -> int:
    """Return the size of all packets: that of nearly all packets, or the mean."""
    sizes, counts = np.unique(played.ip_bytes, return_counts=True)
    if counts.max() >= _NEARLY_ALL * played.ip_bytes.size:
        return int(sizes[counts.argmax()])
    return round(float(played.ip_bytes.mean()))


def _link_bps(model: Model, stream: Stream) -> float:
    """Return the rate of the captured link that TCP paced the stream by; infinite if none did."""
    provenance = model.provenance
    if stream.transport.protocol != "tcp" or not isinstance(provenance, FittedProvenance):
        return math.inf
    estimate = provenance.conditions.link_rate_bps
    return math.inf if estimate is None else estimate.value


def _on_off(
    phase: Phase, played: PlayedPackets, packet_bytes: int, link_bps: float, laws: str
) -> OnOff:
    projected = table_law if laws == "tables" else nearest_law
    starts = _bursts(phase, played)
    if starts is None:
        known = (
            exact_law(phase.process.gap_s) if isinstance(phase.process, RenewalProcess) else None
        )
        pauses_s = np.maximum(np.diff(played.time_s) - _SINGLE_PACKET_S, 0.0)
        rate_bps = round(bps_from_bytes(packet_bytes, _SINGLE_PACKET_S))
        return OnOff(
            constant_law(_SINGLE_PACKET_S), known or projected(pauses_s), rate_bps, packet_bytes
        )
    is_within = np.ones(played.time_s.size - 1, dtype=np.bool_)
    is_within[starts[1:] - 1] = False
    mean_gap_s = float(np.diff(played.time_s)[is_within].mean())
    if mean_gap_s * PATH_LIMITED_SHARE * link_bps <= bps_from_bytes(packet_bytes, 1.0):
        mean_gap_s = 0.0  # the source wrote the burst at once, the link spread its packets
    mean_gap_s = max(mean_gap_s, _SHORTEST_GAP_S)
    rate_bps = max(1, round(bps_from_bytes(packet_bytes, mean_gap_s)))
    on_s = np.diff(starts) * (packet_bytes / bytes_from_bps(rate_bps, 1.0)) + _MARGIN_S
    pauses_s = np.maximum(np.diff(played.time_s[starts]) - on_s, 0.0)
    return OnOff(projected(on_s), projected(pauses_s), rate_bps, packet_bytes)


def _bursts(phase: Phase, played: PlayedPackets) -> IntArray | None:
    """Return the index of the first packet of each burst; None where packets stand alone."""
    starts = played.burst_starts
    if not isinstance(phase.process, BurstProcess) or starts is None or starts.size < 2:
        return None
    return starts if np.diff(starts).max() > 1 else None


def _distances(part: _Application, settings: Settings) -> dict[str, float]:
    """Return the distances between what ns-3 draws and the model, of sizes, gaps and bursts.

    Raises:
        ExportError: If those that it is to draw, of gaps or of bursts, are too far.
    """
    place = f"{part.stream.name}.{part.phase.name}"
    generator = random_stream(0, session=0, purpose=f"{place}/onoff")
    mean_on_s = float(part.on_off.on_s.sample(generator, _MEAN_OF).mean())
    cycles = max(_FEWEST_CYCLES, round(_PLAYED_PACKETS * part.on_off.packet_s / mean_on_s))
    time_s, cycle = part.on_off.play(generator, cycles)
    payload = part.played.ip_bytes.astype(np.int64) - part.stream.transport.header_bytes
    size_bytes = part.on_off.packet_bytes
    found = {
        "packet_bytes": max(
            float(np.mean(payload < size_bytes)), float(np.mean(payload > size_bytes))
        ),
        "gap_s": ks_distance(_in_us(np.diff(time_s)), _in_us(np.diff(part.played.time_s))),
    }
    judged = ["gap_s"]
    if part.bursts is not None:
        _, starts, counts = np.unique(cycle, return_index=True, return_counts=True)
        found["burst_packets"] = ks_distance(counts, np.diff(part.bursts))
        spacing_s = np.diff(part.played.time_s[part.bursts])
        found["burst_spacing_s"] = ks_distance(_in_us(np.diff(time_s[starts])), _in_us(spacing_s))
        judged = ["burst_packets", "burst_spacing_s"]  # within a burst, gaps are the mean one
    for metric in judged:
        if found[metric] > settings.number("largest_ks"):
            raise ExportError(
                f"ns3: {metric} of phase {part.phase.name} of stream {part.stream.name} as"
                f" OnOffApplication draws it is {found[metric]:.2f} (KS) from the model's; generate"
                " packets and export those, or accept it with"
                f" [--set largest_ks={min(1.0, found[metric] + 0.01):.2f}]"
            )
    return {f"{place}.{metric}.ks": distance for metric, distance in found.items()}


def _in_us(time_s: FloatArray) -> FloatArray:
    """Return times in whole microseconds: packets at one time are as good as a moment apart."""
    return np.asarray(np.rint(time_s / _COMPARED_S))


def _flow_row(number: int, stream: Stream, port: int, applications: list[_Application]) -> FlowRow:
    parts = [part for part in applications if part.number == number]
    packets = sum(
        part.phase.duration_s / float(np.diff(part.played.time_s).mean()) for part in parts
    )
    return FlowRow(
        flow=number,
        protocol=stream.transport.protocol,
        port=port,
        first_ns=ns_from_s(stream.phases[0].start_s),
        last_ns=ns_from_s(stream.phases[-1].end_s),
        packets=round(packets),
        largest_payload_bytes=max(part.on_off.packet_bytes for part in parts),
    )


def _lacks(model: Model, applications: list[_Application]) -> Iterator[str]:
    yield (
        "packet sizes: each phase has one, the mean or that of nearly all packets, so that its rate"
        " stays"
    )
    if any(part.bursts is not None for part in applications):
        yield "gaps within bursts: the mean one; none where bursts filled the captured link"
        yield "correlation between bursts: times on and off are independent"
    if any(
        not isinstance(part.phase.process, RenewalProcess | BurstProcess) for part in applications
    ):
        yield "dependence: gaps of processes other than renewal and bursts are independent"
    if len(applications) > len(model.streams):
        yield "one connection for all phases: each phase has its own socket"
    if any(stream.transport.protocol == "tcp" for stream in model.streams):
        yield (
            "the captured path's TCP: times on and off are those of the application, segments are"
            " ns-3's"
        )
    if model.population is not None:
        yield "how sessions differ: the most typical one is written"
    yield "the silence before the first packet"
