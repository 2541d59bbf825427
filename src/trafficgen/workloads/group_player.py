"""Players of groups: what sessions watch and for how long, by a fitted or published model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
import pyarrow as pa

from trafficgen.errors import GenerationError, SimulationError
from trafficgen.generation.addresses import AddressPlan
from trafficgen.generation.model_player import ModelPlayer, Viewing
from trafficgen.generation.session import FlowRow, StreamSchedule, stream_schedules
from trafficgen.imports import special
from trafficgen.models import PublishedModel
from trafficgen.process_memory import memory_limit_bytes
from trafficgen.randomness import random_stream
from trafficgen.simulation.applications import Player, make_player
from trafficgen.simulation.path import UNLIMITED_PATH
from trafficgen.simulation.run import LARGEST_SEED, LONGEST_SESSION_S, packet_table, run_path
from trafficgen.simulation.sources import (
    LENGTH_KEYS,
    Participant,
    Source,
    make_published_source,
    prepare_fitted_source,
    prepare_player_source,
)
from trafficgen.tables import PacketTable
from trafficgen.tables.columns import shift_values
from trafficgen.tables.protocols import documentation_pair
from trafficgen.units import FloatArray, IntArray, s_from_ns
from trafficgen.workloads.clips import Variants
from trafficgen.workloads.description import Variation
from trafficgen.workloads.plan import PlannedGroup

#: Sources of clips that are cached: popular clips come repeatedly.
_KEPT = 256
#: Clips of which one session is played to estimate their packets.
_PILOTS = 4
#: How much is played of one that does not fit in the memory, s.
_BEGINNING_S = 60.0
_SHORTEST_S = 1e-3
#: A clip plays no slower than this share of its model: gaps must stay finite.
_LOWEST_RATE = 1e-3
_LEAST_UNIFORM = 1e-12


class GroupPlayer:
    """Plays sessions of one group: draws what they watch and for how long.

    Attributes:
        addresses: Where addresses come from; None: as in a run of one model.
        variants: What distinguishes the clips of a published model, most popular first, shuffled by
            the seed if it is the playlist of the model; None: nothing.

    Raises:
        GenerationError: If sessions would be too short for their model.
    """

    def __init__(self, group: PlannedGroup, *, seed: int, addresses: AddressPlan | None) -> None:
        self.group, self.seed, self.addresses = group, seed, addresses
        self.variants = None if group.clips is None else group.clips.variants
        if group.clips is not None and group.clips.is_shuffled and self.variants is not None:
            self.variants = self._shuffle(self.variants)
        if isinstance(group.model, PublishedModel):
            _check_variation(group)
            self._shortest_s = _SHORTEST_S
            self.model: ModelPlayer | EntryPlayer = EntryPlayer(
                group.model, seed=seed, variants=self.variants
            )
            return
        self.model = ModelPlayer(group.model, seed=seed)
        self._shortest_s = self.model.shortest_s()
        longest_s = math.inf if group.duration is None else group.duration.support[1]
        if longest_s < self._shortest_s:
            raise GenerationError(
                f"group {group.name!r}: a session of {longest_s:g} s would end before its first"
                " media packet; ask for a longer duration"
            )

    def viewings(self, sessions: IntArray, uniforms: dict[str, FloatArray]) -> list[Viewing]:
        """Return what sessions play.

        ``uniforms`` are draws in [0, 1) by purpose (``clip``, ``duration``, ``leaving``, ``left``,
        ``vary rate`` and so on for what varies), each of shape (n,) as the numbers of the sessions.
        """
        group, count = self.group, sessions.size
        clips: list[int | None] = [None] * count
        lengths_s, rates = np.full(count, np.inf), np.ones(count)
        if group.clips is not None:
            ranks = group.clips.popularity.choose(uniforms["clip"])
            clips = [*ranks.tolist()]
            lengths_s, rates = self._clip_lengths_s[ranks], self._clip_rates[ranks]
        if group.duration is not None:
            lengths_s = np.minimum(lengths_s, group.duration.ppf(uniforms["duration"]))
        factors = {
            name: _factors(uniforms, name, spread=getattr(group.variation, name), count=count)
            for name in ("duration", "rate", "size")
        }
        rates = np.maximum(rates * factors["rate"] * group.variation.scale_rate, _LOWEST_RATE)
        if isinstance(group.model, PublishedModel):
            lengths_s, factors["duration"] = lengths_s * factors["duration"], np.ones(count)
        lengths_s = np.maximum(lengths_s, self._shortest_s)
        watched = after_s = np.full(count, np.nan)
        if group.departures is not None:
            leaves, left = uniforms["leaving"] < group.departures.share, uniforms["left"]
            if group.departures.watched is not None:
                watched = np.where(leaves, group.departures.watched.ppf(left), np.nan)
            if group.departures.after is not None:
                after_s = np.where(leaves, group.departures.after.ppf(left), np.nan)
        return [
            Viewing(
                session=session,
                clip=clip,
                rate_factor=rate,
                length_s=length_s if math.isfinite(length_s) else None,
                leaves_at=None if math.isnan(share) else share,
                leaves_after_s=None if math.isnan(leaves_s) else leaves_s,
                length_factor=longer,
                size_factor=larger,
                jitter_s=group.variation.jitter_s,
                draws_parameters=group.variation.posterior,
            )
            for session, clip, rate, length_s, share, leaves_s, longer, larger in zip(
                sessions.tolist(),
                clips,
                rates.tolist(),
                lengths_s.tolist(),
                watched.tolist(),
                after_s.tolist(),
                factors["duration"].tolist(),
                factors["size"].tolist(),
                strict=True,
            )
        ]

    def source(self, viewing: Viewing) -> tuple[Source, float | None]:
        """Return the source of a session on a path, and when it is stopped, s after its start.

        None: it ends by itself.

        Raises:
            GenerationError: If it cannot be played on a path.
        """
        if isinstance(self.model, EntryPlayer):
            return self.model.source(viewing)
        if viewing.size_factor != 1 or viewing.jitter_s:
            raise GenerationError(
                f"group {self.group.name!r}: spreads of sizes and jitter are only for sessions"
                " without a path; leave 'size' and 'jitter' out"
            )
        timeline = self.model.timeline(viewing)
        is_limited = viewing.leaves or viewing.length_s is not None
        stop_s = timeline.length_s if is_limited else None
        model, number = self.model.model, viewing.session
        player = make_player(model, {}, session=number, duration_s=stop_s, seed=self.seed)
        if player is not None:
            return self._player_source(player), stop_s
        streams = stream_schedules(timeline, session=number, seed=self.seed)
        return self._fitted_source(streams), stop_s

    @cached_property
    def _player_source(self) -> Callable[[Player], Source]:
        assert isinstance(self.model, ModelPlayer)
        return prepare_player_source(self.model.model, {})

    @cached_property
    def _fitted_source(self) -> Callable[[Sequence[StreamSchedule]], Source]:
        assert isinstance(self.model, ModelPlayer)
        return prepare_fitted_source(self.model.model)

    def _shuffle(self, variants: Variants) -> Variants:
        purpose = f"workload/{self.group.model.name}/playlist"
        generator = random_stream(self.seed, session=0, purpose=purpose)
        order = generator.permutation(len(variants.values)).tolist()
        return Variants(variants.option, tuple(variants.values[place] for place in order))

    @cached_property
    def _clip_lengths_s(self) -> FloatArray:
        return self._draw_clips("length", usual=np.inf)

    @cached_property
    def _clip_rates(self) -> FloatArray:
        return np.maximum(self._draw_clips("rate", usual=1.0), _LOWEST_RATE)

    def _draw_clips(self, quantity: Literal["length", "rate"], *, usual: float) -> FloatArray:
        """Return a quantity of each clip, drawn once from its law, or what is usual."""
        clips = self.group.clips
        assert clips is not None
        law, count = getattr(clips, quantity), clips.popularity.weights.size
        if law is None:
            return np.full(count, usual)
        purpose = f"workload/{self.group.name}/clip-{quantity}"
        uniform = random_stream(self.seed, session=0, purpose=purpose).random(count)
        drawn: FloatArray = law.ppf(uniform)
        return drawn


def _check_variation(group: PlannedGroup) -> None:
    """Refuse to vary what a published model determines itself."""
    varied = group.variation
    if replace(varied, duration=0.0) != Variation():
        raise GenerationError(
            f"group {group.name!r}: {group.model.name} is a published model, whose rates, sizes and"
            " times follow from its options; leave [--vary|vary], [--scale-rate|scale_rate],"
            " [--jitter|jitter_s] and [--posterior|posterior] to fitted models, and set options of"
            " this one"
        )
    if varied.duration and not group.has_length:
        raise GenerationError(
            f"group {group.name!r}: {group.model.name} ends by itself; give a duration to vary it"
        )


def _factors(
    uniforms: dict[str, FloatArray], name: str, *, spread: float, count: int
) -> FloatArray:
    """Return log-normal factors with mean 1 and a standard deviation, one a session."""
    if spread == 0:
        return np.ones(count)
    sigma = math.sqrt(math.log1p(spread**2))
    # A draw of 0 would be a factor of 0.
    normal = special.ndtri(np.maximum(uniforms[f"vary {name}"], _LEAST_UNIFORM))
    return np.asarray(np.exp(sigma * normal - sigma**2 / 2))


class EntryPlayer:
    """Plays sessions of one published model, options set, each alone on an unlimited path."""

    def __init__(
        self, model: PublishedModel, *, seed: int, variants: Variants | None = None
    ) -> None:
        self.model, self.seed, self.variants = model, seed, variants
        self._source = lru_cache(_KEPT)(self._make_source)
        self._pilot = lru_cache(_PILOTS)(self._play_pilot)

    def length_s(self, viewing: Viewing) -> float | None:
        """Return the length of a session, s; None if it shows only where it is played."""
        if viewing.leaves_at is None or viewing.length_s is None:
            return _shorter_s(viewing.length_s, viewing.leaves_after_s)
        return viewing.end_s(viewing.length_s)

    def media_s(self, viewing: Viewing) -> float | None:
        """Return the length of the media of a session, s; None if it is drawn or has no end."""
        known = map(self._source(viewing.clip).parameters.get, LENGTH_KEYS)
        return next((float(one) for one in known if isinstance(one, int | float)), None)

    def expected_packets(self, viewing: Viewing) -> float:
        """Return about how many packets a session has."""
        return self.expectation(viewing)[0]

    def packets_at_once(self, viewing: Viewing) -> float:
        """Return about how many packets of a session are in memory while it is made: all."""
        return self.expected_packets(viewing)

    def expectation(self, viewing: Viewing) -> tuple[float, float]:
        """Return about how many packets a session has, and about its length, s.

        They are those of a session of one of the first clips.
        """
        packets, played_s, ends = self._pilot(min(viewing.clip or 0, _PILOTS - 1))
        whole_s = played_s if ends else LONGEST_SESSION_S
        stays_s = whole_s if viewing.length_s is None else min(whole_s, viewing.length_s)
        end_s = viewing.end_s(stays_s)
        return packets * min(1.0 if ends else math.inf, end_s / played_s), end_s

    def session(
        self,
        viewing: Viewing,
        *,
        start_ns: int,
        first_flow: int,
        addresses: AddressPlan | None = None,
    ) -> tuple[pa.Table, list[FlowRow]]:
        """Return packets and flow rows of a session.

        ``start_ns`` counts from the table's origin. Without ``addresses`` it has some of those that
        are reserved for documentation.

        Raises:
            SimulationError: If it cannot be simulated.
        """
        table = self._run(viewing, stop_s=self._stop_s(viewing))
        return _shift(table.packets, start_ns, first_flow), _rows(
            table, viewing, start_ns, first_flow, addresses
        )

    def source(self, viewing: Viewing) -> tuple[Source, float | None]:
        """Return the source of a session, and when it is stopped, s after its start; None: never.

        The length of which a viewer watches a share is that on an unlimited path.
        """
        return self._source(viewing.clip), self._stop_s(viewing)

    def _stop_s(self, viewing: Viewing) -> float | None:
        if viewing.leaves_at is None:
            return _shorter_s(viewing.length_s, viewing.leaves_after_s)
        # Its whole length is known once it is played.
        return viewing.end_s(_length_s(self._run(viewing, stop_s=viewing.length_s)))

    def _run(self, viewing: Viewing, *, stop_s: float | None) -> PacketTable:
        generator = random_stream(self.seed, session=viewing.session, purpose="simulation")
        seed = int(generator.integers(0, LARGEST_SEED, dtype=np.uint64, endpoint=True))
        stop_s = None if stop_s is None else max(_SHORTEST_S, stop_s)
        session = Participant("media", self._source(viewing.clip), stop_s=stop_s, is_session=True)
        return packet_table(run_path(UNLIMITED_PATH, [session], seed=seed), origin_ns=0, notes={})

    def _make_source(self, clip: int | None) -> Source:
        settings = {}
        if self.variants is not None and clip is not None:
            settings = {self.variants.option: self.variants.values[clip]}
        return make_published_source(self.model, settings)

    def _play_pilot(self, clip: int) -> tuple[int, float, bool]:
        """Return packets and length, s, of a session, or of its beginning if it has too many."""
        viewing = Viewing(session=clip, clip=None if self.variants is None else clip)
        try:
            table, ends = self._run(viewing, stop_s=None), True
        except SimulationError:
            if memory_limit_bytes() is None:
                raise
            table, ends = self._run(viewing, stop_s=_BEGINNING_S), False
        return len(table), max(_SHORTEST_S, _length_s(table)), ends


def _shorter_s(*lengths_s: float | None) -> float | None:
    return min((one for one in lengths_s if one is not None), default=None)


def _length_s(table: PacketTable) -> float:
    return s_from_ns(int(table.time_ns[-1])) if len(table) else 0.0


def _shift(packets: pa.Table, start_ns: int, first_flow: int) -> pa.Table:
    """Move packets to their place in the workload; drop columns without values."""
    packets = shift_values(packets, time_ns=start_ns, arrival_ns=start_ns, flow=first_flow)
    return packets.select(
        [
            name
            for name in packets.column_names
            if not len(packets) or packets.column(name).null_count < len(packets)
        ]
    )


def _rows(
    table: PacketTable,
    viewing: Viewing,
    start_ns: int,
    first_flow: int,
    addresses: AddressPlan | None,
) -> list[FlowRow]:
    ports: list[int] = table.flows.column("client_port").to_pylist()
    if addresses is None:
        server, client = documentation_pair(viewing.session)
    else:
        server, client = addresses.pair(viewing.session, version=4)
        ports = addresses.client_ports(viewing.session, ports, version=4)
    return [
        {
            **row,
            "flow": first_flow + place,
            "session": viewing.session,
            "server": server,
            "client": client,
            "client_port": port,
            "first_time_ns": row["first_time_ns"] + start_ns,
            "last_time_ns": row["last_time_ns"] + start_ns,
        }
        for place, (row, port) in enumerate(zip(table.flows.to_pylist(), ports, strict=True))
    ]
