"""Captures that can be shared: `trafficgen anonymise`."""

from __future__ import annotations

import secrets
from pathlib import Path

from trafficgen.api.reading import Paths, read_packets
from trafficgen.api.writing import format_of
from trafficgen.capture.anonymise import KEY_BYTES, Anonymiser, PortRule, TimeRule
from trafficgen.errors import InputFileError, SettingError
from trafficgen.export import write_as
from trafficgen.tables import PacketTable


def anonymise(
    paths: Paths,
    out: str | Path,
    *,
    key: bytes | str | Path | None = None,
    ports: PortRule = "keep",
    times: TimeRule = "shift",
    snaplen_bytes: int | None = None,
    decapsulate: bool = False,
) -> PacketTable:
    """Write packets without what tells who sent them, and to whom; return what was written.

    Addresses are mapped by Crypto-PAn, so that common prefixes stay common; SSRCs, sequence numbers
    and timestamps are mapped or shifted, URIs and notes left out, and payload is zero bytes. Times
    between packets, sizes, directions and losses stay, so that a model that is fitted to the result
    is that of the capture. Traffic can still be recognised by
    them: nothing that is measured can be shared without that.

    Args:
        paths: As for :func:`~trafficgen.inspect`.
        out: File or folder to write, as for :func:`~trafficgen.generate`.
        key: The secret of the mapping: 32 bytes, or the name of a file with them, as they are or as
            64 hexadecimal digits. The same key maps the same address alike in every run; None draws
            one that nobody keeps.
        ports: ``"keep"``, or ``"map"``: ports from 1024 on are exchanged among themselves.
        times: ``"shift"`` moves the first packet to 2020-01-01 UTC, ``"keep"`` leaves times alone.
        snaplen_bytes: Bytes kept of a frame in a capture; None keeps all.
        decapsulate: As for :func:`~trafficgen.inspect`.

    Raises:
        InputFileError: If an input or the key cannot be read.
        SettingError: If the key or a rule is none.
        ExportError: If the ending of ``out`` is none that is written.
        OutputFileError: If ``out`` cannot be written.

    Example:
        >>> import trafficgen
        >>> table = trafficgen.anonymise(
        ...     "examples/captures/rtsp_rtp_two_streams.pcap.gz", "shared.pcap", key=b"0123456789abcdef" * 2
        ... )
        >>> table
        <PacketTable: 2,069 packets, 3 flows, 61.38 s, 1,892,864 IP bytes>
    """
    for value, allowed, option in (
        (ports, ("keep", "map"), "--ports"),
        (times, ("shift", "keep"), "--times"),
    ):
        if value not in allowed:
            raise SettingError(f"{option} {value}: choose {' or '.join(allowed)}")
    file_format = format_of(out)
    work = Anonymiser(_key(key), ports=ports, times=times)
    table = work(read_packets(paths, decapsulate=decapsulate))
    write_as(file_format, table, Path(out), snaplen_bytes=snaplen_bytes)
    return table


def _key(key: bytes | str | Path | None) -> bytes:
    """Return the secret.

    Raises:
        InputFileError: If its file cannot be read, or holds something else.
        SettingError: If it has another length.
    """
    if key is None:
        return secrets.token_bytes(KEY_BYTES)
    if isinstance(key, bytes):
        if len(key) != KEY_BYTES:
            raise SettingError(f"a key has {KEY_BYTES} bytes, this one {len(key)}")
        return key
    try:
        with Path(key).open("rb") as file:
            found = file.read(_LONGEST_KEY_FILE)
    except OSError as error:
        raise _no_key(key, f"cannot be read ({error.strerror or error})") from error
    if len(found) == KEY_BYTES:
        return found
    try:
        found = bytes.fromhex(found.decode("ascii"))
    except ValueError:
        found = b""
    if len(found) != KEY_BYTES:
        raise _no_key(key, "holds no key")
    return found


#: 64 hexadecimal digits and what an editor adds to them.
_LONGEST_KEY_FILE = 128


def _no_key(key: str | Path, problem: str) -> InputFileError:
    remedy = (
        f"make one that only you can read: (umask 077; head -c {KEY_BYTES} /dev/urandom > {key})"
    )
    return InputFileError(file=str(key), problem=problem, remedy=remedy)
