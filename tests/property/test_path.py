"""A path that is written reads back as itself."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trafficgen.simulation.path import Path, PathLink, Queue
from trafficgen.simulation.path_keys import AQM_NAMES

_RATES_BPS = st.floats(1, 1e12)
_TIMES_S = st.floats(0, 1e5)
_QUEUES = st.one_of(
    st.builds(Queue, packets=st.integers(1, 10**9)),
    st.builds(Queue, size_bytes=st.integers(1, 10**12)),
)


@st.composite
def _links(draw: st.DrawFn) -> PathLink:
    fields: dict[str, Any] = {"delay_s": draw(_TIMES_S)}
    if draw(st.booleans()):
        fields |= {"rate_bps": draw(_RATES_BPS), "queue": draw(st.none() | _QUEUES)}
        fields |= {
            "burst_bytes": draw(st.none() | st.integers(1500, 10**9)),
            "hold_in_flight": draw(st.booleans()),
        }
        fields |= {"reverse_rate_bps": draw(st.none() | _RATES_BPS)}
        if draw(st.booleans()):
            times_s = st.none() | st.floats(1e-4, 1e3)
            fields["aqm"] = draw(st.sampled_from(AQM_NAMES))
            if fields["aqm"] != "priority":
                fields |= {"ecn": draw(st.booleans())}
                fields |= {"aqm_target_s": draw(times_s), "aqm_interval_s": draw(times_s)}
    if draw(st.booleans()):
        fields |= {"loss": draw(st.floats(1e-9, 1)), "loss_start_s": draw(st.none() | _TIMES_S)}
        fields |= {"loss_burst_packets": draw(st.none() | st.floats(1, 1e6))}
    if draw(st.booleans()):
        fields |= {
            "reorder": draw(st.floats(1e-9, 1)),
            "reorder_delay_s": draw(st.none() | _TIMES_S),
        }
    fields |= {
        "delay_jitter_s": draw(st.just(0.0) | st.floats(1e-9, 1e3)),
        "reverse_delay_s": draw(st.none() | _TIMES_S),
        "reverse_queue": draw(st.none() | _QUEUES),
    }
    return PathLink.model_validate(fields)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # the machine may be busy
@given(link=_links(), access_bps=st.none() | _RATES_BPS)
def test_parse_undoes_text(link: PathLink, access_bps: float | None) -> None:
    path = Path(links=(link,), access_bps=access_bps)
    assert Path.parse(path.text()) == path
