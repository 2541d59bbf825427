"""Results of a simulation: session, flows and series, as `trafficgen simulate --json` has them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from trafficgen.data_frames import data_frame
from trafficgen.formatting import format_count, format_quantity, number, one_line
from trafficgen.notebook import NotebookView
from trafficgen.options import checks_arguments
from trafficgen.simulation.measures import (
    INTERVAL_S,
    Bins,
    BudgetShare,
    Delay,
    IntervalMeasure,
    delays,
    interval_measure,
    judge_budgets,
)
from trafficgen.simulation.outcome import TotalsDict
from trafficgen.simulation.run import Run, packet_table
from trafficgen.simulation.session_events import SessionEvents
from trafficgen.simulation.sources import STREAMS
from trafficgen.tables import DEFAULT_ORIGIN_NS, MEDIA, PHASES, PacketTable
from trafficgen.units import FloatArray, kbps_from_bps, s_from_ns

if TYPE_CHECKING:
    import pandas as pd

_SESSION = 0
#: What answers are called.
_QUANTITIES = {
    "mean_kbps": "mean rate",
    "duration_s": "length",
    "loss_rate": "loss",
    "startup_s": "start-up",
    "mean_rung_kbps": "mean rung",
    "switches_per_min": "switches a minute",
    "stalls": "stalls",
    "stalled_s": "time in stalls",
}


@dataclass(frozen=True)
class FlowResult:
    """One flow, or the sum of a session's media.

    Attributes:
        name: ``media``, the medium of a stream, or the name of a competing flow.
        agent: Number of its participant.
        flows: Numbers of the flows that it sums.
        measure: From the first to the last media packet.
        delay_s: One-way delay of its packets in this interval, s.
        round_trip_s: Round-trip times of a ping, s; None of other flows.
        unanswered: Share of pings without an answer; None of other flows.
    """

    name: str
    agent: int
    flows: tuple[int, ...]
    measure: IntervalMeasure
    delay_s: Delay
    round_trip_s: Delay | None = None
    unanswered: float | None = None

    def to_json(self) -> dict[str, object]:
        """Return the flow as in the JSON of `simulate`."""
        found: dict[str, object] = {
            "name": self.name,
            "mean_kbps": self.measure.rate_kbps,
            "offered_kbps": self.measure.offered_kbps,
            "loss": self.measure.loss,
            "delay_s": asdict(self.delay_s),
            "retransmissions": self.measure.retransmissions,
        }
        if self.round_trip_s is not None:
            found |= {"rtt_s": asdict(self.round_trip_s), "unanswered": self.unanswered}
        return found


@dataclass(frozen=True)
class Answer:
    """What a session measures on a path, and how sure that is.

    Attributes:
        name: What it is, with its unit, such as ``mean_rung_kbps``.
        recorded: In the capture that the model was fitted to; None where that is not known.
        value: In the first run, with what is likeliest; None: it did not happen.
        low: A further run is below it with a chance of 2.5%; of fewer than 40, the smallest.
        high: A further run is above it with a chance of 2.5%; of fewer than 40, the largest.
        runs: How many runs there were.
        missing: Runs in which it did not happen, such as a playback that never starts.
    """

    name: str
    recorded: float | None
    value: float | None
    low: float
    high: float
    runs: int
    missing: int = 0

    def to_texts(self) -> dict[str, str]:
        """Return what it is, recorded and here, with its interval, as a row of a table."""
        recorded, value, low, high = (
            "-" if one is None else format_quantity(self.name, one)
            for one in (self.recorded, self.value, self.low, self.high)
        )
        never = f", never in {self.missing} of {self.runs} runs" if self.missing else ""
        return {
            "quantity": _QUANTITIES[self.name],
            "recorded": recorded,
            "here": value,
            f"95% by {self.runs} runs": f"{low} to {high}{never}",
        }


@dataclass(frozen=True, eq=False)
class SimulationResult(NotebookView):
    """Result of one session and its competing flows.

    Attributes:
        run: The simulation.
        notes: How it was made: model, digest, settings, path, competing flows, seed.
        answers: Results of several runs, with intervals; empty after a single one.

    Example:
        >>> import trafficgen
        >>> path = "rate=725kbps,delay=45ms"
        >>> result = trafficgen.simulate("wmedia9_nichols2004", path=path, duration_s=30)
        >>> result
        <SimulationResult of wmedia9_nichols2004: 24.74 s, 471.3 kbit/s, 0% lost, 0 stalls, seed 0>
        >>> phase = result.buffering
        >>> print(f"{phase.duration_s:.1f} s of buffering at {phase.rate_kbps:.0f} kbit/s")
        8.8 s of buffering at 668 kbit/s
        >>> float(result.series_time_s[result.series["media_kbps"].argmax()])
        4.0
    """

    run: Run
    notes: Mapping[str, object]
    answers: tuple[Answer, ...] = ()

    def __repr__(self) -> str:
        media = self.flows[0].measure
        others = sum(not one.is_session for one in self.run.participants)
        parts = [
            f"{number(self.end_s)} s",
            f"{number(media.rate_kbps)} kbit/s",
            f"{number(100 * media.loss, digits=3)}% lost",
            *([format_count(len(self.events.stalls), "stall")] if self.has_player else []),
            *([format_count(others, "competitor")] if others else []),
        ]
        model = one_line(self.notes.get("model", "a source"))
        return f"<SimulationResult of {model}: {', '.join(parts)}, seed {self.seed}>"

    def _notebook_data(self) -> dict[str, object]:
        data = self.to_json()
        return {key: data[key] for key in ("session", "flows", "links")}

    @property
    def seed(self) -> int:
        """Seed of the simulation."""
        return self.run.seed

    @checks_arguments
    def packets(self, *, origin_ns: int = DEFAULT_ORIGIN_NS) -> PacketTable:
        """Return the packets of all flows; times count from the first of them."""
        return packet_table(self.run, origin_ns=origin_ns, notes=dict(self.notes))

    @cached_property
    def links(self) -> list[dict[str, Any]]:
        """Counters of the links with their names; bytes are IP bytes."""
        pairs = zip(self.run.config["links"], self.run.outcome.links, strict=True)
        return [{"name": config["name"], **counters} for config, counters in pairs]

    @cached_property
    def events(self) -> SessionEvents:
        """Moments of the session's log.

        A fitted model buffers up to its last packet of that phase: its playout may begin with a
        pause.
        """
        zero_ns = self.run.time_zero_ns
        log = SessionEvents.read_log(self.run.agents[_SESSION], zero_ns=zero_ns, end_s=self.end_s)
        if self.planned_s is None or log.buffering() is None:
            return log
        outcome = self.run.outcome
        is_buffering = outcome.columns["phase"] == PHASES.index("buffering")
        sent = outcome.select_packets(self.media_flows, media_only=True) & is_buffering
        last_s = s_from_ns(int(outcome.columns["time_ns"][sent].max(initial=zero_ns)) - zero_ns + 1)
        phases = (
            (min(at_s, last_s) if name == "playout" else at_s, name) for at_s, name in log.phases
        )
        return replace(log, phases=tuple(phases))

    @cached_property
    def has_player(self) -> bool:
        """Whether a player is simulated: without one, nothing is known of stalls and start-up."""
        return bool(np.isfinite(self.run.agents[_SESSION]["samples"][:, 2]).any())

    @cached_property
    def planned_s(self) -> float | None:
        """How long a fitted model sends without a path, s; None for other sources."""
        times_ns = [schedule[0] for schedule in self.run.participants[_SESSION].source.schedules]
        ends = [(int(times[0]), int(times[-1])) for times in times_ns if times.size]
        if not ends:
            return None
        return s_from_ns(max(end for _, end in ends) - min(start for start, _ in ends))

    @cached_property
    def media_flows(self) -> list[int]:
        """Numbers of the session's flows that carry media to the client."""
        flows = self.run.flows_of(_SESSION, media_only=True)
        return [flow for flow in flows if self.run.flows[flow]["name"] not in self._upward]

    @cached_property
    def _upward(self) -> tuple[str, ...]:
        """Names of the streams that the session's client sends."""
        source = self.run.participants[_SESSION].source
        flows = source.parameters.get("flows")
        if source.kind != STREAMS or not isinstance(flows, list):
            return ()
        return tuple(flow["name"] for flow in flows if flow["direction"] == "up")

    @cached_property
    def arrivals_s(self) -> tuple[float, float]:
        """First to last arrival of media, s after the first sending; both 0 if none arrived."""
        totals = self._media_totals
        return self._span(totals["first_arrived_ns"], totals["last_arrived_ns"])

    @cached_property
    def sendings_s(self) -> tuple[float, float]:
        """First to last sending of media, s after the first; both 0 if none was sent."""
        return self._span(self._media_totals["first_sent_ns"], self._media_totals["last_sent_ns"])

    @cached_property
    def _media_totals(self) -> TotalsDict:
        return self.run.outcome.totals(self.media_flows, media_only=True)

    def _span(self, first_ns: int | None, last_ns: int | None) -> tuple[float, float]:
        if first_ns is None or last_ns is None:
            return 0.0, 0.0
        zero_ns = self.run.time_zero_ns
        # The last packet belongs to the interval that it ends.
        return s_from_ns(first_ns - zero_ns), s_from_ns(last_ns - zero_ns + 1)

    @property
    def end_s(self) -> float:
        """Last arrival of media, s after the first sending."""
        return self.arrivals_s[1]

    @cached_property
    def silence_s(self) -> float:
        """From the session's first packet to its first media packet, s; NaN if it sends none."""
        if self.run.outcome.first_media_ns is None:
            return math.nan
        flows = self.run.flows_of(_SESSION)
        firsts = [
            self.run.outcome.totals(flows, to_client=way)["first_sent_ns"] for way in (True, False)
        ]
        known = [first for first in firsts if first is not None]
        return s_from_ns(self.run.time_zero_ns - min(known)) if known else math.nan

    @cached_property
    def buffering(self) -> IntervalMeasure | None:
        """The source's buffering phase; None if it has none."""
        phase = self.events.buffering()
        if phase is None:
            return None
        start_s, end_s = phase
        if end_s is None:
            return self._to_the_end(start_s)
        sent_s = received_s = (start_s, end_s)
        return interval_measure(self.run, self.media_flows, received_s=received_s, sent_s=sent_s)

    @cached_property
    def playout(self) -> IntervalMeasure | None:
        """From the end of the buffering to the last media packet; None if buffering never ends."""
        start_s = self.events.playout_start_s()
        return None if start_s is None or start_s >= self.end_s else self._to_the_end(start_s)

    @cached_property
    def flows(self) -> list[FlowResult]:
        """The session's media, its streams if it has several, then the competing flows."""
        found = [self._flow("media", _SESSION, self.media_flows)]
        by_name: dict[str, list[int]] = {}
        for flow in self.media_flows:
            by_name.setdefault(MEDIA[self.run.flows[flow]["media"]], []).append(flow)
        if len(by_name) > 1:
            found += [self._flow(name, _SESSION, flows) for name, flows in by_name.items()]
        for agent, one in enumerate(self.run.participants):
            if not one.is_session:
                found.append(self._flow(one.name, agent, self.run.flows_of(agent)))
        return found

    @cached_property
    def uplinks(self) -> list[FlowResult]:
        """Streams that the session's client sends, over their own time; empty: it sends none."""
        found = []
        for name in self._upward:
            flows = self.run.flows_of(_SESSION)
            numbers = [flow for flow in flows if self.run.flows[flow]["name"] == name]
            sums = self.run.outcome.totals(numbers, to_client=False)
            sent_s = self._span(sums["first_sent_ns"], sums["last_sent_ns"])
            received_s = self._span(sums["first_arrived_ns"], sums["last_arrived_ns"])
            measure = interval_measure(
                self.run, numbers, received_s=received_s, sent_s=sent_s, to_client=False
            )
            delay_s = delays(self.run, numbers, sent_s=sent_s, to_client=False)
            found.append(FlowResult(name, _SESSION, tuple(numbers), measure, delay_s))
        return found

    @cached_property
    def budgets(self) -> tuple[BudgetShare, ...]:
        """Delay budgets of the session's flows, and what arrived within them."""
        return judge_budgets(self.run.participants[_SESSION].source, self.events.facts)

    @cached_property
    def series(self) -> dict[str, Any]:
        """Series of 0.5 s aligned to the first media packet, from the earliest flow on."""
        samples, bins = self.run.agents[_SESSION]["samples"], self._bins
        streams = {f"{one.name}_kbps": list(one.flows) for one in self.flows[1:]}
        return {
            "interval_s": INTERVAL_S,
            "start_s": bins.start_s,
            "media_kbps": bins.rate_kbps(self.media_flows, "arrived"),
            "media_offered_kbps": bins.rate_kbps(self.media_flows, "sent"),
            "media_loss": bins.loss(self.media_flows),
            **{name: bins.rate_kbps(flows, "arrived") for name, flows in streams.items()},
            "encoding_kbps": bins.align_samples(np.asarray(kbps_from_bps(1) * samples[:, 0])),
            "frame_rate": bins.align_samples(samples[:, 1]),
            "buffer_s": bins.align_samples(samples[:, 2]),
        }

    @property
    def series_time_s(self) -> FloatArray:
        """Start of each interval of :attr:`series`, s after the first sending of media, (n,)."""
        bins = np.arange(len(self.series["media_kbps"]))
        return np.asarray(self.series["start_s"] + self.series["interval_s"] * bins)

    def to_pandas(self) -> pd.DataFrame:
        """Return the series: a row an interval, by its start, s after the first media packet.

        Columns are those of :attr:`series`, units in their names; what is unknown is ``pd.NA``.
        """
        columns = {"time_s": self.series_time_s, **self.series}
        arrays = {
            name: pa.array(np.asarray(values, np.float64), from_pandas=True)
            for name, values in columns.items()
            if name not in ("interval_s", "start_s")
        }
        return data_frame(pa.table(arrays)).set_index("time_s")

    def to_json(self) -> dict[str, object]:
        """Return the object that `trafficgen simulate --json` prints; NaN: not measurable."""
        return {
            "session": self._session(),
            "flows": [flow.to_json() for flow in self.flows],
            "series": {name: list_values(values) for name, values in self.series.items()},
            "links": self.links,
            **({"answers": [asdict(one) for one in self.answers]} if self.answers else {}),
            **self.notes,
            "packet_events": self.run.outcome.packet_events,
        }

    def _session(self) -> dict[str, object]:
        events, agent = self.events, self.run.agents[_SESSION]
        return {
            "silence_s": self.silence_s,
            "buffering": _phase(self.buffering),
            "playout": _phase(self.playout),
            "level_changes": [asdict(change) for change in events.level_changes()],
            "stalls": [asdict(stall) for stall in events.stalls] if self.has_player else None,
            "player": asdict(seen) if (seen := events.playback(self.end_s)) else None,
            "has_player": self.has_player,
            "thinned_s": events.thinned_s,
            "audio_only_s": events.audio_only_s,
            "adapted_s": events.find_adaptation_s(self.run.path_rate_bps),
            "times": dict(events.times_s),
            "frames": {
                "sent": agent["frames_sent"],
                "dropped_at_sender": agent["frames_dropped_at_sender"],
            },
            "retransmissions": self.run.outcome.totals(self.media_flows)["retransmissions"],
            "uplinks": [flow.to_json() for flow in self.uplinks],
            "budgets": [budget.to_json() for budget in self.budgets],
            "facts": {
                name: [list(moment) for moment in moments] for name, moments in events.facts.items()
            },
        }

    def _to_the_end(self, start_s: float) -> IntervalMeasure:
        received_s = start_s, self.end_s
        sent_s = start_s, max(start_s, self.sendings_s[1])
        return interval_measure(self.run, self.media_flows, received_s=received_s, sent_s=sent_s)

    def _flow(self, name: str, agent: int, flows: list[int]) -> FlowResult:
        measure = interval_measure(
            self.run, flows, received_s=self.arrivals_s, sent_s=self.sendings_s
        )
        delay_s = delays(self.run, flows, sent_s=self.sendings_s)
        is_ping = self.run.participants[agent].source.kind == "ping"
        pings = _ping_delays(self.run, agent) if is_ping else (None, None)
        return FlowResult(name, agent, tuple(flows), measure, delay_s, *pings)

    @cached_property
    def _bins(self) -> Bins:
        sent_ns = self.run.columns["time_ns"]
        first_ns = int(sent_ns[0]) if sent_ns.size else self.run.time_zero_ns
        # Packets on a slow link may arrive years after the simulation is cut off.
        start_s = s_from_ns(first_ns - self.run.time_zero_ns)
        return Bins.from_times(self.run, start_s, min(self.end_s, self.run.end_s))


def _phase(measure: IntervalMeasure | None) -> dict[str, object] | None:
    names = ("duration_s", "rate_kbps", "loss", "offered_kbps")
    return None if measure is None else {name: getattr(measure, name) for name in names}


def _ping_delays(run: Run, agent: int) -> tuple[Delay, float]:
    """Return the round-trip times of a ping, and the share of its requests without an answer."""
    events = SessionEvents.read_log(run.agents[agent], zero_ns=run.time_zero_ns, end_s=0.0)
    times_s = np.array([value for _, value in events.facts.get("rtt_s", [])])
    sent = run.outcome.totals(run.flows_of(agent), to_client=False)["sent_packets"]
    unanswered = 1 - times_s.size / sent if sent else math.nan
    return Delay.from_samples(times_s), unanswered


def list_values(values: object) -> object:
    """Return a series as JSON has it: an array becomes a list."""
    return values.tolist() if isinstance(values, np.ndarray) else values
