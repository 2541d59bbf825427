"""The catalogue: sources that papers measured, as data files, and how their options are set."""

from trafficgen.models.published.registry import (
    entry_digest,
    entry_names,
    find_model,
    load_entry,
    load_model,
    register_source,
)
from trafficgen.models.published.settings import (
    competing_tcp,
    parameters_for_engine,
    set_options,
    values_of,
    with_settings,
)

__all__ = [
    "competing_tcp",
    "entry_digest",
    "entry_names",
    "find_model",
    "load_entry",
    "load_model",
    "parameters_for_engine",
    "register_source",
    "set_options",
    "values_of",
    "with_settings",
]
