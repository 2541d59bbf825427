"""Text in a model file, compressed by zlib (RFC 1950) and in base64."""

from __future__ import annotations

import base64
import binascii
import zlib


def pack_text(text: str) -> str:
    """Return a text in its packed form."""
    return base64.b64encode(zlib.compress(text.encode(), level=9)).decode()


def unpack_text(packed: str, *, most_bytes: int) -> str:
    """Return the text that was packed: a small file must not take much memory.

    Raises:
        ValueError: If it is not what :func:`pack_text` returns, or longer than ``most_bytes``.
    """
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(base64.b64decode(packed, validate=True), most_bytes)
        if unpacking.eof:
            return text.decode()
    except (binascii.Error, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"must be packed text, zlib in base64: {error}") from error
    raise ValueError(f"packed text is cut short, or longer than {most_bytes:,} bytes when unpacked")
