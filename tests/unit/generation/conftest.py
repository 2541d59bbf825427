"""Small models, made by hand, for the tests of generation."""

from __future__ import annotations

from typing import Any

import pytest

from trafficgen.models import (
    Atom,
    BurstProcess,
    CaptureConditions,
    Estimate,
    FittedProvenance,
    Law,
    Model,
    Phase,
    PhaseName,
    Playout,
    PublishedProvenance,
    PublishedSource,
    RenewalProcess,
    RtpFormat,
    Startup,
    Stream,
    Transport,
)

SIZES = Law(
    unit="bytes",
    family="lognorm",
    params={"s": 0.4, "loc": 0.0, "scale": 600.0},
    atoms=(Atom(value=1400, p=0.5),),
    minimum=100,
    maximum=1400,
    integer=True,
    observations=1,
)
FULL = Law(
    unit="bytes", family="atoms", atoms=(Atom(value=1400, p=1.0),), integer=True, observations=1
)


def renewal(*, mean_s: float, shape: float = 0.7) -> RenewalProcess:
    """Return a process with gamma gaps."""
    gap = Law(
        unit="s",
        family="gamma",
        params={"a": shape, "loc": 0.0, "scale": mean_s / shape},
        observations=1,
    )
    return RenewalProcess(gap_s=gap, packet_bytes=SIZES)


def bursts(*, spacing_s: float, packets: float = 10.0) -> BurstProcess:
    """Return a process with a nearly regular spacing and a spread of packets a burst."""
    return BurstProcess(
        threshold_s=0.01,
        spacing_s=Law(
            unit="s",
            family="gamma",
            params={"a": 100.0, "loc": 0.0, "scale": spacing_s / 100},
            observations=1,
        ),
        burst_packets=Law(
            unit="packets",
            family="gamma",
            params={"a": 5.0, "loc": 0.0, "scale": packets / 5},
            minimum=1,
            maximum=50,
            integer=True,
            observations=1,
        ),
        gap_within_s=Law(
            unit="s", family="expon", params={"loc": 0.0, "scale": 0.0005}, observations=1
        ),
        packet_bytes=FULL,
        last_packet_bytes=SIZES,
    )


def phase(
    name: PhaseName, start_s: float, duration_s: float, process: RenewalProcess | BurstProcess
) -> Phase:
    """Return a phase; its rate is not used by generation."""
    return Phase(name=name, start_s=start_s, duration_s=duration_s, rate_bps=0.0, process=process)


def stream(name: str = "video", *, phases: tuple[Phase, ...], **transport: object) -> Stream:
    """Return a stream over IPv4 and UDP unless said otherwise."""
    headers = {"udp": 28, "tcp": 40}[str(transport.get("protocol", "udp"))]
    fields = {
        "protocol": "udp",
        "server_port": 5004,
        "client_port": 40_000,
        "header_bytes": headers,
        **transport,
    }
    return Stream(
        name=name, media="video", transport=Transport.model_validate(fields), phases=phases
    )


def model_with(*streams: Stream, silence_s: float = 2.0, rate_bps: float = 1e6) -> Model:
    """Return a model of these streams."""
    source = PublishedSource(
        authors=("Nobody",), year=2000, title="Made by hand", supports=("tests",)
    )
    end_s = max(one.phases[-1].end_s for one in streams)
    return Model(
        name="by_hand",
        provenance=PublishedProvenance(citations=(source,)),
        startup=Startup(silence_s=Estimate(value=silence_s, method="by hand")),
        playout=Playout(
            duration_s=Estimate(value=end_s, method="by hand"),
            rate_bps=Estimate(value=rate_bps, method="by hand"),
        ),
        streams=streams,
    )


def captured_model(*streams: Stream, **conditions: Any) -> Model:
    """Return a model of these streams that was fitted to a capture with such a path."""
    provenance = FittedProvenance(
        files=("x.pcap",),
        digests=(),
        session=0,
        flows=(0,),
        software="test",
        seed=0,
        date="2026-11-27",
        conditions=CaptureConditions(**conditions),
    )
    return model_with(*streams).model_copy(update={"provenance": provenance})


@pytest.fixture
def udp_model() -> Model:
    """Buffering for 5 s at three times the packet rate of the 20 s of playout."""
    phases = (
        phase("buffering", 0.0, 5.0, renewal(mean_s=0.01 / 3)),
        phase("playout", 5.0, 20.0, renewal(mean_s=0.01)),
    )
    return model_with(stream(phases=phases))


@pytest.fixture
def stalled_model() -> Model:
    """Playout with a stall from 10 to 15 s, 5 s of refill, playout again until 30 s, and 2 s in
    which it runs out.
    """
    phases = (
        phase("playout", 0.0, 10.0, renewal(mean_s=0.01)),
        phase("rebuffering", 15.0, 5.0, renewal(mean_s=0.005)),
        phase("playout", 20.0, 10.0, renewal(mean_s=0.01)),
        phase("end", 30.0, 2.0, renewal(mean_s=0.1)),
    )
    return model_with(stream(phases=phases))


@pytest.fixture
def rtp_model() -> Model:
    """Video frames at 25 a second for 20 s, each a burst of packets, on a 90 kHz clock."""
    step = Estimate(value=3600, method="by hand")
    rtp = RtpFormat(payload_type=96, clock_hz=90_000, timestamp_step=step, frame_per_burst=True)
    return model_with(
        stream(phases=(phase("playout", 0.0, 20.0, bursts(spacing_s=0.04)),), rtp=rtp)
    )


@pytest.fixture
def tcp_model() -> Model:
    """Bursts over TCP."""
    return model_with(
        stream(phases=(phase("playout", 0.0, 20.0, bursts(spacing_s=0.3)),), protocol="tcp")
    )


@pytest.fixture
def mixed_model() -> Model:
    """An RTP stream, a UDP stream that starts later, and a TCP stream over IPv6."""
    rtp = RtpFormat(payload_type=0, clock_hz=8000, frame_per_burst=False)
    return model_with(
        stream("audio", phases=(phase("playout", 0.0, 10.0, renewal(mean_s=0.02)),), rtp=rtp),
        stream("video", phases=(phase("playout", 1.0, 8.0, renewal(mean_s=0.01)),)),
        stream(
            "bulk",
            phases=(phase("playout", 0.5, 9.0, bursts(spacing_s=0.5)),),
            protocol="tcp",
            ip_version=6,
            header_bytes=72,
        ),
    )
