"""Subject of the report of a fit: the session, its parts, and sessions that the model plays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from trafficgen.calibration.fit import Fit
from trafficgen.calibration.phases.phase_rows import FittedViews, PhaseRows, phase_rows
from trafficgen.calibration.session_measures import SessionMeasures, measure_facts
from trafficgen.calibration.streams import gather_flows, split_into_phases
from trafficgen.errors import GenerationError
from trafficgen.flows import SessionView, choose_session, find_flows
from trafficgen.generation import OpenLoopSessions
from trafficgen.models import Facts, FittedProvenance, Model, Phase, Stream
from trafficgen.processes.fitting import PhasePackets
from trafficgen.units import ns_from_s

#: Sessions played for bands: their extremes hold a further one in 18 of 20 cases; fewer sessions
#: where they would have more packets than this in all.
_RUNS, _FEWEST_RUNS, _MOST_PACKETS = 19, 3, 2_000_000
#: Ten days, as in a fit: a clock that jumps must not fill the memory with empty bins.
_LONGEST_S = 864_000.0


@dataclass(frozen=True)
class StreamPart:
    """One phase of one stream, and the packets that it was fitted to."""

    stream: Stream
    phase: Phase
    packets: PhasePackets

    @property
    def label(self) -> str:
        """Stream and phase, for people."""
        return f"{self.stream.name}, {self.phase.name}"


@dataclass(frozen=True)
class PlayedSessions:
    """Sessions that the model plays with successive seeds, as `trafficgen generate` does.

    ``first`` is the session of the fit's seed, ``rows`` its packets by phase, and ``facts`` has
    facts of the playout of each session.
    """

    first: SessionView
    rows: PhaseRows
    facts: tuple[Facts, ...]


@dataclass(frozen=True)
class FitSubject:
    """A fit with its parts and sessions that the model plays."""

    fitted: Fit

    @property
    def model(self) -> Model:
        """The model."""
        return self.fitted.model

    @property
    def session(self) -> SessionMeasures:
        """Measures of the session."""
        return self.fitted.calibration.session

    @property
    def views(self) -> FittedViews:
        """The packets behind the estimates."""
        return self.fitted.calibration.views

    @property
    def provenance(self) -> FittedProvenance:
        """Where the model comes from."""
        provenance = self.model.provenance
        assert isinstance(provenance, FittedProvenance)
        return provenance

    @cached_property
    def captured_rows(self) -> PhaseRows:
        """Packets of the captured session by phase."""
        return phase_rows(self.views.captured, self.session.phases)

    @cached_property
    def sent_rows(self) -> PhaseRows:
        """Packets of the session as it was sent, by phase."""
        return phase_rows(self.views.sent, self.views.sent_phases)

    @cached_property
    def facts(self) -> Facts | None:
        """Facts of the playout as it was sent; None where it is too short or implausibly long."""
        return self._facts_of(self.views.sent, self.sent_rows)

    @cached_property
    def parts(self) -> tuple[StreamPart, ...]:
        """Phases of the streams with their packets."""
        views, parts, fitted = self.views, [], set(self.provenance.flows)
        # Small flows are one stream together.
        gathered = [flows for _, flows, _ in gather_flows(views.sent) if flows[0] in fitted]
        for stream, flows in zip(self.model.streams, gathered, strict=True):
            packets = _packets_of(views.sent, flows, stream, views)
            parts += [
                StreamPart(stream, *pair) for pair in zip(stream.phases, packets, strict=True)
            ]
        return tuple(parts)

    @cached_property
    def played(self) -> PlayedSessions | str:
        """Sessions that the model plays, or why it cannot play any."""
        seed, packets = self.provenance.seed, max(1, self.session.packets)
        runs = min(_RUNS, max(_FEWEST_RUNS, _MOST_PACKETS // packets))
        first: SessionView | None = None
        facts = []
        try:
            for run in range(runs):
                sessions = OpenLoopSessions(model=self.model, seed=seed + run)
                view = choose_session(sessions.make_table(), session=0)
                first = first or view
                found = self._facts_of(view, phase_rows(view, self.views.sent_phases))
                facts += [found] if found is not None else []
        except GenerationError as error:
            return str(error)
        assert first is not None
        return PlayedSessions(first, phase_rows(first, self.views.sent_phases), tuple(facts))

    @property
    def played_facts(self) -> tuple[Facts, ...]:
        """Facts of the playout of each played session."""
        return () if isinstance(self.played, str) else self.played.facts

    def replay_packets(self, stream: Stream) -> Iterator[PhasePackets]:
        """Yield the packets of a stream of the first played session, phase by phase."""
        if isinstance(self.played, str):
            return
        view, place = self.played.first, self.model.streams.index(stream)
        if place < len(view.media_flows):
            yield from _packets_of(view, [sorted(view.media_flows)[place]], stream, self.views)

    def _facts_of(self, view: SessionView, rows: PhaseRows) -> Facts | None:
        if self.views.sent_phases.end_s > _LONGEST_S or not rows.playout.any():
            return None
        start_ns = view.first_media_ns + ns_from_s(self.views.sent_phases.playout_start_s)
        return measure_facts(
            view.table.time_ns[rows.playout], view.table.ip_bytes[rows.playout], start_ns=start_ns
        )


def _packets_of(
    view: SessionView, flows: list[int], stream: Stream, views: FittedViews
) -> Iterator[PhasePackets]:
    """Yield the packets of a stream's flows by the phases of the session."""
    of_stream = view.media & find_flows(view.table, flows)
    if not of_stream.any():
        return
    rtp = stream.transport.rtp if len(flows) == 1 else None  # each flow has a clock of its own
    found = split_into_phases(
        view,
        of_stream,
        views.sent_phases,
        name=stream.name,
        clock_hz=rtp.clock_hz if rtp else None,
        tick_s=views.tick_s,
    )
    for _, _, packets in found:
        yield packets
