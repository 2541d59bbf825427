"""A published model that plays sessions: each is a simulation alone on an unlimited path."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.generation.addresses import AddressPlan
from trafficgen.generation.model_player import Viewing
from trafficgen.generation.session import FlowRow
from trafficgen.models import PublishedModel
from trafficgen.randomness import random_stream
from trafficgen.simulation.packets import packet_table
from trafficgen.simulation.path import UNLIMITED_PATH
from trafficgen.simulation.run import LARGEST_SEED, run_path
from trafficgen.simulation.sources import Participant, Source, make_published_source
from trafficgen.tables import PacketTable
from trafficgen.tables.addresses import documentation_pair
from trafficgen.units import s_from_ns
from trafficgen.workloads.plan import Variants

#: Sources of clips that are cached: popular clips come repeatedly.
_KEPT = 256
#: Clips of which one session is played to estimate their packets.
_PILOTS = 4
_SHORTEST_S = 1e-3


class EntryPlayer:
    """Plays sessions of one published model, options set."""

    def __init__(
        self, model: PublishedModel, *, seed: int, variants: Variants | None = None
    ) -> None:
        self.model, self.seed, self.variants = model, seed, variants
        self._source = lru_cache(_KEPT)(self._make_source)
        self._pilot = lru_cache(_PILOTS)(self._play_pilot)

    def expected_packets(self, viewing: Viewing) -> float:
        """Return about how many packets a session has, from a session of one of the first clips."""
        packets, whole_s = self._pilot(min(viewing.clip or 0, _PILOTS - 1))
        stays_s = whole_s if viewing.length_s is None else min(whole_s, viewing.length_s)
        return packets * min(1.0, viewing.end_s(stays_s) / whole_s)

    def session(
        self,
        viewing: Viewing,
        *,
        start_ns: int,
        first_flow: int,
        addresses: AddressPlan | None = None,
    ) -> tuple[pa.Table, list[FlowRow]]:
        """Return packets and flow rows of a session.

        Args:
            viewing: What it plays.
            start_ns: Its start, ns from the table's origin.
            first_flow: Number of its first flow.
            addresses: Where its addresses come from; None: those reserved for documentation.

        Raises:
            SimulationError: If it cannot be simulated.
        """
        stop_s = viewing.length_s
        if viewing.leaves_at is not None:  # its whole length is known once it is played
            whole_s = _length_s(self._run(viewing, stop_s=stop_s))
            stop_s = viewing.end_s(whole_s)
        elif viewing.leaves_after_s is not None:
            stop_s = (
                viewing.leaves_after_s if stop_s is None else min(stop_s, viewing.leaves_after_s)
            )
        table = self._run(viewing, stop_s=stop_s)
        return _shift(table.packets, start_ns, first_flow), _rows(
            table, viewing, start_ns, first_flow, addresses
        )

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

    def _play_pilot(self, clip: int) -> tuple[int, float]:
        table = self._run(
            Viewing(session=clip, clip=None if self.variants is None else clip), stop_s=None
        )
        return len(table), max(_SHORTEST_S, _length_s(table))


def _length_s(table: PacketTable) -> float:
    return s_from_ns(int(table.time_ns[-1])) if len(table) else 0.0


def _shift(packets: pa.Table, start_ns: int, first_flow: int) -> pa.Table:
    """Move packets to their place in the workload; drop columns without values."""
    shifts = {"time_ns": start_ns, "arrival_ns": start_ns, "flow": first_flow}
    for name, shift in shifts.items():
        place = packets.schema.get_field_index(name)
        field = packets.schema.field(place)
        packets = packets.set_column(
            place, field, pc.add(packets.column(place), pa.scalar(shift, type=field.type))
        )
    return packets.select(
        [name for name in packets.column_names if packets.column(name).null_count < len(packets)]
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
