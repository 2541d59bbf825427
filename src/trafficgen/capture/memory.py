"""How many packets and flows of an input fit into the memory that a command may take."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trafficgen.errors import CaptureError, InputFileError, PacketTableError
from trafficgen.flows.resegment import OFFLOAD_LIMITS
from trafficgen.flows.selection import select_flow_rows
from trafficgen.formatting import size_text
from trafficgen.units import BLOCK, IntArray, WholeArray

#: Most memory that a packet takes while a command works on it, bytes, measured: of the sessions of
#: `benchmarks/run.py fit`, frames over RTP take most in a fit, and in a comparison on each side.
FIT_PACKET_BYTES = 260
COMPARE_PACKET_BYTES = 180
TABLE_PACKET_BYTES = 220


class MemoryCosts:
    """What takes memory apart from packets, and the least that is always taken.

    Measured with GNU time and ``benchmarks/run.py ingest``; a higher cost refuses inputs sooner,
    a lower one lets the kernel kill the command instead.

    Attributes:
        program_bytes: The interpreter and its libraries before there is a packet.
        flow_bytes: A flow of a capture, from its counts to the lines that describe it.
        fewest_flows: Flows that are distinguished however little memory is allowed.
        fewest_packets: Packets that are read however little memory is allowed: a fit of fewer is
            not worth it.
        full_packet_bytes: Segmentation offload is cut into packets of this size before a fit, so
            a flow counts for at least its bytes divided by it.
    """

    program_bytes: int = 240_000_000
    flow_bytes: int = 780
    fewest_flows: int = 10_000
    fewest_packets: int = 20_000
    full_packet_bytes: int = 1500


COSTS = MemoryCosts()


def most_flows_in(memory_bytes: int | None) -> int | None:
    """Return how many flows of a capture fit into memory; None for any number."""
    if memory_bytes is None:
        return None
    return max(COSTS.fewest_flows, (memory_bytes - COSTS.program_bytes) // COSTS.flow_bytes)


def share_memory(memory_bytes: int | None, inputs: int) -> int | None:
    """Return the memory of one of several inputs that are in memory together, bytes."""
    if memory_bytes is None:
        return None
    return COSTS.program_bytes + max(0, memory_bytes - COSTS.program_bytes) // inputs


@dataclass(frozen=True)
class Budget:
    """Memory for the packets of an input.

    Attributes:
        memory_bytes: What the whole process may take, bytes; None sets no limit.
        packet_bytes: What a packet takes, bytes.
    """

    memory_bytes: int | None
    packet_bytes: int

    @property
    def most_packets(self) -> int | None:
        """Number of packets that fit; None for any number."""
        if self.memory_bytes is None:
            return None
        room_bytes = self.memory_bytes - COSTS.program_bytes
        return max(COSTS.fewest_packets, room_bytes // self.packet_bytes)

    def holds(self, packets: int) -> bool:
        """Return whether this many packets fit."""
        return self.most_packets is None or packets <= self.most_packets

    def need_bytes(self, packets: float) -> int:
        """Return the memory that this many packets need, bytes."""
        return COSTS.program_bytes + round(packets * self.packet_bytes)

    def memory_after(self, packets: int) -> int | None:
        """Return the memory that is left with this many packets in memory, bytes."""
        if self.memory_bytes is None:
            return None
        return self.memory_bytes - packets * self.packet_bytes

    def refusal(
        self,
        name: str,
        packets: int,
        *,
        remedy: str,
        of_table: bool = False,
        at_least: bool = False,
    ) -> InputFileError:
        """Return the error for an input of this many packets, or ``at_least`` this many."""
        need = size_text(self.need_bytes(packets))
        more = "more [--memory]" if at_least else f"[--memory {need.replace(' ', '')}]"
        return (PacketTableError if of_table else CaptureError)(
            file=name,
            problem=(
                f"{'more than ' * at_least}{packets:,} packets need some {need} of memory,"
                f" {size_text(self.memory_bytes or 0)} is allowed"
            ),
            remedy=f"give {more} where the machine has it, {remedy}",
        )


def weight_of(flows: pa.Table, wanted: Collection[int]) -> int:
    """Return as how many packets some flows count once segmentation offload is cut."""
    return int(_count_pieces_of_flows(select_flow_rows(flows, wanted)).sum())


def sessions_that_fit(
    flows: pa.Table, sessions: Sequence[int], budget: Budget, seed: int
) -> list[int]:
    """Return all sessions if they fit into memory together, else a uniform sample of them.

    They are drawn one after another until the next has no room: to pass it over and go on would
    prefer short ones. At least one is drawn. Sessions stay in the order in which they were given.
    """
    from trafficgen.randomness import random_stream  # noqa: PLC0415 - inspect draws nothing

    weights = np.bincount(flows.column("session").to_numpy(), _count_pieces_of_flows(flows))
    packets_drawn, drawn = 0, set[int]()
    order = random_stream(seed, session=0, purpose="fit/sessions").permutation(len(sessions))
    for session in (sessions[place] for place in order.tolist()):
        packets_drawn += int(weights[session])
        if drawn and not budget.holds(packets_drawn):
            break
        drawn.add(session)
    return [session for session in sessions if session in drawn]


def count_pieces(ip_bytes: WholeArray) -> int:
    """Return as how many packets some packets count once segmentation offload is cut."""
    total = 0
    for row in range(0, ip_bytes.size, BLOCK):
        part = ip_bytes[row : row + BLOCK].astype(np.int64)
        part[part > OFFLOAD_LIMITS.largest_offload_bytes] = 0
        total += int(np.maximum(-(-part // COSTS.full_packet_bytes), 1).sum())
    return total


def _count_pieces_of_flows(flows: pa.Table) -> IntArray:
    """Return as how many packets each flow counts once segmentation offload is cut.

    Packets that are longer than any offload are damage and stay whole, whatever they claim.
    """
    packets, frame_bytes = (_both_ways(flows, what) for what in ("packets", "frame_bytes"))
    most = packets * -(-OFFLOAD_LIMITS.largest_offload_bytes // COSTS.full_packet_bytes)
    return np.clip(frame_bytes // COSTS.full_packet_bytes, packets, most)


def _both_ways(flows: pa.Table, what: str) -> IntArray:
    to_client, to_server = (
        flows.column(f"{what}_to_{end}").to_numpy().astype(np.int64) for end in ("client", "server")
    )
    return np.asarray(to_client + to_server, dtype=np.int64)
