"""What a packet list may tell beside times, sizes and ends: arrivals, and RTP headers as tshark
prints them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.capture.traces.base import Notes, counted
from trafficgen.capture.traces.column_names import arrival_digits
from trafficgen.capture.traces.list_flows import Texts
from trafficgen.capture.traces.text import integers, scaled_decimals
from trafficgen.units import BoolArray, IntArray

_SECONDS_DIGITS = 9
_BITS = {"rtp_ssrc": 32, "rtp_sequence": 16, "rtp_timestamp": 32}
_TYPES = {"rtp_ssrc": pa.uint32(), "rtp_sequence": pa.uint16(), "rtp_timestamp": pa.uint32()}


def arrivals(
    texts: Texts, *, name: str | None, notes: Notes
) -> tuple[IntArray | None, BoolArray | None]:
    """Return arrival times in ns and which packets arrived, shape (n,) each; None where the list
    says nothing.

    Args:
        texts: Columns of the list by what they hold.
        name: Name of the column of arrivals, which may say their unit; seconds otherwise.
        notes: Takes what is assumed.
    """
    if name is None:
        return None, None
    digits = arrival_digits(name)
    arrival_ns, arrived = scaled_decimals(
        texts["arrival"], _SECONDS_DIGITS if digits is None else digits
    )
    if not arrived.any():
        return None, None
    if lost := int((~arrived).sum()):
        notes.assumptions.append(f"{counted(lost, 'packet')} without an arrival: lost")
    return arrival_ns, arrived


def rtp_columns(texts: Texts) -> dict[str, pa.Array]:
    """Return the RTP columns of the packet table; none where the list has no sequence numbers and
    timestamps.
    """
    if "rtp_sequence" not in texts or "rtp_timestamp" not in texts:
        return {}
    count = len(texts["rtp_sequence"])
    texts = {"rtp_ssrc": pa.array(["1"] * count), **texts}
    values, known = {}, np.ones(count, dtype=np.bool_)
    for name, bits in _BITS.items():
        values[name], usable = _unsigned(texts[name], bits)
        known &= usable
    if not known.any():
        return {}
    columns = {
        name: pa.array(numbers, _TYPES[name], mask=~known) for name, numbers in values.items()
    }
    if "rtp_marker" in texts:
        marker = pc.match_substring_regex(pc.utf8_lower(texts["rtp_marker"]), r"^(?:1|true|set)$")
        columns["rtp_marker"] = pa.array(
            np.asarray(marker.to_numpy(zero_copy_only=False), dtype=np.bool_), mask=~known
        )
    return columns


def _unsigned(texts: pa.Array, bits: int) -> tuple[IntArray, BoolArray]:
    """Return decimal or hexadecimal (0x...) numbers of some bits, and which could be read, shape
    (n,) each.
    """
    if not pc.any(pc.match_substring_regex(texts, "^0[xX]")).as_py():
        found = pc.extract_regex(texts, r"^(?P<number>[0-9]{1,12})$")
        values = integers(pc.fill_null(pc.struct_field(found, "number"), str(1 << bits)))
    else:
        encoded = texts.dictionary_encode()
        numbers = [_number(text, 1 << bits) for text in encoded.dictionary.to_pylist()]
        values = np.array(numbers, dtype=np.int64)[encoded.indices.to_numpy(zero_copy_only=False)]
    known = values < 1 << bits
    return np.where(known, values, 0), known


def _number(text: str, otherwise: int) -> int:
    try:
        value = int(text, 16 if text.lower().startswith("0x") else 10)
    except ValueError:
        return otherwise
    return value if 0 <= value < otherwise else otherwise
