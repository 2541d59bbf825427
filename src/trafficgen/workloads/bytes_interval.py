"""Between what bytes the sessions of a fitted model lie, by the uncertainty of its parameters."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from trafficgen.models import Model
from trafficgen.progress import report_each
from trafficgen.scipy_special import special
from trafficgen.workloads.options import WorkloadOptions
from trafficgen.workloads.sessions import plan_model, sessions_of_workload

#: Sessions of one model that are played for the interval of its bytes, and of long ones at least.
_VARIED, _FEWEST_VARIED = 20, 5
#: Packets after which no other session is played for an estimate.
SAMPLED_PACKETS = 300_000


def find_bytes_interval(model: Model, options: WorkloadOptions) -> tuple[float, float] | None:
    """Return the interval in which the IP bytes of 95% of a model's sessions lie.

    None if a session may have none.

    Sessions are played with parameters drawn from their uncertainty. The logarithms of their bytes
    are taken as normal, with a mean and a variance that are known from so many sessions only.

    Source: prediction interval of a normal law by Student's t.
    """
    several = replace(options, sessions=_VARIED, arrivals=None, posterior=True, jitter_s=None)
    workload = plan_model(model, several)
    sessions = sessions_of_workload(workload, seed=options.seed, sessions=_VARIED, at=options.at)
    sizes: list[int] = []
    packets = 0
    for number in report_each(range(_VARIED), "varying", total=_VARIED, unit="sessions"):
        if len(sizes) >= _FEWEST_VARIED and packets > SAMPLED_PACKETS:
            break
        tables, _ = sessions.block(number, 1)
        packets += sum(table.num_rows for table in tables)
        sizes.append(sum(pc.sum(table["ip_bytes"]).as_py() or 0 for table in tables))
    if min(sizes) <= 0:
        return None
    logs, count = np.log(np.array(sizes, dtype=np.float64)), len(sizes)
    half = float(special.stdtrit(count - 1, 0.975) * logs.std(ddof=1) * math.sqrt(1 + 1 / count))
    one_packet = sum(sizes) / max(1, packets)  # at the end of a session there may be one more
    low, high = (math.exp(logs.mean() + side) for side in (-half, half))
    return max(0.0, low - one_packet), high + one_packet
