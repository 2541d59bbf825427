"""Summarise a capture or packet table: its flows, RTP streams and sessions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import sub
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.data_frames import data_frame
from trafficgen.errors import SelectionError
from trafficgen.flows.exchanges import EXCHANGE_SCHEMA, ConnectionExchanges, Exchanges
from trafficgen.flows.selection import heaviest_session, require_number, swap_flow_ends
from trafficgen.flows.sessions import Session, list_sessions, tabulate_sessions
from trafficgen.formatting import format_count, number, one_line
from trafficgen.json_text import JsonColumns, iterate_rows
from trafficgen.notebook import SHOWN_ROWS, FirstRows, NotebookView
from trafficgen.options import check_argument, checks_arguments
from trafficgen.progress import report_each, report_step
from trafficgen.standard_streams import restore_name
from trafficgen.tables import FlowRates, RtpStreamCount
from trafficgen.units import NS_PER_S, FloatArray, kbps_from_bytes, s_from_ns

if TYPE_CHECKING:
    import pandas as pd

_ROWS_PER_STEP = 10_000
_END_COLUMNS = ("server", "server_port", "client", "client_port", "media")


@dataclass(frozen=True)
class _Pieces:
    """A long list of which some thousand rows are described at once."""

    rows: int
    describe: Callable[[slice], JsonColumns]

    def iterate(self, unit: str) -> Iterator[JsonColumns]:
        """Yield the pieces, and report how far it is."""
        for start in range(0, self.rows, _ROWS_PER_STEP):
            report_step("describing", start, self.rows, unit=unit)
            yield self.describe(slice(start, start + _ROWS_PER_STEP))

    def iterate_rows(self, unit: str) -> Iterator[dict[str, object]]:
        """Return the rows, and report how far it is."""
        pieces = (
            self.describe(slice(start, start + _ROWS_PER_STEP))
            for start in range(0, self.rows, _ROWS_PER_STEP)
        )
        rows = (row for columns in pieces for row in iterate_rows(columns))
        return report_each(rows, "describing", total=self.rows, unit=unit)


@dataclass(frozen=True, eq=False)
class Inspection(NotebookView):
    """What is in one capture (or several read as one), or in a packet table.

    Attributes:
        files: Names as given.
        packets: Packets in all.
        ip_packets: Packets that belong to a flow.
        frame_bytes: Bytes on the wire in all.
        start_time_ns: Time of the first packet, ns since 1970.
        origin_ns: Time from which the flow table counts, ns since 1970.
        duration_s: From the first packet to the last, s.
        flows: Flow table.
        rtp_streams: Counts of the RTP streams.
        signalling: RTSP messages.
        warnings: What was odd.
        rates: Frame bytes over time of each flow by its number, s from the first packet; of the
            heavier ones where there are more than a thousand.
        labels: What the first packets of each captured flow say, in the order of ``flows``:
            ``application`` (quic, tls, http, dns, dtls, stun) and ``name``, the server's name from
            TLS, HTTP or DNS; null where unknown. None for packet tables.
        exchanges: Requests and responses of all connections; None where they were not measured.

    Example:
        >>> import trafficgen
        >>> found = trafficgen.inspect("examples/captures/rtsp_rtp_two_streams.pcap.gz")
        >>> found
        <Inspection of rtsp_rtp_two_streams.pcap.gz: 2,069 packets, 3 flows, 1 session, 61.38 s, 1
        warning>
        >>> for session in found.sessions:
        ...     print(session.kind, "of flows", session.flows)
        rtsp of flows (0, 1, 2)
        >>> video = found.describe_flow(0)["rtp"]
        >>> print(video["lost"], "of", video["expected"], "RTP packets lost")
        0 of 1920 RTP packets lost
    """

    files: tuple[str, ...]
    packets: int
    ip_packets: int
    frame_bytes: int
    start_time_ns: int
    origin_ns: int
    duration_s: float
    flows: pa.Table
    rtp_streams: tuple[RtpStreamCount, ...]
    signalling: pa.Table
    warnings: tuple[str, ...]
    rates: Mapping[int, FlowRates] = field(default_factory=dict, repr=False, compare=False)
    labels: pa.Table | None = field(default=None, repr=False, compare=False)
    exchanges: ConnectionExchanges | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        more = f" and {format_count(len(self.files) - 1, 'more file')}" if self.files[1:] else ""
        first = one_line(PurePath(restore_name(self.files[0])).name) if self.files else "nothing"
        sessions = int(pc.count_distinct(self.flows.column("session")).as_py())
        parts = [
            format_count(self.packets, "packet"),
            format_count(self.flows.num_rows, "flow"),
            format_count(sessions, "session"),
            f"{number(self.duration_s)} s",
            *([format_count(len(self.warnings), "warning")] if self.warnings else []),
        ]
        return f"<Inspection of {first}{more}: {', '.join(parts)}>"

    def _notebook_data(self) -> dict[str, object]:
        largest = self.describe_flows(SHOWN_ROWS)
        return {**self.json_head(), "flows": FirstRows(largest, self.flows.num_rows)}

    @checks_arguments
    def measure_rates(self, bins: int) -> tuple[FloatArray, FloatArray]:
        """Return the rates of all flows together over equal parts of the capture, kbit/s.

        A flow of which no rate over time was kept (the lighter ones of thousands) counts evenly
        from its first packet to its last, so that no byte is missing.

        Args:
            bins: Number of parts, >= 1.

        Returns:
            The rates to clients and to servers, each of shape (bins,).
        """
        end_s = self.duration_s
        if not end_s > 0:
            return np.zeros(bins), np.zeros(bins)
        numbers = pa.array(list(self.rates), self.flows.schema.field("flow").type)
        others = self.flows.filter(pc.invert(pc.is_in(self.flows.column("flow"), numbers)))
        start_ns = others.column("first_time_ns").to_numpy() + self.origin_ns - self.start_time_ns
        last_ns, first_ns = (
            others.column(f"{end}_time_ns").to_numpy() for end in ("last", "first")
        )
        length_ns = np.maximum(last_ns - first_ns, 1)
        edges_ns = np.linspace(0.0, end_s * NS_PER_S, bins + 1)

        def measure(way: str) -> FloatArray:
            size_bytes = others.column(f"frame_bytes_{way}").to_numpy()
            until = [
                size_bytes @ np.clip((at - start_ns) / length_ns, 0, 1) for at in edges_ns[:-1]
            ]
            rate_kbps = np.diff([*until, size_bytes.sum()]) * kbps_from_bytes(1.0, end_s / bins)
            for flow in self.rates.values():
                rate_kbps += getattr(flow, way).rate_kbps(bins, start_s=0.0, end_s=end_s)
            return np.asarray(rate_kbps)

        return measure("to_client"), measure("to_server")

    def to_pandas(self) -> pd.DataFrame:
        """Return the flow table as a pandas data frame with nullable types, a row a flow."""
        return data_frame(self.flows)

    @property
    def sessions(self) -> tuple[Session, ...]:
        """Sessions, by number."""
        return list_sessions(self.flows, self.signalling, self._applications)

    @property
    def _applications(self) -> pa.ChunkedArray | None:
        return None if self.labels is None else self.labels.column("application")

    @checks_arguments
    def session_kinds(self, sessions: Collection[int]) -> dict[int, str]:
        """Return the kinds of some sessions: those of a network's millions would take long."""
        for session in sessions:
            check_argument("each of sessions", session, int)
        wanted = pa.array(list(sessions), self.flows.schema.field("session").type)
        members = pc.is_in(self.flows.column("session"), wanted)
        known = None if self._applications is None else self._applications.filter(members)
        found = list_sessions(self.flows.filter(members), self.signalling, known)
        return {session.session: session.kind for session in found}

    @checks_arguments
    def session_exchanges(
        self, session: int | None = None, *, flow: int | None = None
    ) -> Exchanges:
        """Return the exchanges of a session or of one flow.

        Args:
            session: Number of a session; None takes the one that carries most bytes to a client.
            flow: Number of a flow that is taken alone.

        Raises:
            SelectionError: If there is no such session, or nothing that carries bytes to a client.
        """
        if session is None:
            session = heaviest_session(self.flows)
        name, number = ("session", session) if flow is None else ("flow", flow)
        chosen = pc.equal(self.flows.column(name), number)
        members = [] if number is None else self.flows.column("flow").filter(chosen).to_pylist()
        if not members:
            if number is None:
                reason = "give an input with traffic to a client"
                raise SelectionError(what="session with bytes to a client", available=reason)
            known = sorted(set(self.flows.column(name).to_pylist()))
            require_number(number, known, what=name)
        if self.exchanges is None:
            return Exchanges(EXCHANGE_SCHEMA.empty_table())
        return self.exchanges.select_session(members)

    def swap_ends(self) -> Inspection:
        """Return the same with server and client exchanged, as an upload is looked at."""
        streams = tuple(
            replace(stream, to_client=not stream.to_client) for stream in self.rtp_streams
        )
        rates = {flow: curves.swap_ends() for flow, curves in self.rates.items()}
        return replace(self, flows=swap_flow_ends(self.flows), rtp_streams=streams, rates=rates)

    @checks_arguments
    def describe_flows(self, largest: int | None = None) -> list[dict[str, object]]:
        """Return the flows as JSON has them, most frame bytes first.

        Args:
            largest: How many; None describes all.
        """
        return list(self._flow_columns(largest).iterate_rows("flows"))

    def _flow_columns(self, largest: int | None = None) -> _Pieces:
        frame_bytes = sum(
            self.flows.column(f"frame_bytes_to_{end}").to_numpy().astype(np.int64)
            for end in ("client", "server")
        )
        heaviest_first = np.lexsort((self.flows.column("flow").to_numpy(), -frame_bytes))[:largest]
        streams = _group_by_flow(self.rtp_streams)
        return _Pieces(
            len(heaviest_first),
            lambda piece: self._describe_rows(pa.array(heaviest_first[piece]), streams),
        )

    @checks_arguments
    def describe_flow(self, number: int) -> dict[str, object]:
        """Return one flow as JSON has it.

        Raises:
            SelectionError: If there is no such flow.
        """
        numbers = self.flows.column("flow")
        place = pc.index(numbers, number).as_py()
        if place < 0:
            require_number(number, numbers.to_pylist(), what="flow")
        columns = self._describe_rows(pa.array([place]), _group_by_flow(self.rtp_streams))
        return next(iterate_rows(columns))

    def _describe_rows(
        self, rows: pa.Array, streams: Mapping[int, list[RtpStreamCount]]
    ) -> JsonColumns:
        """Return some rows of the flow table, with their RTP streams, as JSON has them."""
        flows = self.flows.take(rows).combine_chunks()
        labels = self.labels and self.labels.take(rows)
        ways = {
            way: {
                what: flows.column(f"{what}_{way}").combine_chunks()
                for what in ("packets", "frame_bytes")
            }
            for way in ("to_client", "to_server")
        }
        first_ns, last_ns = (
            flows.column(f"{end}_time_ns").to_pylist() for end in ("first", "last")
        )
        named = {
            name: labels.column(name) if labels else pa.nulls(len(rows), pa.string())
            for name in ("application", "name")
        }
        of_flow = (streams.get(flow) for flow in flows.column("flow").to_pylist())
        return {
            **{name: flows.column(name) for name in ("flow", "session", "protocol")},
            **named,
            **{name: flows.column(name) for name in _END_COLUMNS},
            **{
                what: pc.add(ways["to_client"][what], ways["to_server"][what])
                for what in ("packets", "frame_bytes")
            },
            "start_s": list(map(self._capture_time_s, first_ns)),
            "duration_s": list(map(s_from_ns, map(sub, last_ns, first_ns))),
            **ways,
            "rtp": [found and _describe_rtp(found) for found in of_flow],
        }

    def _capture_time_s(self, time_ns: int) -> float:
        """Return a time of the flow table, s after the first packet."""
        return s_from_ns(time_ns + self.origin_ns - self.start_time_ns)

    @checks_arguments
    def play_s(self, session: Session) -> float | None:
        """Return when a session's first RTSP PLAY was, s after the first packet, or None."""
        return self._play_s(session.play_time_ns)

    def _play_s(self, time_ns: int | None) -> float | None:
        return None if time_ns is None else self._capture_time_s(time_ns)

    def to_json(self) -> dict[str, object]:
        """Return the whole as JSON-compatible values, keys as published."""
        return {
            **self.json_head(),
            **{name: list(values) for name, values in self.json_lists().items()},
        }

    def json_head(self) -> dict[str, object]:
        """Return what :meth:`to_json` has before its long lists."""
        return {
            "files": [restore_name(file) for file in self.files],
            "packets": self.packets,
            "ip_packets": self.ip_packets,
            "frame_bytes": self.frame_bytes,
            "start_time_ns": self.start_time_ns,
            "duration_s": self.duration_s,
            "warnings": list(self.warnings),
        }

    def json_lists(self) -> dict[str, Iterator[dict[str, object]]]:
        """Return its lists as iterators: captures of whole networks have millions of flows."""
        pieces = {"sessions": self._session_columns(), "flows": self._flow_columns()}
        return {name: columns.iterate_rows(name) for name, columns in pieces.items()}

    def json_columns(self) -> dict[str, Iterator[JsonColumns]]:
        """Return its lists in columns of some thousands of rows, which are written fast."""
        pieces = {"sessions": self._session_columns(), "flows": self._flow_columns()}
        return {name: columns.iterate(name) for name, columns in pieces.items()}

    def _session_columns(self) -> _Pieces:
        sessions = tabulate_sessions(self.flows, self.signalling, self._applications)

        def describe(piece: slice) -> JsonColumns:
            rows = sessions.slice(piece.start, piece.stop - piece.start)
            plays = rows.column("play_time_ns").to_pylist()
            columns = {name: rows.column(name) for name in ("session", "kind", "flows")}
            return {**columns, "play_s": list(map(self._play_s, plays))}

        return _Pieces(sessions.num_rows, describe)


def _describe_rtp(streams: list[RtpStreamCount]) -> dict[str, object]:
    """Return the main RTP stream of a flow as JSON has it, with the others where there are any."""
    main = max(streams, key=lambda stream: (stream.to_client, stream.packets))
    described = _describe_stream(main)
    if len(streams) > 1:
        described["streams"] = [
            {"to_client": stream.to_client, "channel": stream.channel, **_describe_stream(stream)}
            for stream in streams
        ]
    return described


def _describe_stream(stream: RtpStreamCount) -> dict[str, object]:
    counts = ("expected", "lost", "reordered", "duplicates", "jitter_s")
    return {name: getattr(stream, name) for name in ("ssrc", "payload_type", "clock_hz", *counts)}


def _group_by_flow(streams: tuple[RtpStreamCount, ...]) -> dict[int, list[RtpStreamCount]]:
    by_flow: dict[int, list[RtpStreamCount]] = {}
    for stream in streams:
        by_flow.setdefault(stream.flow, []).append(stream)
    return by_flow
