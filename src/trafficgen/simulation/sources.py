"""Sources and participants of a simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from trafficgen.units import IntArray

_Columns = tuple[
    IntArray,
    npt.NDArray[np.uint32],
    npt.NDArray[np.uint8],
    npt.NDArray[np.uint32],
    npt.NDArray[np.bool_],
]


@dataclass(frozen=True)
class Schedule:
    """Packets that one stream of a fitted model sends on a calm path, in order of time.

    Attributes:
        time_ns: Time from the start of the session, ns, shape (n,).
        payload_bytes: Transport payload, bytes, shape (n,).
        phase: Index into :data:`~trafficgen.tables.PHASES`, shape (n,).
        rtp_timestamp: RTP timestamp, shape (n,); zeros where it is not RTP.
        ends_frame: Whether it is the last packet of its frame or burst, shape (n,).
    """

    time_ns: IntArray
    payload_bytes: npt.NDArray[np.uint32]
    phase: npt.NDArray[np.uint8]
    rtp_timestamp: npt.NDArray[np.uint32]
    ends_frame: npt.NDArray[np.bool_]

    def arrays(self) -> _Columns:
        """Return the columns in the order of the engine, each contiguous."""
        return (
            np.ascontiguousarray(self.time_ns, dtype=np.int64),
            np.ascontiguousarray(self.payload_bytes, dtype=np.uint32),
            np.ascontiguousarray(self.phase, dtype=np.uint8),
            np.ascontiguousarray(self.rtp_timestamp, dtype=np.uint32),
            np.ascontiguousarray(self.ends_frame, dtype=np.bool_),
        )


@dataclass(frozen=True)
class Source:
    """A source of the engine.

    Attributes:
        name: Name of the model, or ``tcp``, ``cbr``, ``ping``.
        kind: Mechanism of the engine.
        parameters: Its parameters.
        settings: Options that were set, for the record.
        digest: Digest of the model's file; None: no file.
        schedules: Schedules of the streams of a fitted model; parameters refer to their numbers.
        competing_tcp: TCP of the bulk flows that it was measured with; None: that of today.
    """

    name: str
    kind: str
    parameters: Mapping[str, object]
    settings: Mapping[str, object] = field(default_factory=dict)
    digest: str | None = None
    schedules: tuple[Schedule, ...] = ()
    competing_tcp: Mapping[str, object] | None = None


@dataclass(frozen=True)
class Participant:
    """A source with its place in a scenario.

    Attributes:
        name: Name in results, unique.
        source: Its source.
        start_s: When its first packet leaves, s from the first session's start.
        stop_s: When it is stopped, s; None: it ends by itself.
        is_session: Whether it is a session, not a competing flow.
    """

    name: str
    source: Source
    start_s: float = 0.0
    stop_s: float | None = None
    is_session: bool = False
