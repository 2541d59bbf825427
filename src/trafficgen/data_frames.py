"""Results as pandas data frames in which whole numbers stay whole where some are missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from trafficgen.errors import TrafficgenError

if TYPE_CHECKING:
    import pandas as pd

_TYPES = {str: pa.string(), float: pa.float64(), int: pa.int64(), bool: pa.bool_()}


def frame_rows(rows: Iterable[Mapping[str, object]], columns: Mapping[str, type]) -> pd.DataFrame:
    """Return records as a data frame, a row each.

    ``columns`` have names -> ``str``, ``float``, ``int`` or ``bool``. What a record lacks, None and
    NaN become ``pd.NA``.

    Raises:
        TrafficgenError: If pandas is not installed.
    """
    records = list(rows)
    arrays = {
        name: pa.array([record.get(name) for record in records], _TYPES[kind], from_pandas=True)
        for name, kind in columns.items()
    }
    return data_frame(pa.table(arrays))


def data_frame(table: pa.Table) -> pd.DataFrame:
    """Return a table as a data frame with pandas' nullable types; a null is ``pd.NA``.

    Texts that repeat (dictionaries) become categories.

    Raises:
        TrafficgenError: If pandas is not installed.
    """
    try:
        import pandas as pd  # noqa: PLC0415 - loading it takes longer than most commands
    except ModuleNotFoundError as error:
        raise TrafficgenError("pandas is not installed; run: pip install pandas") from error

    types = {
        pa.bool_(): pd.BooleanDtype(),
        **{getattr(pa, f"int{n}")(): getattr(pd, f"Int{n}Dtype")() for n in (8, 16, 32, 64)},
        **{getattr(pa, f"uint{n}")(): getattr(pd, f"UInt{n}Dtype")() for n in (8, 16, 32, 64)},
        **{getattr(pa, f"float{n}")(): getattr(pd, f"Float{n}Dtype")() for n in (32, 64)},
        pa.string(): pd.StringDtype(),
    }
    return table.to_pandas(types_mapper=types.get)
