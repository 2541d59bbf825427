"""Open-loop generation: a model plays as it was fitted, whatever a path would do to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.errors import GenerationError
from trafficgen.generation.columns import PlacedColumns, tables_of
from trafficgen.generation.extent import check_extent, check_memory
from trafficgen.generation.population import SessionSampler
from trafficgen.generation.session import FlowRow, session_packets
from trafficgen.generation.superposition import session_starts, superposed
from trafficgen.generation.timeline import Timeline, session_timeline
from trafficgen.models import Model
from trafficgen.progress import tell
from trafficgen.tables import DEFAULT_ORIGIN_NS, FLOW_SCHEMA, PacketTable
from trafficgen.units import IntArray

#: Blocks of sessions are this many at least, as far as there are sessions, and hold this many sessions at most.
#: Neither depends on the number of workers, nor does the table.
_FEWEST_BLOCKS = 64
_LARGEST_BLOCK = 256


def generate_sessions(
    model: Model,
    *,
    sessions: int = 1,
    duration_s: float | None = None,
    seed: int = 0,
    arrival_rate_per_s: float | None = None,
    workers: int = 1,
    origin_ns: int = DEFAULT_ORIGIN_NS,
) -> PacketTable:
    """Return the packets of a model that plays open loop.

    Where the model has a population, sessions differ: each draws its length, rate, buffering and silence first.
    Each session draws every quantity from a random stream of its own, derived from the seed, the session and the
    quantity, so the table depends on the seed alone and not on ``workers``. Times are those at which each end sends.

    Args:
        model: The model.
        sessions: Number of sessions, at least 1; each has its own addresses.
        duration_s: Length of each session from its first packet, s; None for that of the model. A longer one stretches
            the last playout of each stream, a shorter one cuts; sessions of a population are made that long.
        seed: Seed, >= 0.
        arrival_rate_per_s: Mean number of sessions starting in a second, as a Poisson process; None: all together.
        workers: Threads that share the sessions.
        origin_ns: Time of the table's origin since 1970-01-01 UTC, ns.

    Raises:
        GenerationError: If there is nothing to play, or the model cannot be played for so short or so long a time,
            or the packets do not fit in this machine's memory.
        ValueError: If the seed is negative, or a rate or a number of workers is not positive.
    """
    if sessions < 1:
        raise GenerationError(f"{sessions} sessions cannot be generated; ask for at least 1")
    if seed < 0 or workers < 1:
        raise ValueError(f"the seed must not be negative and workers must be at least 1; got {seed} and {workers}")
    if arrival_rate_per_s is not None and not (arrival_rate_per_s > 0 and math.isfinite(arrival_rate_per_s)):
        raise ValueError(f"arrival_rate_per_s must be positive and finite, got {arrival_rate_per_s}")
    timelines = session_timelines(model, sessions=sessions, duration_s=duration_s, seed=seed)
    starts_ns = session_starts(sessions, arrival_rate_per_s=arrival_rate_per_s, seed=seed)
    packets: list[pa.Table] = []
    flows: list[FlowRow] = []
    for done, block_packets, block_flows in _blocks(timelines, starts_ns, seed=seed, workers=workers):
        # Sessions of a population differ in their number of flows: blocks count their own.
        packets += [_renumbered(table, len(flows)) for table in block_packets]
        flows += [{**row, "flow": len(flows) + place} for place, row in enumerate(block_flows)]
        tell("generating", done, sessions, unit="sessions")
    tell("putting packets in order")
    return PacketTable(
        packets=superposed(packets),
        flows=pa.Table.from_pylist(flows, schema=FLOW_SCHEMA),
        origin_ns=origin_ns,
        notes={"model": model.name, "seed": seed, "sessions": sessions},
    )


def session_timelines(model: Model, *, sessions: int, duration_s: float | None, seed: int) -> Callable[[int], Timeline]:
    """Return what gives the times and laws of each session: drawn for each where the model has a population.

    Raises:
        GenerationError: If the sessions cannot be played.
    """
    if model.population is None:
        timeline = session_timeline(model, duration_s=duration_s)
        check_extent(timeline, sessions=sessions)
        return lambda _: timeline
    sampler = SessionSampler(model, model.population, seed=seed, duration_s=duration_s)
    check_memory(sampler.expected_packets(range(sessions)), flows=sessions, sessions=sessions)

    def checked(session: int) -> Timeline:
        timeline = sampler.timeline(session)
        check_extent(timeline, sessions=1)
        return timeline

    return checked


def _renumbered(table: pa.Table, shift: int) -> pa.Table:
    """Return packets with the numbers of their flows shifted."""
    if shift == 0:
        return table
    place = table.schema.get_field_index("flow")
    flow = pc.add(table.column(place), pa.scalar(shift, type=pa.uint32()))
    return table.set_column(place, table.schema.field(place), flow)


def _blocks(
    timelines: Callable[[int], Timeline], starts_ns: IntArray, *, seed: int, workers: int
) -> Iterator[tuple[int, list[pa.Table], list[FlowRow]]]:
    """Yield the sessions done so far, packets and flow rows of blocks of sessions, in the order of the sessions."""
    count = len(starts_ns)
    size = min(_LARGEST_BLOCK, math.ceil(count / _FEWEST_BLOCKS))
    firsts = range(0, count, size)

    def made(first: int) -> tuple[int, list[pa.Table], list[FlowRow]]:
        return min(first + size, count), *_block(timelines, starts_ns[first : first + size], first, seed)

    if workers == 1 or count == 1:
        yield from map(made, firsts)
        return
    # Threads, not processes: the drawing runs outside the interpreter's lock, and no packet has to be copied across.
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(made, firsts)


def _block(
    timelines: Callable[[int], Timeline], starts_ns: IntArray, first_session: int, seed: int
) -> tuple[list[pa.Table], list[FlowRow]]:
    packets: list[PlacedColumns] = []
    flows: list[FlowRow] = []
    for session, start_ns in enumerate(starts_ns.tolist(), start=first_session):
        made = session_packets(timelines(session), session=session, seed=seed, start_ns=start_ns, first_flow=len(flows))
        packets += made.packets
        flows += made.flows
    return tables_of(packets), flows
