"""A path as the engine's links: the shared ones in both directions, and those of each end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from trafficgen.errors import SimulationError
from trafficgen.formatting import suggest_name
from trafficgen.simulation.path import (
    LARGEST_BURST_BYTES,
    LARGEST_PACKET_BYTES,
    Path,
    PathLink,
    Queue,
)
from trafficgen.simulation.traces import Capacity, Way, capacity_of_steps, load_trace
from trafficgen.units import bytes_from_bps

#: Default queue: that of a small router, or twice the bandwidth-delay product.
SMALLEST_DEFAULT_QUEUE_PACKETS = 50
DEFAULT_QUEUE_BANDWIDTH_DELAYS = 2
#: An end's own link queues as much as a Linux interface does by default (txqueuelen).
ACCESS_QUEUE_PACKETS = 1000
DEFAULT_REORDER_DELAY_S = 0.01
#: A policer's bucket holds what its rate sends in this time: the default of policers by a share of
#: the rate in Cisco IOS (ME 3800X and 3600X Switch Software Configuration Guide, OL-23400-01,
#: `police`).
DEFAULT_POLICER_BURST_S = 0.25
#: From a transmission of LTE to its repetition: 3GPP TS 36.321, eight subframes of 1 ms (FDD).
DEFAULT_HARQ_DELAY_S = 0.008


@dataclass
class Links:
    """The links of a scenario; those of each end are added agent by agent."""

    access_bps: float | None  #: rate of each end's own link, bit/s; None: none
    #: Links as the engine reads them.
    configs: list[dict[str, object]] = field(default_factory=list)
    #: Numbers of the shared links towards the client.
    forward: list[int] = field(default_factory=list)
    #: Numbers of the shared links towards the server.
    reverse: list[int] = field(default_factory=list)
    #: Mean capacity of the narrowest link towards the client, bit/s; None: no limit.
    rate_bps: float | None = None

    @classmethod
    def from_path(cls, path: Path) -> Links:
        """Return the shared links of a path; raise InputFileError if a trace cannot be used."""
        links = cls(access_bps=path.access_bps)
        rates = [] if path.access_bps is None else [path.access_bps]
        for link in path.links:
            capacity = _capacity(link, link.rate_bps, link.trace, "to_client")
            rates += [] if capacity.mean_bps is None else [capacity.mean_bps]
            links.forward.append(links._add(_forward(link, capacity, path.round_trip_s)))
        for link in reversed(path.links):
            links.reverse.append(links._add(_reverse(link, path.round_trip_s)))
        links.rate_bps = min(rates) if rates else None
        return links

    def route(
        self, agent: str, *, via: str | None = None, is_upload: bool = False
    ) -> tuple[list[int], list[int]]:
        """Return the links of an agent towards its client and towards its server.

        Raises:
            SimulationError: If the path has no link ``via``, the only one that the agent passes.
        """
        forward, reverse = self._shared(agent, via)
        if is_upload:
            forward, reverse = reverse, forward
        if self.access_bps is None:
            return forward, reverse
        ends = ("server-out", "client-in", "client-out", "server-in")
        out, into, back_out, back_into = (
            self._add(_access(f"{agent}/{end}", self.access_bps)) for end in ends
        )
        return [out, *forward, into], [back_out, *reverse, back_into]

    def _shared(self, agent: str, via: str | None) -> tuple[list[int], list[int]]:
        """Return the shared links that an agent passes: all, or the one it names."""
        if via is None:
            return self.forward, self.reverse
        names = [str(self.configs[number]["name"]) for number in self.forward]
        if via not in names:
            guess = suggest_name(via, names)
            raise SimulationError(
                f"{agent}: the path has no link {via!r}{guess}; via is one of {', '.join(names)}"
            )
        place = names.index(via)
        return [self.forward[place]], [self.reverse[-1 - place]]

    def _add(self, config: dict[str, object]) -> int:
        self.configs.append(config)
        return len(self.configs) - 1


def _access(name: str, rate_bps: float) -> dict[str, object]:
    return {
        "name": name,
        "capacity": {"constant": {"rate_bps": rate_bps}},
        "queue": {"packets": ACCESS_QUEUE_PACKETS},
    }


def _capacity(link: PathLink, rate_bps: float | None, trace: str | None, way: Way) -> Capacity:
    """Return the capacity of a trace, else of a rate; None: no limit."""
    overhead_bytes = link.overhead_bytes
    if trace is not None:
        capacity = load_trace(trace, period_s=link.trace_period_s, way=way)
        return (
            capacity if overhead_bytes is None else replace(capacity, overhead_bytes=overhead_bytes)
        )
    if link.steps is not None and rate_bps is None:
        return replace(capacity_of_steps(link.steps), overhead_bytes=overhead_bytes or 0)
    if rate_bps is None:
        return Capacity(None, None, overhead_bytes or 0)
    config: dict[str, object] = {"constant": {"rate_bps": rate_bps}}
    burst_bytes = _burst_bytes(link)
    if burst_bytes is not None:
        config = {"token_bucket": {"rate_bps": rate_bps, "burst_bytes": burst_bytes}}
    return Capacity(config, rate_bps, overhead_bytes or 0)


def _burst_bytes(link: PathLink) -> int | None:
    """Return the size of the token bucket; None: a line."""
    if link.burst_bytes is not None or not link.policer:
        return link.burst_bytes
    burst_bytes = round(bytes_from_bps(link.rate_bps or 0.0, DEFAULT_POLICER_BURST_S))
    packet_bytes = LARGEST_PACKET_BYTES + (link.overhead_bytes or 0)
    return min(max(burst_bytes, packet_bytes), LARGEST_BURST_BYTES)


def _queue(given: Queue | None, capacity: Capacity, round_trip_s: float) -> dict[str, int] | None:
    if capacity.mean_bps is None:
        return None
    if given is None:
        in_flight_bytes = bytes_from_bps(capacity.mean_bps, round_trip_s)
        packets = round(DEFAULT_QUEUE_BANDWIDTH_DELAYS * in_flight_bytes / LARGEST_PACKET_BYTES)
        return {"packets": max(SMALLEST_DEFAULT_QUEUE_PACKETS, packets)}
    if given.packets is not None:
        return {"packets": given.packets}
    return {"bytes": given.size_bytes or 0}


def _aqm(link: PathLink) -> dict[str, object]:
    """Return the link's active queue management as a part of the engine's link."""
    if link.aqm is None:
        return {}
    times = {"target_s": link.aqm_target_s, "interval_s": link.aqm_interval_s}
    return {"aqm": {"kind": link.aqm, "ecn": link.ecn, **times}}


def _radio(link: PathLink) -> dict[str, object]:
    """Return fades, repetitions and handovers of a radio link as a part of the engine's link."""
    parts: dict[str, object] = {}
    if link.fade_every_s is not None:
        times = {"every_s": link.fade_every_s, "lasts_s": link.fade_s}
        parts["fade"] = {**times, "loss": link.fade_loss}
    if link.harq > 0:
        delay_s = DEFAULT_HARQ_DELAY_S if link.harq_delay_s is None else link.harq_delay_s
        parts["harq"] = {"share": link.harq, "delay_s": delay_s}
    if link.handover_every_s is not None:
        parts["handover"] = {"every_s": link.handover_every_s, "lasts_s": link.handover_s}
    return {"radio": parts} if parts else {}


def _jitter(link: PathLink) -> dict[str, object]:
    return {"delay_jitter_s": link.delay_jitter_s} if link.delay_jitter_s > 0 else {}


def _forward(link: PathLink, capacity: Capacity, round_trip_s: float) -> dict[str, object]:
    loss = {
        "rate": link.loss,
        "mean_burst_packets": link.loss_burst_packets,
        "start_s": link.loss_start_s,
        "stop_s": link.loss_stop_s,
    }
    later_s = DEFAULT_REORDER_DELAY_S if link.reorder_delay_s is None else link.reorder_delay_s
    return {
        "name": link.name,
        "capacity": capacity.config,
        "delay_s": link.delay_s,
        **_jitter(link),
        "queue": None if link.policer else _queue(link.queue, capacity, round_trip_s),
        "hold_in_flight": link.hold_in_flight,
        "overhead_bytes": capacity.overhead_bytes,
        "loss": loss if link.loss > 0 else None,
        "reorder": {"share": link.reorder, "delay_s": later_s} if link.reorder > 0 else None,
        **({"policer": True} if link.policer else _aqm(link)),
        **_radio(link),
    }


def _reverse(link: PathLink, round_trip_s: float) -> dict[str, object]:
    rate_bps, trace = link.reverse_rate_bps, None
    if rate_bps is None:  # one file may have both directions
        rate_bps, trace = link.rate_bps, link.reverse_trace or link.trace
    capacity = _capacity(link, rate_bps, trace, "to_server")
    return {
        "name": f"{link.name}/reverse",
        "capacity": capacity.config,
        "delay_s": link.delay_s if link.reverse_delay_s is None else link.reverse_delay_s,
        **_jitter(link),
        "queue": _queue(link.reverse_queue or link.queue, capacity, round_trip_s),
        "hold_in_flight": link.hold_in_flight,
        "overhead_bytes": capacity.overhead_bytes,
        "loss": {"rate": link.reverse_loss} if link.reverse_loss > 0 else None,
        **(_aqm(link) if capacity.config is not None else {}),
        **_radio(link),
    }
