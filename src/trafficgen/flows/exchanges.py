"""Exchanges: requests of clients and the responses to them, as the core measured them.

The unit of application models: Hernández-Campos, Jeffay and Smith (Tmix, 2006) for the vectors of
requests, responses and think times; Krishnamoorthi et al. (BUFFEST, 2017) for requests in encrypted
traffic.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.data_frames import data_frame
from trafficgen.formatting import format_count, format_duration, size_text
from trafficgen.notebook import SHOWN_ROWS, FirstRows, NotebookView
from trafficgen.options import checks_arguments
from trafficgen.tables.columns import Column, nullable, schema_of
from trafficgen.units import BoolArray, IntArray, s_from_ns

if TYPE_CHECKING:
    import pandas as pd

EXCHANGE_COLUMNS = (
    Column("connection", pa.uint32(), "Number of its flow, as `inspect` lists it."),
    nullable(
        "request_ns",
        pa.int64(),
        "Time of the request's first packet, ns since 1970; null where it was not captured.",
    ),
    Column("request_bytes", pa.int64(), "Payload of the request, retransmissions counted once."),
    nullable(
        "first_byte_ns",
        pa.int64(),
        "Time of the response's first packet, ns since 1970; null where nothing came.",
    ),
    nullable("last_byte_ns", pa.int64(), "Time of the packet that completed the response."),
    Column("response_bytes", pa.int64(), "Payload of the response, retransmissions counted once."),
    Column(
        "outstanding",
        pa.int32(),
        (
            "Other requests of the session without a whole response at that time, those included"
            " that are not distinguished from this one."
        ),
    ),
    nullable(
        "think_s",
        pa.float64(),
        (
            "From the end of the last response on any connection of the session to the request, s;"
            " null before there was one."
        ),
    ),
    Column(
        "kind",
        pa.string(),
        (
            "What it carries: `media`, `audio` (in turn with larger ones, or after shorter"
            " requests), `small` (a manifest, a playlist, an index), or `control` (a handshake, or"
            " no response)."
        ),
    ),
)
EXCHANGE_SCHEMA = schema_of(EXCHANGE_COLUMNS)

_NO_TIME_NS = np.iinfo(np.int64).min
#: Responses are small below this, and below this part of the size that half of all bytes exceed.
_SMALL_BYTES, _SMALL_PART = 16_384, 0.02
#: Audio with video: sizes part by this factor, the lower vary by no more than this (log), and
#: the two take turns in at least this share of the requests of the rarer one.
_AUDIO_GAP, _AUDIO_SPREAD, _AUDIO_TURNS, _AUDIO_FEWEST = 1.4, 0.25, 0.5, 4
#: A player that asks for one thing at a time may go up and down between two rungs too: audio that
#: is under way with video in less than this share takes turns more strictly, and varies less.
_AUDIO_TOGETHER, _STRICT_SPREAD, _STRICT_TURNS = 0.5, 0.05, 0.8
#: Requests for audio are shorter by so much (part), and by so many times what one differs from the
#: usual; most requests (part) are of about the usual size (log), others ask for other things too.
_REQUEST_STEP, _REQUEST_STEPS, _REQUEST_RANGE, _USUAL_REQUESTS = 0.04, 8.0, 0.25, 0.6
#: Audio begins anew in at least this share of the requests of the rarer kind: half would if kinds
#: were drawn, less where a player that was cut off fills one kind after the other.
_REQUEST_TURNS = 0.4


@dataclass(frozen=True)
class ConnectionExchanges:
    """Exchanges of all connections of an input, as the core measured them.

    Attributes:
        columns: Arrays of shape (n,), as :class:`~trafficgen._core.ExchangeMeter` returns them,
            with flows by their numbers in the flow table and times in ns since 1970.
        untold: Flows of datagrams whose requests are not distinguished from acknowledgements.
    """

    columns: Mapping[str, npt.NDArray[Any]]
    untold: frozenset[int] = frozenset()

    @classmethod
    def from_core(
        cls, found: Mapping[str, npt.NDArray[Any]], numbers: npt.NDArray[Any], *, origin_ns: int = 0
    ) -> ConnectionExchanges:
        """Put numbers of the flow table, and times since 1970, in place of the core's."""
        columns = {name: values for name, values in found.items() if name != "untold"}
        columns["flow"] = numbers[found["flow"]]
        for name in ("request_ns", "first_byte_ns", "last_byte_ns", "heard_ns"):
            times = columns[name]
            columns[name] = np.where(times == _NO_TIME_NS, times, times + origin_ns)
        return cls(columns, frozenset(int(flow) for flow in numbers[found["untold"]]))

    def select_session(self, flows: Collection[int]) -> Exchanges:
        """Return the exchanges of the flows of a session, in order of time."""
        chosen = np.isin(self.columns["flow"], list(flows))
        columns = {name: values[chosen] for name, values in self.columns.items()}
        request_ns, last_ns = columns["request_ns"], columns["last_byte_ns"]
        start_ns = np.where(request_ns == _NO_TIME_NS, columns["first_byte_ns"], request_ns)
        order = np.argsort(start_ns, kind="stable")
        columns = {name: values[order] for name, values in columns.items()}
        start_ns, last_ns = start_ns[order], last_ns[order]
        is_control = columns["is_control"] | (columns["response_bytes"] == 0)
        outstanding, think_s = _place_in_session(start_ns, last_ns, is_control)
        table = pa.table(
            {
                "connection": pa.array(columns["flow"], pa.uint32()),
                **{
                    name: pa.array(columns[name], pa.int64(), mask=columns[name] == _NO_TIME_NS)
                    for name in ("request_ns", "first_byte_ns", "last_byte_ns")
                },
                **{
                    name: pa.array(columns[name].astype(np.int64))
                    for name in ("request_bytes", "response_bytes")
                },
                "outstanding": pa.array((outstanding + columns["merged"]).astype(np.int32)),
                "think_s": pa.array(think_s, mask=np.isnan(think_s)),
                "kind": pa.array(_kinds(columns, start_ns, is_control)),
            }
        )
        return Exchanges(
            table.select(EXCHANGE_SCHEMA.names).cast(EXCHANGE_SCHEMA),
            tuple(sorted(self.untold & set(flows))),
            np.maximum(columns["heard_ns"], last_ns),
        )


def _place_in_session(
    start_ns: IntArray, last_ns: IntArray, is_control: BoolArray
) -> tuple[IntArray, npt.NDArray[np.float64]]:
    """Return how many others are open at each request, and the time since a response ended, s."""
    end_ns = np.maximum(last_ns, start_ns)
    ended = np.searchsorted(np.sort(end_ns), start_ns, side="left")
    # Of those before in order, what has not ended is open; what ends when it starts never is.
    outstanding = np.maximum(np.arange(len(start_ns)) - ended, 0)
    ends = np.sort(last_ns[~is_control])
    place = np.searchsorted(ends, start_ns, side="right") - 1
    think_s = np.full(len(start_ns), np.nan)
    known = place >= 0
    think_s[known] = s_from_ns(start_ns[known] - ends[place[known]])
    return outstanding, think_s


def _kinds(
    columns: Mapping[str, npt.NDArray[Any]], start_ns: IntArray, is_control: BoolArray
) -> npt.NDArray[Any]:
    """Return the kind of each exchange of a session, in order of time."""
    response_bytes, last_ns = columns["response_bytes"], columns["last_byte_ns"]
    kinds = np.full(len(response_bytes), "media", dtype="<U7")
    kinds[is_control] = "control"
    asked = np.flatnonzero(~is_control)
    sizes = response_bytes[asked].astype(np.float64)
    if not sizes.size:
        return kinds
    ordered = np.sort(sizes)
    half = ordered[np.searchsorted(np.cumsum(ordered), ordered.sum() / 2)]
    large = sizes >= max(_SMALL_PART * half, min(_SMALL_BYTES, half / 4))
    kinds[asked[~large]] = "small"
    media = asked[large]
    is_audio = _is_audio(sizes[large], start_ns[media], last_ns[media])
    if not is_audio.any():
        merged = columns["merged"][media]
        is_audio = _asks_for_audio(columns["request_bytes"][media] / (1 + merged), merged == 0)
    kinds[media[is_audio]] = "audio"
    return kinds


def _asks_for_audio(request_bytes: npt.NDArray[np.float64], is_single: BoolArray) -> BoolArray:
    """Return which requests are the shorter ones of two lengths in turn: those for audio.

    A player asks for the ranges of bytes of one file of audio and of one of video, whose addresses
    have lengths of their own (Gutterman and others, Requet, 2019); that of video says more.

    Args:
        request_bytes: Mean sizes of the requests of each exchange, bytes, shape (n,).
        is_single: Which exchanges are of one request.
    """
    none = np.zeros(len(request_bytes), dtype=np.bool_)
    # A request may not be in the capture: it has no length then.
    single = request_bytes[is_single & (request_bytes > 0)]
    if len(single) < 2 * _AUDIO_FEWEST:
        return none
    near = np.sort(single[np.abs(np.log(single / np.median(single))) < _REQUEST_RANGE])
    if len(near) < max(2 * _AUDIO_FEWEST, _USUAL_REQUESTS * len(single)):
        return none

    counts = np.arange(_AUDIO_FEWEST, len(near) - _AUDIO_FEWEST + 1)
    rests = _sum_from_median(near, 0, counts) + _sum_from_median(near, counts, len(near))
    parts = np.split(near, [int(counts[rests.argmin()])])
    short, long = (float(np.median(one)) for one in parts)
    off = np.median(np.concatenate([np.abs(one - np.median(one)) for one in parts]))
    if long - short < max(_REQUEST_STEP * short, _REQUEST_STEPS * float(off)):
        return none
    is_short = np.asarray(request_bytes < (short + long) / 2)
    turns = np.count_nonzero(np.diff(is_short.astype(np.int8)) == 1)
    rarer = min(np.count_nonzero(is_short), np.count_nonzero(~is_short))
    return is_short if turns >= _REQUEST_TURNS * rarer else none


def _sum_from_median(
    ascending: npt.NDArray[np.float64], starts: IntArray | int, stops: IntArray | int
) -> npt.NDArray[np.float64]:
    """Return how far values of each part are from its median, in sum; shape of starts or stops."""
    below = np.concatenate(([0.0], np.cumsum(ascending)))
    middle = starts + stops
    upper = below[stops] - below[(middle + 1) // 2]
    return np.asarray(upper - (below[middle // 2] - below[starts]))


def _is_audio(sizes: npt.NDArray[np.float64], start_ns: IntArray, last_ns: IntArray) -> BoolArray:
    """Return which segments are audio: of nearly one size, in turn with larger ones."""
    none = np.zeros(len(sizes), dtype=np.bool_)
    if len(sizes) < 2 * _AUDIO_FEWEST:
        return none
    logs = np.sort(np.log(sizes))
    for below in np.flatnonzero(np.diff(logs) >= np.log(_AUDIO_GAP)) + 1:
        lower = np.log(sizes) < logs[below]
        rarer = min(below, len(sizes) - below)
        if rarer < _AUDIO_FEWEST:
            continue
        is_together = _share_together(start_ns, last_ns, lower) >= _AUDIO_TOGETHER
        least_turns = _AUDIO_TURNS if is_together else _STRICT_TURNS
        turns = np.count_nonzero(np.diff(lower.astype(np.int8)) == 1)
        most_spread = _AUDIO_SPREAD if is_together else _STRICT_SPREAD
        if logs[:below].std() <= most_spread and turns >= least_turns * rarer:
            return np.asarray(lower)
    return none


def _share_together(start_ns: IntArray, last_ns: IntArray, chosen: BoolArray) -> float:
    """Return the share of chosen responses while which one of the others was under way."""
    end_ns = np.maximum(last_ns, start_ns)
    begun = np.searchsorted(np.sort(start_ns[~chosen]), end_ns[chosen], side="left")
    ended = np.searchsorted(np.sort(end_ns[~chosen]), start_ns[chosen], side="right")
    return float(np.mean(begun > ended))


@dataclass(frozen=True, eq=False)
class Exchanges(NotebookView):
    """Exchanges of one session: the requests of its client and what came.

    Attributes:
        table: Arrow table, a row an exchange, in order of time; columns as
            ``docs/reference/packet-table.md`` lists them.
        untold: Flows of QUIC or other datagrams in which requests are not distinguished
            from acknowledgements, as their sizes do not part.
        heard_ns: When the client had acknowledged the whole response, ns since 1970, shape (n,):
            from the sender's side a round trip after its last byte; int64's least without one.

    Example:
        >>> import trafficgen
        >>> found = trafficgen.measure_exchanges("examples/captures/http_burst_then_paced.pcap.gz")
        >>> found
        <Exchanges: 1 request on 1 connection, 6.14 MB in responses>
        >>> found.to_pandas()[["request_bytes", "response_bytes", "kind"]]
           request_bytes  response_bytes   kind
        0            402         6144276  media
    """

    table: pa.Table
    untold: tuple[int, ...] = ()
    heard_ns: IntArray = field(
        default_factory=lambda: np.empty(0, dtype=np.int64), repr=False, compare=False
    )

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __repr__(self) -> str:
        return f"<Exchanges: {self.summary_line()}>"

    def summary_line(self) -> str:
        """Return how many requests and bytes there are, and the usual think time, as one line."""
        media = self.column("kind") != "control"
        connections = len(np.unique(self.column("connection")[media]))
        size = int(self.column("response_bytes").sum())
        text = (
            f"{format_count(int(media.sum()), 'request')} on"
            f" {format_count(connections, 'connection')}, {size_text(size)} in responses"
        )
        think_s = self.column("think_s")[media]
        think_s = think_s[~np.isnan(think_s)]
        if len(think_s):
            text += f", {format_duration(float(np.median(think_s)))} between them"
        return text

    @checks_arguments
    def column(self, name: str) -> npt.NDArray[Any]:
        """Return a column as an array, shape (n,); of times and think times nulls are NaN."""
        if name not in (known := self.table.column_names):
            raise ValueError(f"name: no column {name!r} among exchanges; use {', '.join(known)}")
        values = self.table.column(name)
        return np.asarray(values.to_numpy(zero_copy_only=False))

    @checks_arguments
    def select_between(self, start_ns: float, end_ns: float) -> Exchanges:
        """Return those whose request, or first byte, is in an interval, ns since 1970."""
        first_ns = pc.coalesce(self.table.column("request_ns"), self.table.column("first_byte_ns"))
        times_ns = first_ns.to_numpy()
        inside = (times_ns >= start_ns) & (times_ns < end_ns)
        return Exchanges(self.table.filter(pa.array(inside)), self.untold, self.heard_ns[inside])

    def to_pandas(self) -> pd.DataFrame:
        """Return the exchanges as a data frame, a row each, in order of time."""
        return data_frame(self.table)

    def _notebook_data(self) -> dict[str, object]:
        rows = self.table.slice(0, SHOWN_ROWS).to_pylist()
        return {"untold": list(self.untold), "exchanges": FirstRows(rows, len(self))}
