"""Open Traffic Generator: each epoch of a flow is a flow of the tester, started by a delay."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import numpy as np

from trafficgen.errors import ExportError
from trafficgen.export.epochs import EPOCH_S, EPOCHS, Limits, Plan, Plans, plans_of, plans_report
from trafficgen.export.flow_schedule import FlowSchedule, number_pieces
from trafficgen.export.frames import mac_of
from trafficgen.export.sending_ends import DIRECTION
from trafficgen.export.settings import Setting, Settings
from trafficgen.export.target import Target, Written
from trafficgen.tables import PacketTable
from trafficgen.units import ETHERNET_HEADER_BYTES, NS_PER_S, IntArray

#: Of IPv4 and UDP; an IPv6 header is longer.
_IPV4_UDP_BYTES, _IPV6_UDP_BYTES = 28, 48
#: Smallest Ethernet frame without its check sequence.
_LEAST_FRAME_BYTES = 60

SETTINGS = (
    Setting(
        "tx_location", "eth1", "Where the sending port of the tester is, as the tester names it."
    ),
    Setting("rx_location", "eth2", "Where the receiving port is."),
    Setting("source_mac", "02:00:00:00:00:01", "MAC address of the sender."),
    Setting(
        "destination_mac",
        "02:00:00:00:00:02",
        "MAC address of the receiver, or of the first router.",
    ),
    DIRECTION,
    EPOCH_S,
    EPOCHS,
    Setting(
        "sizes",
        "weights",
        "weights: the tester draws sizes by their shares in the epoch; mean: all packets of an"
        " epoch have its mean.",
        ("weights", "mean"),
    ),
    Setting(
        "size_pairs",
        16,
        "Most sizes of an epoch with sizes=weights; more are joined.",
        low=1,
        high=1024,
    ),
    Setting(
        "mtu_bytes",
        1500,
        "Largest IP packet; larger ones are cut, as a tester does not.",
        low=576,
        high=9216,
    ),
    Setting(
        "fcs_bytes",
        4,
        "Bytes of the frame check sequence that the tester counts in a frame's size.",
        low=0,
        high=4,
    ),
)


def write_otg(table: PacketTable, folder: Path, settings: Settings) -> Written:
    """Write a configuration (JSON) with a flow of the tester for each epoch of UDP flows.

    Raises:
        ExportError: If there is no UDP to be sent, or an end of a flow has no IP address.
        SettingError: If a MAC address is invalid.

    Source: Open Traffic Generator models 1.x (Config, Flow, FlowSize, FlowRate, FlowDuration).
    """
    is_ipv6 = {":" in row["server"] for row in table.flows.to_pylist() if row["protocol"] == "udp"}
    least_headers = _IPV6_UDP_BYTES if is_ipv6 == {True} else _IPV4_UDP_BYTES
    most_headers = _IPV6_UDP_BYTES if True in is_ipv6 else _IPV4_UDP_BYTES
    limits = Limits(
        low_bytes=max(1, _LEAST_FRAME_BYTES - ETHERNET_HEADER_BYTES - least_headers),
        high_bytes=settings.whole("mtu_bytes") - most_headers,
    )
    macs = [
        mac_of(settings, name, target="otg").hex(":") for name in ("source_mac", "destination_mac")
    ]
    plans = plans_of(table, settings, target="otg", limits={"udp": limits})
    if settings.text("sizes") == "weights":
        plans = replace(plans, flows=tuple(_raised_one_by_one(plan) for plan in plans.flows))
    sent = [_sent(plan, settings) for plan in plans.flows]
    flows = [
        flow
        for plan, own in zip(plans.flows, sent, strict=True)
        for flow in _flows(plan, own, settings, macs=macs)
    ]
    config = {
        "ports": [
            {"name": "sender", "location": settings.text("tx_location")},
            {"name": "receiver", "location": settings.text("rx_location")},
        ],
        "flows": flows,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    report = plans_report(
        plans,
        target="otg",
        files=["config.json"],
        cannot_express=_cannot_express(plans, settings, flows=len(flows)),
        sent=sent,
    )
    return Written(report, _HOW_TO_RUN)


def _raised_one_by_one(plan: Plan) -> Plan:
    return replace(
        plan, packets_raised=int(np.count_nonzero(plan.flow.payload_bytes < plan.limits.low_bytes))
    )


def _sent(plan: Plan, settings: Settings) -> FlowSchedule:
    """Return what the tester sends: in each epoch whole packets a second, of a few sizes."""
    epochs = plan.epochs
    row, place = number_pieces(epochs.packets)
    sizes = plan.size_bytes[row]
    if settings.text("sizes") == "weights":
        ends = np.cumsum(epochs.packets)[:-1]
        own = np.maximum(plan.flow.payload_bytes, plan.limits.low_bytes)
        sizes = np.concatenate(
            [_grouped(part, settings.whole("size_pairs")) for part in np.split(own, ends)]
        )
    time_ns = _delays_ns(plan)[row] + place * NS_PER_S // _rates_per_s(plan)[row]
    return replace(plan.flow, time_ns=time_ns, payload_bytes=sizes)


def _grouped(sizes: IntArray, most: int) -> IntArray:
    """Return sizes of which at most ``most`` differ: neighbours in size take their mean."""
    if np.unique(sizes).size <= most:
        return sizes
    grouped = np.empty_like(sizes)
    for rows in np.array_split(np.argsort(sizes, kind="stable"), most):
        grouped[rows] = round(float(sizes[rows].mean()))
    return grouped


def _rates_per_s(plan: Plan) -> IntArray:
    """Return whole packets a second, rounded up so that epochs do not overrun."""
    return np.ceil(plan.epochs.packet_rate_per_s).astype(np.int64)


def _delays_ns(plan: Plan) -> IntArray:
    """Return the start of each epoch as a delay, a number of 32 bits."""
    return plan.epochs.start_ns.astype(np.float32).astype(np.int64)


def _flows(
    plan: Plan, sent: FlowSchedule, settings: Settings, *, macs: Sequence[str]
) -> Iterator[dict[str, Any]]:
    headers_bytes = ETHERNET_HEADER_BYTES + _ip_udp_bytes(plan.flow) + settings.whole("fcs_bytes")
    parts = np.split(sent.payload_bytes, np.cumsum(plan.epochs.packets)[:-1])
    header = _packet(plan.flow, macs)
    rows = zip(parts, _rates_per_s(plan).tolist(), _delays_ns(plan).tolist(), strict=True)
    for number, (sizes, rate_per_s, delay_ns) in enumerate(rows):
        yield {
            "name": f"flow{plan.flow.flow}-epoch{number}",
            "tx_rx": {"choice": "port", "port": {"tx_name": "sender", "rx_names": ["receiver"]}},
            "packet": header,
            "size": _size(sizes + headers_bytes),
            "rate": {"choice": "pps", "pps": rate_per_s},
            "duration": {
                "choice": "fixed_packets",
                "fixed_packets": {
                    "packets": sizes.size,
                    "delay": {"choice": "nanoseconds", "nanoseconds": delay_ns},
                },
            },
            "metrics": {"enable": True},
        }


def _ip_udp_bytes(flow: FlowSchedule) -> int:
    return _IPV6_UDP_BYTES if ":" in flow.source else _IPV4_UDP_BYTES


def _size(frame_bytes: IntArray) -> dict[str, Any]:
    values, counts = np.unique(frame_bytes, return_counts=True)
    if values.size == 1:
        return {"choice": "fixed", "fixed": int(values[0])}
    pairs = [
        {"size": size, "weight": weight}
        for size, weight in zip(values.tolist(), counts.tolist(), strict=True)
    ]
    return {"choice": "weight_pairs", "weight_pairs": {"choice": "custom", "custom": pairs}}


def _packet(flow: FlowSchedule, macs: Sequence[str]) -> list[dict[str, Any]]:
    _check_addresses(flow)
    ip = "ipv6" if ":" in flow.source else "ipv4"
    ethernet = {"src": _value(macs[0]), "dst": _value(macs[1])}
    return [
        {"choice": "ethernet", "ethernet": ethernet},
        {"choice": ip, ip: {"src": _value(flow.source), "dst": _value(flow.destination)}},
        {
            "choice": "udp",
            "udp": {
                "src_port": _value(flow.source_port),
                "dst_port": _value(flow.destination_port),
            },
        },
    ]


def _check_addresses(flow: FlowSchedule) -> None:
    for address in (flow.source, flow.destination):
        try:
            ip_address(address)
        except ValueError:
            raise ExportError(
                f"otg: flow {flow.flow}: {address!r} is no IP address; put addresses into the flow"
                " table"
            ) from None
    if (":" in flow.source) != (":" in flow.destination):
        raise ExportError(
            f"otg: flow {flow.flow}: {flow.source} and {flow.destination} are of two versions of IP"
        )


def _value(value: str | int) -> dict[str, Any]:
    return {"choice": "value", "value": value}


def _cannot_express(plans: Plans, settings: Settings, *, flows: int) -> list[str]:
    texts = [
        (
            "gaps within an epoch, and their correlation with sizes: each epoch is sent at"
            " whole packets a second"
        ),
        (
            f"a schedule as one flow: it takes {flows} flows of the tester, which may hold fewer"
            " (raise epoch_s)"
        ),
        "payload and RTP headers: the tester fills its packets by itself",
    ]
    if settings.text("sizes") == "weights":
        texts.insert(
            1, "the order of sizes, and their exact number: the tester draws each by its weight"
        )
    if any(plan.epochs.start_ns[-1] != _delays_ns(plan)[-1] for plan in plans.flows):
        texts.append(
            "starts of late epochs to the nanosecond: delays have 32 bits of floating point"
        )
    return texts


_HOW_TO_RUN = """\
`config.json` is a configuration of the Open Traffic Generator models. Set the ports of your tester
first (`--set tx_location=... --set rx_location=...`), and `destination_mac` where a router is
between them. With snappi:

```py
import snappi

api = snappi.api(location="https://TESTER:8443", verify=False)
config = api.config()
config.deserialize(open("config.json").read())
api.set_config(config)
state = api.control_state()
state.traffic.flow_transmit.state = state.traffic.flow_transmit.START
api.set_control_state(state)
```

or `otgen run --file config.json`. Each flow of the tester, `flowN-epochK`, is one epoch: so many
packets at a rate, after a delay from the common start.

Check: the sum of `frames_tx` of the flows is the number of packets below; `frames_rx` is what
arrived.

Traps:

- Testers limit the number of flows of a port: raise `epoch_s` when yours refuses.
- Sizes count the frame check sequence; if your tester's do not, export with `--set fcs_bytes=0`.
- Addresses are those of the table, from the ranges for documentation unless it is a capture: a
  router needs routes to them, and nothing answers ARP for them.
"""


TARGET = Target(
    name="otg",
    summary="an Open Traffic Generator configuration, a flow of the tester an epoch",
    versions="Open Traffic Generator models 1.x (checked with snappi 1.62.0)",
    write=write_otg,
    settings=SETTINGS,
    protocols="UDP",
    flows="a flow of the tester an epoch",
    how_to="feed-otg",
)
