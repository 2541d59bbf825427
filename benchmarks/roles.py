"""Work timed in a Python process of its own; the last line printed is ``elapsed_s=NUMBER``."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import dpkt
import numpy as np
import pyarrow as pa
from benchmarks.measure import OURS, ROOT
from benchmarks.workload import make_schedule, make_small_flows, make_table
from scipy import stats

from benchmarks import generation_roles as generation
from trafficgen import export, fit, generate, inspect, read_packets, simulate_workload
from trafficgen.distributions.fitting.fit_law import fit_law
from trafficgen.export.targets import TARGETS
from trafficgen.packet_files.writing import write_packets
from trafficgen.simulation.run import run_scenario
from trafficgen.tables import PacketTable

_MEAN_RECORD_BYTES = 816
#: What a fit may take: at least, and for each packet.
_FIT_BYTES, _FIT_PACKET_BYTES = 1_000_000_000, 400
_SMALL_CAPTURE = ROOT / "examples" / "captures" / "rtsp_rtp_two_streams.pcap.gz"


def read_with_trafficgen(path: Path) -> int:
    """Read a capture into packet and flow tables and return the number of packets."""
    return len(read_packets(path))


def make(path: Path, packets: int) -> None:
    """Write the workload, and its head of a tenth as ``head.pcap`` beside it, for the slow ones."""
    table = make_table(packets)
    write_packets(table, path)
    write_packets(make_table(packets // 10), path.with_name("head.pcap"))
    print(path.stat().st_size, path.with_name("head.pcap").stat().st_size)


def make_flows(path: Path, packets: int) -> None:
    """Write a capture of many flows of five packets each."""
    write_packets(make_small_flows(packets), path)


def write_ours(path: Path, packets: int) -> float:
    table = make_table(packets)
    generation.touch_memory(packets * _MEAN_RECORD_BYTES, path.parent)
    before = os.times()
    write_packets(table, path)
    after = os.times()
    building_s, kernel_s = after.user - before.user, after.system - before.system
    print(f"note={building_s:.2f} s building, {kernel_s:.2f} s in the kernel")
    return building_s + kernel_s


def write_dpkt(path: Path, packets: int) -> float:
    """Build the same frames with dpkt, object by object, and write them with its writer."""
    table = make_table(packets)
    rows = table.packets.to_pylist()
    flows = table.flows.to_pylist()
    started = time.process_time()
    with path.open("wb") as stream:
        writer = dpkt.pcap.Writer(stream, nano=True)
        for row in rows:
            writer.writepkt(bytes(_dpkt_frame(row, flows[row["flow"]])), row["time_ns"] / 1e9)
    return time.process_time() - started


def _dpkt_frame(row: dict[str, int], flow: dict[str, str]) -> dpkt.ethernet.Ethernet:
    if flow["protocol"] == "udp":
        rtp = dpkt.rtp.RTP(
            seq=row["rtp_sequence"],
            ts=row["rtp_timestamp"],
            ssrc=row["rtp_ssrc"],
            data=bytes(row["payload_bytes"] - 12),
        )
        transport = dpkt.udp.UDP(
            sport=flow["server_port"],
            dport=flow["client_port"],
            ulen=row["ip_bytes"] - 20,
            data=rtp,
        )
        number = dpkt.ip.IP_PROTO_UDP
    else:
        transport = dpkt.tcp.TCP(
            sport=flow["server_port"],
            dport=flow["client_port"],
            seq=row["tcp_sequence"],
            ack=row["tcp_acknowledgement"],
            flags=row["tcp_flags"],
            data=bytes(row["payload_bytes"]),
        )
        number = dpkt.ip.IP_PROTO_TCP
    ends = {"src": socket.inet_aton(flow["server"]), "dst": socket.inet_aton(flow["client"])}
    return dpkt.ethernet.Ethernet(
        data=dpkt.ip.IP(**ends, p=number, len=row["ip_bytes"], data=transport)
    )


def read_ours(path: Path, packets: int) -> float:
    return _time_reading(read_with_trafficgen, path, packets)


def inspect_ours(path: Path, packets: int) -> float:
    """Look into a capture, which holds no packets in memory."""
    return _time_reading(lambda path: inspect(path).packets, path, packets)


def read_dpkt(path: Path, packets: int) -> float:
    started = time.process_time()
    with path.open("rb") as stream:
        found = sum(
            1 for _, frame in dpkt.pcap.Reader(stream) if dpkt.ethernet.Ethernet(frame).data
        )
    elapsed_s = time.process_time() - started
    _expect(found, packets)
    return elapsed_s


def make_flow(path: Path, packets: int, *, kind: str) -> None:
    """Write a capture of one flow: log-normal gaps, bursts of ten packets, or a varying rate."""
    random = np.random.default_rng(0)
    if kind == "bursts":
        gap_s = np.where(
            random.random(packets) < 0.1,
            random.gamma(4.0, 0.01, packets),
            random.exponential(4e-4, packets),
        )
    else:
        gap_s = random.lognormal(np.log(3e-3), 1.0, packets)
    if kind == "swelling":
        gap_s /= 1 + 0.8 * np.sin(2 * np.pi * np.arange(packets) * 4e-3 / 20)
    sizes = np.where(
        random.random(packets) < 0.35,
        1500,
        np.clip(random.lognormal(np.log(500), 0.45, packets), 60, 1499),
    )
    table = make_table(packets)
    columns = {
        "time_ns": pa.array((np.cumsum(gap_s) * 1e9).astype(np.int64)),
        "flow": pa.array(np.zeros(packets, dtype=np.uint32)),
        "to_client": table.packets["to_client"],
        "frame_bytes": pa.array(sizes.astype(np.uint32) + np.uint32(14)),
        "ip_bytes": pa.array(sizes.astype(np.uint32)),
        "payload_bytes": pa.array(sizes.astype(np.uint32) - np.uint32(28)),
    }
    write_packets(
        PacketTable(
            packets=pa.table(columns), flows=table.flows.slice(0, 1), origin_ns=table.origin_ns
        ),
        path,
        snaplen_bytes=generation.HEADERS_BYTES,
    )


def make_frames(path: Path, packets: int) -> None:
    """Write a capture of video and audio frames over RTP, played from a fit of a real session."""
    model = fit(_SMALL_CAPTURE).model
    known = generate(model)
    duration_s = packets * (known.time_ns[-1] - known.time_ns[0]) / 1e9 / len(known)
    generate(model, path, duration_s=duration_s, snaplen_bytes=generation.HEADERS_BYTES)


def fit_ours(path: Path, packets: int) -> float:
    """Fit a model and return the processor time; one core, as the environment says."""
    memory_bytes = max(_FIT_BYTES, _FIT_PACKET_BYTES * packets)
    started = time.process_time()
    fitted = fit(path, memory_bytes=memory_bytes)
    elapsed_s = time.process_time() - started
    print(f"note={fitted.model.streams[0].phases[-1].process.kind}")
    return elapsed_s


def fit_command(path: Path, packets: int) -> float:
    """Run ``trafficgen fit``; return its processor time and note the packets that it fitted."""
    del packets
    before = os.times()
    with tempfile.NamedTemporaryFile(suffix=".json") as model:
        subprocess.run(
            [OURS, "fit", str(path), "--force", "-o", model.name],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        after, fitted = os.times(), json.loads(Path(model.name).read_text(encoding="utf-8"))
    kinds = {phase["process"]["kind"] for one in fitted["streams"] for phase in one["phases"]}
    print(f"note={', '.join(sorted(kinds))}")
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )


def make_population(path: Path, count: int) -> None:
    """Write captures of headers alone, one for each seed, beside a model."""
    for seed in range(count):
        generate(path, path.with_name(f"{seed:03}.pcap"), seed=seed, snaplen_bytes=128)


def fit_gaps_ours(path: Path, packets: int) -> float:
    """Fit and choose the law of the gaps with intervals, as a fit does; return processor time."""
    del packets
    gap_s = np.diff(read_packets(path).time_ns) / 1e9
    gap_s = gap_s[gap_s > 0]
    started = time.process_time()
    fit_law(gap_s, unit="s", tick=1e-9, generator=np.random.default_rng(0))
    return time.process_time() - started


def fit_scipy(path: Path, packets: int) -> float:
    """Fit five families to the gaps with scipy, and test the log-normal one by bootstrap.

    The bootstrap is the size of ours: 99 samples of at most 1000 values.
    """
    gap_s = np.diff(read_packets(path).time_ns) / 1e9
    gap_s = gap_s[gap_s > 0]
    started = time.process_time()
    for law in (stats.expon, stats.lognorm, stats.gamma, stats.weibull_min, stats.pareto):
        params = law.fit(gap_s, floc=0)
        stats.kstest(gap_s, law.cdf, args=params)
    part = np.random.default_rng(0).choice(gap_s, min(1000, gap_s.size), replace=False)
    stats.goodness_of_fit(
        stats.lognorm, part, known_params={"loc": 0}, statistic="ks", n_mc_samples=99
    )
    return time.process_time() - started


def simulate_dumbbell(path: Path, packets: int, *, keeps_packets: bool = False) -> float:
    """Simulate the dumbbell of ``tests/verification/ns3_dumbbell.py``; time the event loop only.

    As that script does, it keeps sums of the flows alone, or else a row of each packet.
    """
    del packets
    setup = json.loads(path.read_text(encoding="utf-8"))
    link = {
        "name": "there",
        "capacity": {"constant": {"rate_bps": setup["rate_bps"]}},
        "delay_s": setup["delay_s"],
        "queue": {"packets": setup["queue_packets"]},
        "overhead_bytes": 2,
    }
    packet_bytes = setup["payload_bytes"] + 28
    media = {
        "rate_bps": setup["udp_bps"] * packet_bytes / setup["payload_bytes"],
        "packet_bytes": packet_bytes,
        "duration_s": setup["seconds"],
    }
    tcp = {"tcp": {"congestion_control": setup["congestion_control"]}}
    route = {"forward": [0], "reverse": [1]}
    agents = [
        {"name": "media", "kind": "cbr", "parameters": media, "awaited": True, **route},
        {
            "name": "tcp",
            "kind": "bulk_tcp",
            "parameters": tcp,
            "start_s": -setup["head_start_s"],
            **route,
        },
    ]
    scenario = {
        "seed": 1,
        "links": [link, {**link, "name": "back"}],
        "agents": agents,
        "end_s": 1e6,
        "sums_only": not keeps_packets,
    }
    return _timed(scenario)


def simulate_players(path: Path, sessions: int) -> float:
    """Simulate DASH players that watch three minutes over one link; 20 start in a second."""
    del path
    started = time.process_time()
    result = simulate_workload(
        "dashjs",
        path=f"rate={1.5 * sessions}Mbps,delay=20ms,aqm=fq_codel",
        sessions=sessions,
        window_s=max(sessions / 20, 1),
        duration_s=180,
        seed=1,
    )
    elapsed_s = time.process_time() - started
    _note_events(result.packet_events, sum(link["packets_in"] for link in result.links), elapsed_s)
    return elapsed_s


def export_to(path: Path, packets: int, *, target: str) -> float:
    """Export the schedule to one target."""
    table = make_schedule(packets)
    started = time.process_time()
    report = export(table, to=target, directory=path)
    elapsed_s = time.process_time() - started
    size_bytes = sum(file.stat().st_size for file in path.iterdir())
    print(f"note={len(report.files)} files, {size_bytes / 1e6:.0f} MB")
    return elapsed_s


def lines_of_a_loop(path: Path, packets: int) -> float:
    """Write time and size of each packet as people's scripts do: line by line."""
    table = make_schedule(packets)
    started = time.process_time()
    with path.open("w", encoding="ascii") as stream:
        for time_ns, size_bytes in zip(table.time_ns, table.payload_bytes, strict=True):
            stream.write(f"{time_ns / 1e9:.6f} {size_bytes}\n")
    return time.process_time() - started


def lines_of_numpy(path: Path, packets: int) -> float:
    """Write the same with numpy's writer of text."""
    table = make_schedule(packets)
    started = time.process_time()
    np.savetxt(path, np.column_stack((table.time_ns / 1e9, table.payload_bytes)), fmt="%.6f %d")
    return time.process_time() - started


def _timed(scenario: dict[str, object]) -> float:
    started = time.process_time()
    outcome = run_scenario(scenario)
    elapsed_s = time.process_time() - started
    sent = sum(link["packets_in"] for link in outcome.links)
    _note_events(outcome.packet_events, outcome.packets or sent, elapsed_s)
    return elapsed_s


def _note_events(events: int, packets: int, elapsed_s: float) -> None:
    print(f"note={events / elapsed_s / 1e6:.1f} million packet events/s, {packets} packets")


def _time_reading(count: Callable[[Path], int], path: Path, packets: int) -> float:
    """Return the time of reading; a small capture comes first, which loads libraries."""
    count(_SMALL_CAPTURE)
    started = time.process_time()
    found = count(path)
    elapsed_s = time.process_time() - started
    _expect(found, packets)
    return elapsed_s


def _expect(found: int, packets: int) -> None:
    if found != packets:
        raise SystemExit(f"{found} packets read where {packets} were written")


ROLES: dict[str, Callable[[Path, int], float | None]] = {
    "make": make,
    "write_ours": write_ours,
    "write_dpkt": write_dpkt,
    "make_flows": make_flows,
    "make_frames": make_frames,
    "read_ours": read_ours,
    "inspect_ours": inspect_ours,
    "read_dpkt": read_dpkt,
    **{f"make_{kind}": partial(make_flow, kind=kind) for kind in ("renewal", "bursts", "swelling")},
    "fit_ours": fit_ours,
    "fit_command": fit_command,
    "fit_gaps_ours": fit_gaps_ours,
    "fit_scipy": fit_scipy,
    "make_population": make_population,
    **{f"export_{name}": partial(export_to, target=name) for name in TARGETS},
    "lines_of_a_loop": lines_of_a_loop,
    "lines_of_numpy": lines_of_numpy,
    "make_renewal_model": generation.make_renewal_model,
    "tables": generation.tables,
    "tables_long": generation.tables_long,
    "tables_sessions": generation.tables_sessions,
    "numpy_samples": generation.numpy_samples,
    "simulate_dumbbell": simulate_dumbbell,
    "simulate_dumbbell_packets": partial(simulate_dumbbell, keeps_packets=True),
    "simulate_players": simulate_players,
}


#: Roles that write a file of a model's packets.
WRITING_ROLES: dict[str, Callable[[Path, int, Path], float]] = {
    "merge": generation.merge,
    "merge_headers": partial(generation.merge, snaplen_bytes=generation.HEADERS_BYTES),
    "copy": generation.copy,
    "long_session": generation.long_session,
    "sessions_2": partial(generation.sessions, workers=2),
    "workload_1": partial(generation.workload, workers=1),
    "workload_2": partial(generation.workload, workers=2),
    "workload_1_headers": partial(
        generation.workload, workers=1, snaplen_bytes=generation.HEADERS_BYTES
    ),
    "workload_2_headers": partial(
        generation.workload, workers=2, snaplen_bytes=generation.HEADERS_BYTES
    ),
}


if __name__ == "__main__":
    source, count = Path(sys.argv[2]), int(sys.argv[3])
    if sys.argv[1] in WRITING_ROLES:
        elapsed: float | None = WRITING_ROLES[sys.argv[1]](source, count, Path(sys.argv[4]))
    else:
        elapsed = ROLES[sys.argv[1]](source, count)
    if elapsed is not None:
        print(f"elapsed_s={elapsed}")
