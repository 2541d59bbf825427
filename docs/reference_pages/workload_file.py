"""The page of the workload file, from the JSON Schema that the program checks files against."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reference_pages.markdown import page
from reference_pages.model_file import part_sections
from trafficgen.workloads.description import WORKLOAD_SCHEMA_VERSION, WorkloadDescription

_EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "workloads" / "evening.yaml"
_ROOT = "Workload"


def workload_file_page() -> str:
    """Return the page of the workload file."""
    schema = WorkloadDescription.model_json_schema(by_alias=True)
    definitions = _with_short_names(schema.pop("$defs"))
    parts = {_ROOT: _with_short_names(schema), **definitions}
    # What the keys of a group lead to comes right after it; JsonValue is any JSON: there is nothing
    # to say about it.
    names = [_ROOT, "Group", *(name for name in parts if name not in (_ROOT, "Group"))]
    sections = [
        section
        for name in names
        if "properties" in parts[name]
        for section in part_sections(name, parts[name])
    ]
    example = f"```yaml\n{_EXAMPLE.read_text(encoding='utf-8').strip()}\n```"
    return page(
        "Workload file",
        _INTRODUCTION.format(version=WORKLOAD_SCHEMA_VERSION),
        example,
        _FORMS,
        *sections,
    )


def _with_short_names(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose parts are named as their keys, without the word that ends classes."""
    text = json.dumps({name.removesuffix("Part"): part for name, part in schema.items()})
    found: dict[str, Any] = json.loads(text.replace('Part"', '"'))
    return found


_INTRODUCTION = """\
A workload file says which models play how many sessions, when the sessions start, what they play,
for how long, and from which addresses. It is YAML (or JSON), schema version {version}. Models and
other files are found relative to it. Unknown keys are refused.
`examples/workloads/evening.yaml`:"""

_FORMS = """## How values are written

- Times, arrival rates and shares are numbers with a unit: `45s`, `20min`, `24h`, `7d`; `0.5/s`,
  `30/min`, `1800/h`; `0.3` or `30%`.
- Arrivals, popularity and laws are of several kinds. A text names the kind before a colon:
  `poisson:0.5/s` is `{poisson: {rate: 0.5/s}}`, and `lognormal:20min,sigma=0.6` is
  `{lognormal: {median: 20min, sigma: 0.6}}`. A kind without keys is its name alone: `together`.
  Quote a text with a comma inside `{...}` or `[...]`.
- A law that is only a number is fixed: `duration: 20min`.

## What sessions share

Sessions of the whole workload are numbered in order of their starts. Session *k* draws its group,
clip, length and packets from its number and the seed, so they are the same however the work is
divided.

A *clip* is what sessions have in common. What it is depends on the model:

| model | a clip is |
| --- | --- |
| published, with an option `clip` | a clip of its playlist; the seed decides which are popular |
| published, with `option` and `values` | a value of that option, the most popular first |
| fitted, with a population | a draw from the population: length, rate, buffering and silence |
| fitted, of one session | the model at a rate and a length, drawn from `rate` and `length` |

A session lasts as long as its clip or its own `duration`, whichever is shorter; a viewer who leaves
ends it earlier. Fitted models are stretched in their last playout, or cut; published ones are
stopped. Each session of a published model is simulated alone on a path without limits (1 Gbit/s, 10
ms one way). When a workload also has fitted models, which play open loop, the packet table leaves
out arrival times at the client, so that no packet counts as lost."""
