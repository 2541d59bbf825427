"""How many packets fit into the memory that a command may take, and what is done with sessions that
have more.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.errors import CaptureError, InputFileError, PacketTableError
from trafficgen.formatting import size_text

#: What the interpreter and its libraries take, bytes, before there is a packet.
_PROGRAM_BYTES = 240_000_000
#: What a packet takes at most while a command works on it, bytes, by measurement.
FIT_PACKET_BYTES = 360
COMPARE_PACKET_BYTES = 360
TABLE_PACKET_BYTES = 220
#: What a flow of a capture takes at most, from its counts to the lines that tell of it, bytes;
#: ``python benchmarks/run.py ingest`` measures it without those lines.
_FLOW_BYTES = 780
_FEWEST_FLOWS = 10_000
#: IP packets of segmentation offload are cut to about this before a fit.
_USUAL_PACKET_BYTES = 1500
#: A fit of fewer packets would not pay, whatever the memory.
_FEWEST_PACKETS = 20_000


def most_flows_in(memory_bytes: int | None) -> int | None:
    """Return how many flows of a capture fit into the memory that a command may take, None for any
    number.
    """
    return (
        None
        if memory_bytes is None
        else max(_FEWEST_FLOWS, (memory_bytes - _PROGRAM_BYTES) // _FLOW_BYTES)
    )


@dataclass(frozen=True)
class Budget:
    """Memory for the packets of an input.

    Attributes:
        memory_bytes: What the whole process may take, bytes.
        packet_bytes: What a packet takes, bytes.
    """

    memory_bytes: int
    packet_bytes: int

    @property
    def most_packets(self) -> int:
        """Packets that fit."""
        return max(_FEWEST_PACKETS, (self.memory_bytes - _PROGRAM_BYTES) // self.packet_bytes)

    def less(self, packets: int) -> Budget:
        """Return what is left when so many packets are in memory."""
        return replace(self, memory_bytes=self.memory_bytes - packets * self.packet_bytes)

    def share(self, inputs: int) -> Budget:
        """Return the memory of one of several inputs whose packets are in memory together."""
        packets_bytes = max(0, self.memory_bytes - _PROGRAM_BYTES) // inputs
        return replace(self, memory_bytes=_PROGRAM_BYTES + packets_bytes)

    def needed_bytes(self, packets: int) -> int:
        """Return the memory that so many packets need."""
        return _PROGRAM_BYTES + packets * self.packet_bytes

    def refusal(
        self,
        name: str,
        packets: int,
        *,
        remedy: str,
        of_table: bool = False,
        at_least: bool = False,
    ) -> InputFileError:
        """Return the error that says that an input has too many packets, or ``at_least`` so many,
        and what to do.
        """
        need, allowed = size_text(self.needed_bytes(packets)), size_text(self.memory_bytes)
        error = PacketTableError if of_table else CaptureError
        more = "more --memory" if at_least else f"--memory {need.replace(' ', '')}"
        return error(
            file=name,
            problem=(
                f"{'more than ' * at_least}{packets:,} packets need some {need} of memory,"
                f" {allowed} is allowed"
            ),
            remedy=f"give {more} where the machine has it, {remedy}",
        )


def packets_of(flows: pa.Table, wanted: Collection[int]) -> int:
    """Return how many packets some flows have."""
    rows = _of_flows(flows, wanted)
    return sum(
        pc.sum(rows.column(f"packets_to_{end}")).as_py() or 0 for end in ("client", "server")
    )


def weight_of(flows: pa.Table, wanted: Collection[int]) -> int:
    """Return as how many packets some flows count: packets of segmentation offload are cut into
    many before a fit.
    """
    rows = _of_flows(flows, wanted)
    frame_bytes = sum(
        pc.sum(rows.column(f"frame_bytes_to_{end}")).as_py() or 0 for end in ("client", "server")
    )
    return int(max(packets_of(flows, wanted), frame_bytes // _USUAL_PACKET_BYTES))


def sessions_that_fit(
    flows: pa.Table, sessions: Sequence[int], budget: Budget, seed: int
) -> list[int]:
    """Return sessions that fit into the memory together: all, or a uniform sample of them, at least
    one.

    They are drawn one after another until the next has no room: to pass it over and go on would
    prefer short ones.

    Args:
        flows: The flow table.
        sessions: The sessions to draw from.
        budget: The memory.
        seed: Seed of the draws.

    Returns:
        The sessions, in the order in which they were given.
    """
    from trafficgen.randomness import random_stream  # noqa: PLC0415 - a look into a capture draws nothing

    packets, frame_bytes = (
        flows.column(f"{what}_to_client").to_numpy().astype(np.int64)
        + flows.column(f"{what}_to_server").to_numpy().astype(np.int64)
        for what in ("packets", "frame_bytes")
    )
    weights = np.bincount(
        flows.column("session").to_numpy(), np.maximum(packets, frame_bytes // _USUAL_PACKET_BYTES)
    )
    left = budget.most_packets
    drawn: set[int] = set()
    order = random_stream(seed, session=0, purpose="fit/sessions").permutation(len(sessions))
    for session in (sessions[place] for place in order.tolist()):
        left -= int(weights[session])
        if left < 0 and drawn:
            break
        drawn.add(session)
    return [session for session in sessions if session in drawn]


def _of_flows(flows: pa.Table, wanted: Collection[int]) -> pa.Table:
    return flows.filter(
        pc.is_in(flows.column("flow"), pa.array(list(wanted), flows.schema.field("flow").type))
    )
