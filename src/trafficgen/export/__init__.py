"""Writers of packet tables: one file a target, all in one table of targets."""

from trafficgen.export.addresses import with_addresses
from trafficgen.export.base import ProjectionReport, Target, TimingError, View
from trafficgen.export.csv import write_csv
from trafficgen.export.parquet import write_parquet
from trafficgen.export.pcap import write_pcap, write_pcapng
from trafficgen.export.targets import TARGETS, target_for

__all__ = [
    "TARGETS",
    "ProjectionReport",
    "Target",
    "TimingError",
    "View",
    "target_for",
    "with_addresses",
    "write_csv",
    "write_parquet",
    "write_pcap",
    "write_pcapng",
]
