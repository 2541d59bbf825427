from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from trafficgen.calibration.session_fit import SessionInputs, fit_session
from trafficgen.errors import CalibrationError, TooFewObservationsError
from trafficgen.flows import choose_session
from trafficgen.models import LONGEST_S, Model, dump_model
from trafficgen.tables import PacketTable
from trafficgen.units import BoolArray, ns_from_s

GAPS_S = st.one_of(st.sampled_from([0.0, 1e-6, 0.02, 5.0, 1e8]), st.floats(0, 10))


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    gaps_s=st.lists(GAPS_S, min_size=1, max_size=40),
    repeats=st.integers(1, 12),
    sizes=st.lists(st.integers(29, 65535), min_size=1, max_size=40),
    flows=st.integers(1, 3),
    tcp=st.booleans(),
)
@example(  # plateaus in so few elements that a single level cannot be fitted
    gaps_s=[0.0, 9.0, 0.0, 5.0, 5.0, 0.0],
    repeats=4,
    sizes=[29, 24641, 1200, 29, 29, 29, 29, 29, 2377, 29, 22297, 29, 29, 29],
    flows=3,
    tcp=False,
)
@example(  # after decades, packets a nanosecond or so apart
    gaps_s=[1e8, 0.0], repeats=10, sizes=[29, 29, 29, 29, 10333, 29, 29], flows=2, tcp=True
)
@example(  # a law whose scale is far beyond its values
    gaps_s=[0.0, 0.0, 0.0, 1e8], repeats=5, sizes=[29, 1500, 1501], flows=1, tcp=False
)
@example(  # of two flows one ends where a phase of a year begins
    gaps_s=[1e-9, 1e7, 1e-6, 1e7, 1e-6, 1e7, 1e-6, 5.6e7, 1e7],
    repeats=8,
    sizes=[65535, 29, 29, 65535, 1360, 20656, 273],
    flows=2,
    tcp=True,
)
@example(  # a law whose quantiles no float holds
    gaps_s=[1e-6, 1e8, 0.0, 0.0, 0.0, 0.0, 1e8, 0.0],
    repeats=2,
    sizes=[29, 29, 1501],
    flows=3,
    tcp=True,
)
@example(  # another, of which a power is beyond floats
    gaps_s=[0.0, 5.0, 5.0, 0.0, 0.0, 0.0, 1e7, 2.621105629, 0.02, 5.2, 5.0, 5.0],
    repeats=12,
    sizes=[1501, 1500, 64, 1470, 56049, 1501, 29, 856, 1500, 1500, 1366, 1500, 1501, 1391],
    flows=1,
    tcp=True,
)
@example(  # a law of 130 gaps of 12 us, whose mean says nothing of two gaps of years
    gaps_s=[1e8, 1e-5, 0.0, 1e8], repeats=2, sizes=[51257, 65534, 9666], flows=2, tcp=False
)
@example(  # of four packets two bring new data, at one time
    gaps_s=[0.0, 0.0, 1e-6, 1e-6], repeats=1, sizes=[29, 229, 29], flows=1, tcp=True
)
def test_any_stream_gives_a_valid_model_or_one_clear_error(
    *,
    make_table: Callable[..., PacketTable],
    gaps_s: list[float],
    repeats: int,
    sizes: list[int],
    flows: int,
    tcp: bool,
) -> None:
    time_s = np.cumsum(np.tile(gaps_s, repeats))
    n = time_s.size
    table = make_table(
        time_s,
        ip_bytes=np.resize(sizes, n),
        flow=np.arange(n) % flows,
        flows=[{"flow": number, "protocol": "tcp" if tcp else "udp"} for number in range(flows)],
        tcp_sequence=np.arange(n) * 100 % (1 << 32) if tcp else [None] * n,
    )
    try:
        result = fit_session(choose_session(table), SessionInputs(files=("-",)))
    except TooFewObservationsError:
        # TCP segments overlap here, and what is repeated is left out.
        fresh = _bring_new_data(table) if tcp else np.ones(n, dtype=np.bool_)
        few = np.count_nonzero(fresh) < (4 if tcp else 3)
        assert few or np.unique(table.time_ns[fresh]).size <= 2 * flows
        return
    except CalibrationError:
        assert np.ptp(table.time_ns) >= ns_from_s(
            LONGEST_S
        )  # cutting offload packets makes the span a little longer
        return
    json.dumps(result.summary(), allow_nan=False)
    assert Model.model_validate_json(dump_model(result.model)) == result.model


def _bring_new_data(table: PacketTable) -> BoolArray:
    """Return which TCP segments end beyond all before them in their flow."""
    end = table.values("tcp_sequence").astype(np.int64) + table.payload_bytes
    fresh = np.zeros(end.size, dtype=np.bool_)
    for flow in np.unique(table.flow):
        mine = np.flatnonzero(table.flow == flow)
        highest = np.maximum.accumulate(end[mine])
        fresh[mine] = np.diff(highest, prepend=-1) > 0
    return fresh
