"""Writers of packet tables and of models' laws: one file a target, all in one table of targets."""

from trafficgen.export.addresses import with_addresses
from trafficgen.export.base import FileFormat, ProjectionReport, Target, TimingError, View, Written
from trafficgen.export.csv import write_csv
from trafficgen.export.formats import FILE_FORMATS, format_for
from trafficgen.export.parquet import write_parquet
from trafficgen.export.pcap import write_pcap, write_pcapng
from trafficgen.export.readme import README, exported_files, readme_of
from trafficgen.export.settings import Setting, Settings, SettingValue
from trafficgen.export.targets import TARGETS, FormatWriter, write_as
from trafficgen.export.view import seen_by

__all__ = [
    "FILE_FORMATS",
    "README",
    "TARGETS",
    "FileFormat",
    "FormatWriter",
    "ProjectionReport",
    "Setting",
    "SettingValue",
    "Settings",
    "Target",
    "TimingError",
    "View",
    "Written",
    "exported_files",
    "format_for",
    "readme_of",
    "seen_by",
    "with_addresses",
    "write_as",
    "write_csv",
    "write_parquet",
    "write_pcap",
    "write_pcapng",
]
