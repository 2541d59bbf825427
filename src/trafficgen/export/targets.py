"""The table of targets: everything that packets, or a model's law, can be exported to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trafficgen.errors import ExportError
from trafficgen.export import ditg, ditg_model, iperf2, iperf3, mgen, mgen_model, otg
from trafficgen.export.base import FileFormat, Target, View, Written
from trafficgen.export.formats import FILE_FORMATS
from trafficgen.export.inet import write_inet
from trafficgen.export.mahimahi import MAHIMAHI_SETTINGS, write_mahimahi
from trafficgen.export.ns3 import SETTINGS as NS3_SETTINGS
from trafficgen.export.ns3 import write_ns3
from trafficgen.export.ns3_model import write_ns3_model
from trafficgen.export.settings import Setting, Settings
from trafficgen.export.simulated_network import NETWORK_SETTINGS
from trafficgen.export.tcpreplay import TCPREPLAY_SETTINGS, write_tcpreplay
from trafficgen.export.trex import TREX_SETTINGS, write_trex
from trafficgen.tables import PacketTable
from trafficgen.units import WHOLE_FRAME_BYTES

_SNAPLEN = Setting(
    "snaplen_bytes",
    WHOLE_FRAME_BYTES,
    "Bytes kept of a frame; its original length is recorded all the same.",
    low=1,
    high=WHOLE_FRAME_BYTES,
)


def write_as(
    file_format: FileFormat,
    table: PacketTable,
    path: Path,
    *,
    at: View = "sender",
    snaplen_bytes: int | None = None,
) -> Any:
    """Write a table as one file with the options that the format takes, and return the report.

    Packets too small for their headers, such as later IP fragments that a capture counts for the
    flow of the first, are made just large enough where the format builds headers; the report counts
    them.

    Raises:
        ExportError: If an option was given that the format does not take.
    """
    options: dict[str, Any] = {}
    if file_format.takes_view:
        options["view"] = at
    elif at != "sender":
        raise ExportError(f"{file_format.name} holds both views; leave --at out")
    if snaplen_bytes is not None:
        if not file_format.takes_snaplen:
            raise ExportError(f"{file_format.name} has no snapshot length; leave --snaplen out")
        options["snaplen_bytes"] = snaplen_bytes
    if file_format.takes_raise_small:
        options["raise_small"] = True
    return file_format.write(table, path, **options)


@dataclass(frozen=True)
class FormatWriter:
    """Writer of a schedule as one file of a format.

    Attributes:
        file_format: The format.
    """

    file_format: FileFormat

    def __call__(
        self, table: PacketTable, folder: Path, settings: Settings, *, stem: str = "packets"
    ) -> Written:
        """Write ``stem`` with the ending of the format into ``folder``."""
        known = self.file_format
        snaplen_bytes = settings.whole(_SNAPLEN.name) if known.takes_snaplen else None
        report = write_as(
            known, table, folder / f"{stem}{known.suffix}", snaplen_bytes=snaplen_bytes
        )
        return Written(report, known.use.format(file=report.files[0]))


def _of_format(file_format: FileFormat) -> Target:
    summary = (
        (file_format.write.__doc__ or "").partition("\n")[0].removeprefix("Write ").rstrip(".")
    )
    return Target(
        name=file_format.name,
        summary=summary,
        versions="any tool that reads the format",
        write=FormatWriter(file_format),
        settings=(_SNAPLEN,) if file_format.takes_snaplen else (),
        takes_view=file_format.takes_view,
    )


_TOOLS = (
    Target(
        name="ns3",
        summary=(
            "UdpTraceClient traces, schedules to the ns or OnOffApplications, with a scenario in"
            " Python and C++"
        ),
        versions="ns-3.37 and later (run with 3.37 and 3.44)",
        write=write_ns3,
        write_model=write_ns3_model,
        settings=NS3_SETTINGS,
        protocols="UDP; TCP with mode=exact",
        flows="a port each",
        how_to="feed-ns-3",
    ),
    Target(
        name="inet",
        summary="NetPerfMeter traces with a network and an omnetpp.ini",
        versions="INET 4.3 and later with OMNeT++ 6 (written from its source, not run)",
        write=write_inet,
        settings=NETWORK_SETTINGS,
        protocols="UDP, TCP",
        flows="a port each",
        how_to="feed-inet",
    ),
    Target(
        name="iperf2",
        summary="scripts of iperf 2 runs, one an epoch, with their servers",
        versions="iperf 2.1.8; bash 5",
        write=iperf2.write_iperf2,
        settings=iperf2.SETTINGS,
        protocols="UDP, TCP",
        flows="`servers` ports each",
        how_to="feed-iperf",
    ),
    Target(
        name="iperf3",
        summary="scripts of iperf3 runs, one an epoch, with their servers",
        versions="iperf3 3.12 and newer; bash 5",
        write=iperf3.write_iperf3,
        settings=iperf3.SETTINGS,
        protocols="UDP, TCP",
        flows="`servers` ports each",
        how_to="feed-iperf",
    ),
    Target(
        name="otg",
        summary="an Open Traffic Generator configuration, a flow of the tester an epoch",
        versions="Open Traffic Generator models 1.x (checked with snappi 1.62.0)",
        write=otg.write_otg,
        settings=otg.SETTINGS,
        protocols="UDP",
        flows="a flow of the tester an epoch",
        how_to="feed-otg",
    ),
    Target(
        name="mgen",
        summary="MGEN scripts, one a flow and one for the receiving end",
        versions="MGEN 5.02b",
        write=mgen.write_mgen,
        write_model=mgen_model.write_mgen_model,
        settings=(*mgen.SETTINGS, *mgen_model.MODEL_SETTINGS),
        protocols="UDP, TCP",
        flows="a port each",
        how_to="feed-mgen",
    ),
    Target(
        name="ditg",
        summary="D-ITG scripts with files of gaps and sizes, one a flow",
        versions="D-ITG 2.8.1",
        write=ditg.write_ditg,
        write_model=ditg_model.write_ditg_model,
        settings=(*ditg.SCHEDULE_SETTINGS, *ditg_model.MODEL_SETTINGS),
        protocols="UDP, TCP",
        flows="400",
        how_to="feed-ditg",
    ),
    Target(
        name="tcpreplay",
        summary=(
            "a pcap file whose frames can be sent as they are, with scripts for one interface"
            " and two"
        ),
        versions="tcpreplay 4.4 or newer",
        write=write_tcpreplay,
        settings=TCPREPLAY_SETTINGS,
        protocols="any over IP",
        how_to="feed-tcpreplay",
    ),
    Target(
        name="trex",
        summary=(
            "TRex profiles: each packet a stream, or pcap files for its server; TCP as writes and"
            " delays"
        ),
        versions="TRex 3.04 (loaded by its Python client), 3.08 (by its source)",
        write=write_trex,
        settings=TREX_SETTINGS,
        protocols="any over IP; mode=astf: TCP",
        how_to="feed-trex",
    ),
    Target(
        name="mahimahi",
        summary="the path: delivery traces of mm-link and a script that runs a program behind them",
        versions="mahimahi 0.98",
        write=write_mahimahi,
        settings=MAHIMAHI_SETTINGS,
        protocols="the path, no packets",
        how_to="feed-mahimahi",
    ),
)

#: Targets by their name on the command line; a new exporter is entered here and nowhere else.
TARGETS: dict[str, Target] = {
    target.name: target for target in (*map(_of_format, FILE_FORMATS.values()), *_TOOLS)
}
