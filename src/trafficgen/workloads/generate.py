"""From models to traffic: `trafficgen generate`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import JsonValue

from trafficgen.errors import GenerationError
from trafficgen.models import Model, PublishedModel
from trafficgen.models.published import load_model
from trafficgen.packet_files.destinations import format_of
from trafficgen.packet_files.formats import write_as
from trafficgen.packet_files.report import View
from trafficgen.simulation import UNLIMITED_PATH, Competitor
from trafficgen.simulation.simulate import PathLike, SimulateOptions, generate_over_path
from trafficgen.tables import DEFAULT_ORIGIN_NS, PacketTable
from trafficgen.workloads.open_loop import sessions_apart, table_of


def generate(
    model: Model | PublishedModel | str | Path,
    out: str | Path | None = None,
    *,
    sessions: int = 1,
    duration_s: float | None = None,
    seed: int = 0,
    arrival_rate_per_s: float | None = None,
    workers: int = 1,
    at: View = "sender",
    snaplen_bytes: int | None = None,
    origin_ns: int = DEFAULT_ORIGIN_NS,
    settings: Mapping[str, JsonValue] | None = None,
    path: PathLike | None = None,
    compete: str | Iterable[str | Competitor] = (),
) -> PacketTable:
    """Play a model into packets, open loop or over a path; the same seed gives the same bytes.

    Args:
        model: A model, the name of its file, or the name of a catalogue entry.
        out: File to write, by its ending: ``.parquet``, ``.csv``, ``.pcap`` or ``.pcapng``; None
            writes nothing.
        sessions: Number of sessions, each with its own addresses.
        duration_s: Length of each session, s; None for that of the model.
        seed: Seed, >= 0.
        arrival_rate_per_s: Mean number of sessions starting in a second (Poisson); None: all
            together.
        workers: Threads that share the sessions; the result does not depend on them.
        at: Whose view a pcap or CSV shows.
        snaplen_bytes: Bytes kept of a frame in a pcap; None keeps all.
        origin_ns: Time of the first session's start since 1970-01-01 UTC, ns; over a path that of
            the first packet.
        settings: Options and parameters of a published model.
        path: Path that all sessions share, as for :func:`~trafficgen.simulate`; None plays a fitted
            model open loop and a published one over a path that limits nothing, each session over
            its own.
        compete: Flows beside the sessions on the path.

    Raises:
        ModelFileError: If the model cannot be read.
        SettingError: If a setting does not fit the model.
        GenerationError: If it cannot be played as asked.
        SimulationError: If the path or a competitor cannot be simulated.
        ExportError: If the ending of ``out`` is none that is written, or an option does not suit
            it.
        OutputFileError: If ``out`` cannot be written.

    Example:
        >>> import trafficgen
        >>> trafficgen.generate("cbr", "cbr.pcap", duration_s=10, settings={"rate_kbps": 500}, seed=1)
        <PacketTable: 625 packets, 1 flow, 9.984 s, 625,000 IP bytes>
        >>> path = "rate=725kbps,delay=45ms,queue=80p"
        >>> table = trafficgen.generate("wmedia9_nichols2004", path=path, compete="tcp@-10s", duration_s=20)
        >>> table.flows.column("media").to_pylist()
        ['bulk', 'control', 'audio', 'video', 'video', 'control']
    """
    file_format = None if out is None else format_of(out)
    playable = load_model(model) if isinstance(model, str | Path) else model
    if compete and path is None and isinstance(playable, Model):
        raise GenerationError("competing flows need a path to compete on; add --path")
    apart = None
    if path is None and not compete:
        apart = sessions_apart(
            playable,
            sessions=sessions,
            duration_s=duration_s,
            seed=seed,
            arrival_rate_per_s=arrival_rate_per_s,
            settings=settings,
        )
    if apart is not None:
        table = table_of(apart, workers=workers, origin_ns=origin_ns)
    else:
        options = SimulateOptions(
            path=UNLIMITED_PATH if path is None else path,
            compete=compete,
            settings=settings,
            seed=seed,
            duration_s=duration_s,
        )
        table = generate_over_path(
            playable,
            options,
            sessions=sessions,
            arrival_rate_per_s=arrival_rate_per_s,
            origin_ns=origin_ns,
        )
    if file_format is not None and out is not None:
        write_as(file_format, table, Path(out), at=at, snaplen_bytes=snaplen_bytes)
    return table
