"""Values that the shell completes: models, targets, settings, path keys, metrics, findings.

Each function takes what is typed so far. A file that cannot be read completes nothing: the command
says what is wrong when it runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from glob import escape, glob
from pathlib import Path

_MODEL_ENDINGS = (".json", ".yaml", ".yml")
_PACKET_ENDINGS = (".parquet", ".csv", ".pcap", ".pcapng", ".cap", ".gz", ".zst", ".xz")
#: How texts of these options begin.
ARRIVALS = ("together", "poisson:", "hourly:", "flash:", "rates:", "file:")
SPREADS = ("duration=", "rate=", "size=")
_COMPETITORS = ("tcp", "tcp:cubic", "tcp:reno", "tcp:bbr", "tcp:bbr3", "up:tcp", "cbr:", "ping")


def complete(values: Iterable[str]) -> Callable[[str], list[str]] | None:
    """Return what completes one of some values; None without any."""
    return (lambda incomplete: _beginning(values, incomplete)) if values else None


def complete_model(incomplete: str) -> list[str]:
    """Complete a model: a name of the catalogue, or a file of a model or a workload."""
    from trafficgen.models.published import entry_names  # noqa: PLC0415 - most runs complete nothing
    from trafficgen.processes.registered.source import SOURCES  # noqa: PLC0415

    names = [*entry_names(), *SOURCES]
    return [*_beginning(names, incomplete), *_files(incomplete, _MODEL_ENDINGS)]


def complete_traffic(incomplete: str) -> list[str]:
    """Complete what is exported: a packet table, a capture, a model or a workload."""
    return _files(incomplete, (*_PACKET_ENDINGS, *_MODEL_ENDINGS))


def _files(incomplete: str, endings: tuple[str, ...]) -> list[str]:
    found = glob(f"{escape(incomplete)}*")  # noqa: PTH207 - names as they are typed
    files = [f"{name}/" if Path(name).is_dir() else name for name in found]
    return sorted(name for name in files if name.lower().endswith(("/", *endings)))


def complete_competitor(incomplete: str) -> list[str]:
    """Complete a competing flow: bulk TCP, constant rate, ping, or a model of the catalogue."""
    from trafficgen.models.published import entry_names  # noqa: PLC0415 - see above

    return _beginning([*_COMPETITORS, *entry_names()], incomplete)


def complete_path(incomplete: str) -> list[str]:
    """Complete the last key of a path such as ``rate=1Mbps,del``, or a name of ``preset:``."""
    from trafficgen.simulation.path import RECORDED, list_keys  # noqa: PLC0415 - see above
    from trafficgen.simulation.path_keys import PRESET, load_presets  # noqa: PLC0415

    before, comma, last = incomplete.rpartition(",")
    values = [f"{key}=" for key in list_keys().split(", ")]
    values += [] if comma else [RECORDED, *(f"{PRESET}{name}" for name in load_presets())]
    return [f"{before}{comma}{value}" for value in _beginning(values, last)]


def complete_setting(incomplete: str) -> list[str]:
    """Complete the key of ``--set``, for the target or the model on the command line."""
    from trafficgen.export.targets import TARGETS  # noqa: PLC0415 - see above
    from trafficgen.models.published import entry_names, load_entry  # noqa: PLC0415 - see above

    # What is parsed so far lacks the model: the option has no value yet.
    words = os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", "")).split()
    keys: list[str] = []
    for word in words:
        if word in TARGETS:
            keys += [setting.name for setting in TARGETS[word].settings]
        if word in entry_names():
            keys += load_entry(word).options
    return _beginning([f"{key}=" for key in keys], incomplete)


def complete_metric(incomplete: str) -> list[str]:
    """Complete the metric of ``--fail-above``; metrics that users registered are among them."""
    from trafficgen.validation.comparison import TWO_SAMPLE_LIMITS  # noqa: PLC0415 - see above
    from trafficgen.validation.metrics import METRIC_NAMES, METRICS  # noqa: PLC0415 - see above

    names = (*METRIC_NAMES, *METRICS, *TWO_SAMPLE_LIMITS)
    return _beginning([f"{name}=" for name in names], incomplete)


def complete_finding(incomplete: str) -> list[str]:
    """Complete the id of a finding of the papers."""
    from trafficgen.reproduction.reproduce import select_statements  # noqa: PLC0415 - see above

    return _beginning(dict(select_statements([])), incomplete)


def _beginning(values: Iterable[str], incomplete: str) -> list[str]:
    return [value for value in values if value.startswith(incomplete)]
