"""Exchanges of a session of captures or packet tables, and the files they are written to."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from trafficgen.capture.inputs import Paths
from trafficgen.capture.options import EXCHANGE_ENDINGS, ExchangeOptions, ReadOptions
from trafficgen.capture.reading import inspect
from trafficgen.errors import ExportError
from trafficgen.flows.exchanges import Exchanges
from trafficgen.options import DataFrame, checks_arguments, takes
from trafficgen.outputs import whole_files
from trafficgen.tables import PacketTable


@takes(ExchangeOptions)
def measure_exchanges(
    paths: Paths | PacketTable | DataFrame, options: ExchangeOptions
) -> Exchanges:
    """Measure the requests of a session's client and the responses to them.

    TCP is measured by its sequence numbers: what the capture missed counts, what was sent twice
    counts once. Over QUIC and other datagrams requests are the client's larger packets, apart from
    acknowledgements by the connection's own sizes. Input is read piece by piece.

    Args:
        paths: As for :func:`~trafficgen.inspect`.
        options: See :class:`~trafficgen.capture.options.ExchangeOptions`; given as keywords.

    Returns:
        The exchanges, on all connections of the session, in order of time.

    Raises:
        InputFileError: If an input cannot be read at all.
        SelectionError: If there is no such session.

    Example:
        >>> import trafficgen
        >>> found = trafficgen.measure_exchanges("examples/captures/http_burst_then_paced.pcap.gz")
        >>> print(found.to_pandas()["response_bytes"].sum(), "bytes in responses")
        6144276 bytes in responses
    """
    reading = {one.name: getattr(options, one.name) for one in fields(ReadOptions)}
    return inspect(paths, **reading).session_exchanges(options.session)


@checks_arguments
def save_exchanges(exchanges: Exchanges, path: str | Path) -> None:
    """Write exchanges to a file ``.parquet`` or ``.csv``; of the latter a null is an empty field.

    Raises:
        ExportError: If the name has another ending.
        OutputFileError: If the file cannot be written.

    Example:
        >>> import trafficgen
        >>> found = trafficgen.measure_exchanges("examples/captures/http_burst_then_paced.pcap.gz")
        >>> trafficgen.save_exchanges(found, "exchanges.csv")
        >>> import pandas as pd
        >>> len(pd.read_csv("exchanges.csv")) == len(found)
        True
    """
    path = Path(path)
    if path.suffix.lower() not in EXCHANGE_ENDINGS:
        raise ExportError(
            f"{path}: unknown ending {path.suffix!r}; use one of {', '.join(EXCHANGE_ENDINGS)}"
        )
    with whole_files([path]) as [part]:
        if path.suffix.lower() == ".csv":
            from pyarrow import csv  # noqa: PLC0415 - few write it

            csv.write_csv(exchanges.table, part)
        else:
            from pyarrow import parquet  # noqa: PLC0415 - few write it

            parquet.write_table(exchanges.table, part, compression="zstd")
