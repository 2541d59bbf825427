"""Tables as pandas data frames in which whole numbers stay whole where some are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd


def data_frame(table: pa.Table) -> pd.DataFrame:
    """Return a table as a data frame with pandas' nullable types; a null is ``pd.NA``.

    Texts that repeat (dictionaries) become categories.
    """
    import pandas as pd  # noqa: PLC0415 - loading it takes longer than most commands

    types = {
        pa.bool_(): pd.BooleanDtype(),
        **{getattr(pa, f"int{n}")(): getattr(pd, f"Int{n}Dtype")() for n in (8, 16, 32, 64)},
        **{getattr(pa, f"uint{n}")(): getattr(pd, f"UInt{n}Dtype")() for n in (8, 16, 32, 64)},
        **{getattr(pa, f"float{n}")(): getattr(pd, f"Float{n}Dtype")() for n in (32, 64)},
        pa.string(): pd.StringDtype(),
    }
    return table.to_pandas(types_mapper=types.get)
