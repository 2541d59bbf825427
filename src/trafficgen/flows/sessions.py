"""Group flows to sessions: control and media of one playout, and what they carry.

Rules, first to last: RTSP control with the media that its Transport headers name (or, where a
capture was cut before them, with the RTP and RTCP between the same hosts that began after it and
while it lasts; where no message is kept at all, with the UDP between them); RTCP with the RTP on
the port below, by their ports where payloads are not kept; RTP between the same hosts at the same
time (audio and video of one source); other UDP between two hosts that runs for most of the same
time (the two directions of a call, a game or a headset over ports of their own); connections of one
client to one web service (the same port and the same network of servers) without a long pause
between them.
"""

from __future__ import annotations

import itertools
import socket
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.flows.media_kinds import FIRST_MEDIA_PORT, find_rtcp_by_ports, list_media
from trafficgen.tables import RtpStreamCount
from trafficgen.units import ns_from_s


class SessionLimits:
    """When flows count as one session; tuned on the example and verification captures.

    Attributes:
        web_ports: Ports of web services, over which players fetch chunks.
        web_pause_s: A player's next connection within this pause belongs to the same playout, s; a
            longer one joins playouts of one viewer, a shorter one splits them at quality changes.
        rtsp_margin_s: Media of an RTSP session may begin and end this long outside its control
            connection, s: what is in flight when it closes.
        rtsp_ports: Ports of RTSP, whose connections count as control without a message too.
        service_ports: Ports from 1024 on of signalling (SIP, H.225, MGCP, H.248), discovery (SSDP,
            mDNS, LLMNR, WS-Discovery), tunnels (OpenVPN, L2TP, GTP, IPsec, VXLAN, Geneve,
            WireGuard), accounting (RADIUS) and flow records (NetFlow, IPFIX, sFlow): no media.
        together_share: UDP of one session is at the same time for this share of its longer flow,
        together_s: which lasts this long, s: short exchanges overlap by chance.
        ipv4_network_bits: Servers that share this many bits are of one content network,
        ipv6_network_bits: and this many of IPv6: the usual sizes of announced networks.
    """

    web_ports: frozenset[int] = frozenset({80, 443, 8000, 8080, 8443})
    web_pause_s: float = 10.0
    rtsp_margin_s: float = 5.0
    rtsp_ports: frozenset[int] = frozenset({554, 8554})
    service_ports: frozenset[int] = frozenset(
        {
            *(5060, 5061, 1719, 2427, 2727, 2944, 2945),
            *(1900, 5353, 5355, 3702),
            *(1194, 1701, 2123, 2152, 4500, 4789, 6081, 51820),
            *(1812, 1813, 2055, 4739, 6343),
        }
    )
    together_share: float = 0.8
    together_s: float = 2.0
    ipv4_network_bits: int = 24
    ipv6_network_bits: int = 48


_LIMITS = SessionLimits()


@dataclass(frozen=True, slots=True)
class Session:
    """Flows of one playout.

    Attributes:
        session: Number; session 0 has the heaviest flow.
        kind: ``rtsp``, ``rtp``, ``quic``, ``http``, or the protocol of its heaviest flow.
        play_time_ns: Time of the first RTSP PLAY request, ns from the table's origin; None where
            none was seen.
    """

    session: int
    kind: str
    flows: tuple[int, ...]
    play_time_ns: int | None = None


@dataclass(frozen=True)
class _Flow:
    """A row of the flow table, as grouping needs it."""

    flow: int
    protocol: str
    server: str
    server_port: int
    client: str
    client_port: int
    ssrc: int | None
    first_time_ns: int
    last_time_ns: int

    @property
    def hosts(self) -> frozenset[str]:
        return frozenset((self.server, self.client))

    @property
    def ports(self) -> frozenset[int]:
        return frozenset((self.server_port, self.client_port))

    def overlaps(self, other: _Flow) -> bool:
        return self.first_time_ns <= other.last_time_ns and other.first_time_ns <= self.last_time_ns


def group_sessions(
    flows: pa.Table,
    signalling: pa.Table,
    *,
    rtp_streams: Iterable[RtpStreamCount] = (),
    rtcp_flows: Collection[int] = (),
) -> pa.Table:
    """Return the flow table with ``session`` and ``media`` filled in.

    Flows are numbered by weight. RTP streams within RTSP connections show what these carry.
    """
    union = _Union(flows.num_rows)
    control = set(signalling.column("flow").to_pylist())
    silent = _list_silent_rtsp(flows, control)
    rows = _select_flows(flows, rtcp_flows=rtcp_flows, control=control, silent=silent)
    by_hosts: dict[frozenset[str], list[_Flow]] = defaultdict(list)
    for row in rows.values():
        if row.flow not in control and row.flow not in silent:
            by_hosts[row.hosts].append(row)
    named = _join_rtsp(rows, by_hosts, signalling, union)
    control = _join_silent_rtsp([rows[flow] for flow in silent], by_hosts, union)
    for media_flow, above in find_rtcp_by_ports(flows):
        union.join(media_flow, above)
        control.add(above)
    for together in by_hosts.values():
        _join_rtp(together, set(rtcp_flows), named, union)
    _join_udp(flows, union)
    _join_web(flows, union)
    kinds = list_media(flows, signalling, rtp_streams, control.union(rtcp_flows))
    media = pa.array(kinds, pa.string())
    flows = flows.set_column(
        flows.schema.get_field_index("media"), flows.schema.field("media"), media
    )
    sessions = pa.array(union.numbers(), pa.uint32())
    return flows.set_column(
        flows.schema.get_field_index("session"), flows.schema.field("session"), sessions
    )


def _list_silent_rtsp(flows: pa.Table, control: set[int]) -> set[int]:
    """Return the connections to ports of RTSP of which no message is kept."""
    ports = pa.array(sorted(_LIMITS.rtsp_ports), flows.schema.field("server_port").type)
    on_port = pc.and_(
        pc.equal(flows.column("protocol"), "tcp"), pc.is_in(flows.column("server_port"), ports)
    )
    return set(flows.column("flow").filter(on_port).to_pylist()) - control


def _select_flows(
    flows: pa.Table, *, rtcp_flows: Collection[int], control: set[int], silent: set[int]
) -> dict[int, _Flow]:
    """Return RTP and RTCP over UDP, RTSP connections, and the UDP of clients of silent ones."""
    kind = flows.schema.field("flow").type
    is_rtp = pc.is_valid(flows.column("ssrc"))
    if silent:
        own = flows.filter(pc.is_in(flows.column("flow"), pa.array(silent, kind)))
        is_rtp = pc.or_(is_rtp, pc.is_in(flows.column("client"), own.column("client")))
    is_rtp = pc.and_(pc.equal(flows.column("protocol"), "udp"), is_rtp)
    others = pa.array([*rtcp_flows, *control, *silent], kind)
    wanted = pc.or_(is_rtp, pc.is_in(flows.column("flow"), others))
    rows = flows.filter(wanted).select(list(_Flow.__dataclass_fields__)).to_pylist()
    return {row["flow"]: _Flow(**row) for row in rows}


def list_sessions(
    flows: pa.Table, signalling: pa.Table, applications: pa.ChunkedArray | None = None
) -> tuple[Session, ...]:
    """Return the sessions of a flow table, by number; see :func:`tabulate_sessions`."""
    columns = tabulate_sessions(flows, signalling, applications).to_pydict()
    members = map(tuple, columns.pop("flows"))
    rows = zip(columns["session"], columns["kind"], members, columns["play_time_ns"], strict=True)
    return tuple(itertools.starmap(Session, rows))


def tabulate_sessions(
    flows: pa.Table, signalling: pa.Table, applications: pa.ChunkedArray | None = None
) -> pa.Table:
    """Return the sessions of a flow table, by number, a row each, as :class:`Session` has them.

    ``applications`` is what the first packets of the flows show; None where it is not known.
    """
    numbers, owners = (np.asarray(flows.column(one).to_numpy()) for one in ("flow", "session"))
    order = np.lexsort((numbers, owners))
    sessions, main = np.unique(owners, return_index=True)  # rows of the heaviest flows
    ends = np.searchsorted(owners[order], sessions, side="right")
    offsets = pa.array(np.concatenate(([0], ends)), pa.int32())
    known = None if applications is None else applications.take(pa.array(main))
    kinds = _web_kinds(flows.select(["protocol", "server_port"]).take(main), known)
    signalled = pc.unique(signalling.column("flow"))
    rtp = flows.filter(pc.is_valid(flows.column("ssrc"))).column("session").to_numpy()
    of_rtsp = flows.filter(pc.is_in(flows.column("flow"), signalled))
    session_of = dict(zip(*of_rtsp.select(["flow", "session"]).to_pydict().values(), strict=True))
    kinds[np.isin(sessions, rtp)] = "rtp"
    kinds[np.isin(sessions, list(session_of.values()))] = "rtsp"
    plays: dict[int, int] = {}
    for message in signalling.filter(pc.equal(signalling.column("method"), "PLAY")).to_pylist():
        if message["flow"] not in session_of:
            continue  # of a session that was not chosen
        session = session_of[message["flow"]]
        plays[session] = min(message["time_ns"], plays.get(session, message["time_ns"]))
    return pa.table(
        {
            "session": sessions,
            "kind": pa.array(kinds, pa.string()),
            "flows": pa.ListArray.from_arrays(offsets, pa.array(numbers[order])),
            "play_time_ns": pa.array(map(plays.get, sessions.tolist()), pa.int64()),
        }
    )


def _web_kinds(flows: pa.Table, applications: pa.ChunkedArray | None) -> npt.NDArray[np.object_]:
    """Return :func:`web_kind` of flows, found once for all that are alike."""
    names = ["protocol", "server_port", "application"]
    known = pa.nulls(flows.num_rows, pa.string()) if applications is None else applications
    rows = flows.select(names[:2]).append_column(names[2], known)
    rows = rows.append_column("row", pa.array(np.arange(flows.num_rows)))
    kinds = np.empty(flows.num_rows, dtype=np.object_)
    for one in rows.group_by(names).aggregate([("row", "list")]).to_pylist():
        kinds[one["row_list"]] = web_kind(*(one[name] for name in names))
    return kinds


def web_kind(protocol: str, server_port: int, application: str | None) -> str:
    """Return ``quic`` or ``http`` for a flow of the web, else its protocol.

    Where the first packets show nothing (headers alone, or a connection that had begun), its port
    decides.
    """
    if application in ("quic", "http"):
        return application
    expected = _WEB_APPLICATIONS.get(protocol, ())
    if server_port in _LIMITS.web_ports and application in expected:
        return _WEB_KINDS[protocol]
    return protocol


_WEB_KINDS = {"udp": "quic", "tcp": "http"}
_WEB_APPLICATIONS = {"udp": (None,), "tcp": (None, "tls")}


class _Union:
    """Disjoint sets of flows, each named by its smallest number."""

    def __init__(self, count: int) -> None:
        self._parent = list(range(count))

    def find(self, flow: int) -> int:
        while self._parent[flow] != flow:
            self._parent[flow] = self._parent[self._parent[flow]]
            flow = self._parent[flow]
        return flow

    def join(self, one: int, other: int) -> None:
        low, high = sorted((self.find(one), self.find(other)))
        self._parent[high] = low

    def numbers(self) -> list[int]:
        """Return the session of each flow: sets are numbered in order of their smallest flow."""
        found: dict[int, int] = {}
        return [found.setdefault(self.find(flow), len(found)) for flow in range(len(self._parent))]


def _join_rtsp(
    rows: dict[int, _Flow],
    by_hosts: dict[frozenset[str], list[_Flow]],
    signalling: pa.Table,
    union: _Union,
) -> set[int]:
    """Join RTSP connections with their media, by Transport headers, else by time; return these."""
    ports: dict[int, set[int]] = defaultdict(set)
    for message in signalling.select(["flow", "client_ports", "server_ports"]).to_pylist():
        ports[message["flow"]].update(message["client_ports"], message["server_ports"])
    # All media that have a port which was named belong together: the first of them represents the
    # others, so that thousands of connections and streams are not compared each with each.
    named = {(rows[flow].hosts, port) for flow, numbers in ports.items() for port in numbers}
    first: dict[tuple[frozenset[str], int], int] = {}
    chosen: set[int] = set()
    for hosts in {hosts for hosts, _ in named}:
        for media in by_hosts.get(hosts, ()):
            for place in ((hosts, port) for port in media.ports if (hosts, port) in named):
                union.join(first.setdefault(place, media.flow), media.flow)
                chosen.add(media.flow)
    unnamed: dict[frozenset[str], list[_Flow]] = defaultdict(list)
    for flow, numbers in ports.items():
        hosts = rows[flow].hosts
        for place in ((hosts, port) for port in numbers if (hosts, port) in first):
            union.join(flow, first[place])
        if not numbers:
            unnamed[hosts].append(rows[flow])
    for hosts, controls in unnamed.items():
        streams = by_hosts.get(hosts, [])
        begun = _join_latest(streams, controls, union)
        chosen.update(begun.intersection(one.flow for one in streams))
        # Others are probes before the media, or take the place of a connection that was lost.
        _join_latest([one for one in controls if one.flow not in begun], streams, union)
    return chosen


def _join_silent_rtsp(
    silent: list[_Flow], by_hosts: Mapping[frozenset[str], list[_Flow]], union: _Union
) -> set[int]:
    """Join RTSP without messages with the UDP of its time, and with its other connections.

    Returns:
        Those that are control alone: between hosts with UDP media.
    """
    alone = set[int]()
    by_pair: dict[frozenset[str], list[_Flow]] = defaultdict(list)
    for control in silent:
        by_pair[control.hosts].append(control)
    for hosts, controls in by_pair.items():
        media = [one for one in by_hosts.get(hosts, ()) if min(one.ports) >= FIRST_MEDIA_PORT]
        _join_overlapping(controls, [*media, *controls], union)
        alone.update(one.flow for one in controls if media)
    return alone


def _join_latest(flows: Iterable[_Flow], others: Iterable[_Flow], union: _Union) -> set[int]:
    """Join each flow with the one of others that began last before it and lasts, else next after.

    So media without a name of theirs belong to the connection that began them, not to all of their
    time. Both are looked at in order of time, in one pass.

    Returns:
        All of both that were joined.
    """
    margin_ns = ns_from_s(_LIMITS.rtsp_margin_s)
    events = [(flow.first_time_ns, True, flow) for flow in flows]
    events += [(other.first_time_ns, False, other) for other in others]
    begun: list[_Flow] = []
    waiting: list[_Flow] = []
    joined: set[int] = set()

    def join(flow: _Flow, other: _Flow) -> None:
        union.join(flow.flow, other.flow)
        joined.update((flow.flow, other.flow))

    for start_ns, is_flow, one in sorted(events, key=lambda event: event[:2]):
        if not is_flow:
            begun.append(one)
            for flow in waiting:
                if flow.last_time_ns + margin_ns >= start_ns:
                    join(flow, one)
            waiting = []
            continue
        while begun and begun[-1].last_time_ns + margin_ns < start_ns:
            begun.pop()
        if begun:
            join(one, begun[-1])
        else:
            waiting.append(one)
    return joined


def _join_overlapping(controls: Iterable[_Flow], media: Iterable[_Flow], union: _Union) -> None:
    """Join connections that named no ports with media of the same time, in one pass."""
    margin_ns = ns_from_s(_LIMITS.rtsp_margin_s)
    by_start = [(flow.first_time_ns, True, flow) for flow in media]
    by_start += [(flow.first_time_ns - margin_ns, False, flow) for flow in controls]
    # Those that go on, media and connections. Of what was joined to one of the other side, the one
    # that goes on longest represents all: a later one that overlaps any of them overlaps that.
    going_on: dict[bool, list[_Flow]] = {True: [], False: []}
    for start_ns, is_media, flow in sorted(by_start, key=lambda one: one[0]):
        away_ns = margin_ns if is_media else 0
        others = [one for one in going_on[not is_media] if one.last_time_ns + away_ns >= start_ns]
        for other in others:
            union.join(flow.flow, other.flow)
        going_on[not is_media] = [max(others, key=lambda one: one.last_time_ns)] if others else []
        going_on[is_media].append(flow)


def _join_rtp(together: list[_Flow], rtcp_flows: set[int], named: set[int], union: _Union) -> None:
    """Join RTP between two hosts with its RTCP, and with RTP of the same time.

    What an RTSP connection began (``named``) has its session: no other stream is part of that for
    its time alone.
    """
    media = [row for row in together if row.ssrc is not None and row.flow not in rtcp_flows]
    by_port = {(row.server, row.server_port, row.client, row.client_port): row for row in media}
    for control in (row for row in together if row.flow in rtcp_flows):
        below = (control.server, control.server_port - 1, control.client, control.client_port - 1)
        if below in by_port:
            union.join(by_port[below].flow, control.flow)
    media = sorted(
        (row for row in media if row.flow not in named), key=lambda row: row.first_time_ns
    )
    for before, after in itertools.pairwise(media):
        if before.overlaps(after) and before.server == after.server:
            union.join(before.flow, after.flow)


def _join_udp(flows: pa.Table, union: _Union) -> None:
    """Join UDP of two hosts, neither RTP nor of a known service, that runs at the same time."""
    is_udp = pc.and_(pc.equal(flows.column("protocol"), "udp"), pc.is_null(flows.column("ssrc")))
    for end in ("server_port", "client_port"):
        is_udp = pc.and_(is_udp, pc.greater_equal(flows.column(end), FIRST_MEDIA_PORT))
        services = sorted(_LIMITS.web_ports | _LIMITS.service_ports)
        ports = pa.array(services, flows.schema.field(end).type)
        is_udp = pc.and_(is_udp, pc.invert(pc.is_in(flows.column(end), ports)))
    length_ns = pc.subtract(flows.column("last_time_ns"), flows.column("first_time_ns"))
    is_long = pc.greater_equal(length_ns, ns_from_s(_LIMITS.together_s))
    rows = flows.filter(pc.and_(is_udp, is_long))
    if rows.num_rows < 2:
        return
    ends = pa.chunked_array([*rows.column("server").chunks, *rows.column("client").chunks])
    codes = np.sort(_codes(ends).reshape(2, -1), axis=0)  # either end may be the server
    first, last = (rows.column(f"{which}_time_ns").to_numpy() for which in ("first", "last"))
    order = np.lexsort((first, *codes))
    codes, first, last = codes[:, order], first[order], last[order]
    number = rows.column("flow").to_numpy()[order]
    together = np.minimum(last[:-1], last[1:]) - first[1:]
    length = last - first
    longer = np.maximum(length[:-1], length[1:])
    is_one = (together >= _LIMITS.together_share * longer) & (np.diff(codes) == 0).all(axis=0)
    for before in np.flatnonzero(is_one).tolist():
        union.join(int(number[before]), int(number[before + 1]))


def _join_web(flows: pa.Table, union: _Union) -> None:
    ports = pa.array(sorted(_LIMITS.web_ports), flows.schema.field("server_port").type)
    kinds = pa.array(sorted(_WEB_KINDS))
    wanted = pc.and_(
        pc.is_in(flows.column("server_port"), ports), pc.is_in(flows.column("protocol"), kinds)
    )
    web = flows.filter(wanted)
    if web.num_rows == 0:
        return
    groups = (
        _codes(web.column("client")),
        _network_codes(web.column("server")),
        web.column("server_port").to_numpy(),
    )
    first_ns, last_ns = (web.column(f"{which}_time_ns").to_numpy() for which in ("first", "last"))
    order = np.lexsort((first_ns, *groups))
    # Where the next connection in order is of another client, network of servers or port.
    breaks = np.any([np.diff(group[order]) != 0 for group in groups], axis=0).tolist()
    pause_ns = ns_from_s(_LIMITS.web_pause_s)
    numbers, firsts, lasts = (
        column[order].tolist() for column in (web.column("flow").to_numpy(), first_ns, last_ns)
    )
    latest_ns = lasts[0]
    for before, is_break in enumerate(breaks):
        after = before + 1
        if is_break:
            latest_ns = lasts[after]
            continue
        if firsts[after] <= latest_ns + pause_ns:
            union.join(numbers[before], numbers[after])
        latest_ns = max(latest_ns, lasts[after])


def _codes(texts: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return a number for each text, the same for the same text."""
    return np.asarray(texts.combine_chunks().dictionary_encode().indices.to_numpy(), dtype=np.int64)


def _network_codes(servers: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return a number for each server's network: content networks spread a player over it."""
    encoded = servers.combine_chunks().dictionary_encode()
    networks = pa.array(
        [_network(address) for address in encoded.dictionary.to_pylist()], pa.binary()
    )
    by_server = np.asarray(networks.dictionary_encode().indices.to_numpy(), dtype=np.int64)
    return np.asarray(by_server[encoded.indices.to_numpy()])


def _network(address: str) -> bytes:
    """Return the network of a server, as the first bytes of its address."""
    if ":" in address:
        return socket.inet_pton(socket.AF_INET6, address)[: _LIMITS.ipv6_network_bits // 8]
    return socket.inet_pton(socket.AF_INET, address)[: _LIMITS.ipv4_network_bits // 8]
