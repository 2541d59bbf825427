from collections.abc import Callable, Mapping
from os import PathLike
from typing import final

import numpy as np
import numpy.typing as npt

from trafficgen._core.types import (
    CapturedFlowsDict,
    CountsDict,
    FlowCountsDict,
    RtpStreamDict,
    SimulatedAgentDict,
    SimulatedFlowDict,
    SimulatedLinkDict,
    SimulatedSumsDict,
)

__all__ = [
    "CLOCK_CANDIDATES_HZ",
    "LAW_FAMILIES",
    "LAW_MIXTURES",
    "AliasTable",
    "CaptureReader",
    "CaptureWriter",
    "ExchangeMeter",
    "ExpandedFile",
    "FlowMeter",
    "FlowPlan",
    "FrameCutter",
    "GroupedSample",
    "Law",
    "Maximum",
    "QuantileTables",
    "SimulationOutcome",
    "SteppedLaw",
    "__version__",
    "add_family",
    "block_sum_variance",
    "chain_vectors",
    "change_points",
    "clock_ticks",
    "correlated_order",
    "deal_spacings",
    "follow_bursts",
    "frame_times",
    "join_stretches",
    "lag_one_mean",
    "matrix_exponentials",
    "mean_ranks",
    "mix_normals",
    "move_law",
    "order_by_scores",
    "order_sizes_by_scores",
    "place_in_bins",
    "rank_scores",
    "replay_players",
    "sample_distance",
    "share_packets",
    "simulate",
    "solve_toeplitz",
    "sort_values",
    "spectral_ranks",
    "stable_order",
    "stream_key",
    "sum_gaps",
    "time_order",
    "values_by_rank",
    "window_modes",
]

__version__: str
CLOCK_CANDIDATES_HZ: list[int]
#: Name -> parameters in order, and those that are estimated with their scales.
LAW_FAMILIES: dict[str, tuple[list[str], dict[str, str]]]
#: Mixture -> family of its components.
LAW_MIXTURES: dict[str, str]

_Floats = npt.NDArray[np.float64]
_Edges = tuple[_Floats, _Floats, npt.NDArray[np.int64]]
_Bounds = tuple[float | None, float | None]

@final
class CaptureReader:
    def __new__(
        cls,
        paths: list[str],
        *,
        decapsulate: bool = False,
        idle_timeout_ns: int | None = None,
        keep_packets: bool = True,
        keep_flows: list[bool] | None = None,
        most_flows: int | None = None,
        exchanges: bool = False,
    ) -> CaptureReader: ...
    def read(self, packets: int) -> bool: ...
    def progress(self) -> tuple[int, int | None]: ...
    def counts(self) -> CountsDict: ...
    def damages(self) -> list[str]: ...
    def flows(self) -> CapturedFlowsDict: ...
    def signalling(
        self,
    ) -> tuple[list[tuple[int, int, bool, bytes]], list[tuple[int, int, RtpStreamDict]]]: ...
    def rtcp_reports(self) -> dict[str, npt.NDArray[np.generic]]: ...
    def exchanges(self) -> dict[str, npt.NDArray[np.generic]] | None: ...
    def plan(self, numbers: npt.NDArray[np.uint32]) -> FlowPlan: ...
    def take_columns(
        self, plan: FlowPlan, origin_ns: int
    ) -> dict[str, npt.NDArray[np.generic]] | None: ...

@final
class FlowPlan: ...

@final
class ExpandedFile:
    def __new__(cls, path: str, *, beginning: bytes | None = None) -> ExpandedFile: ...
    def read(self, most: int) -> bytes: ...

@final
class FlowMeter:
    def __new__(cls, *, idle_timeout_ns: int | None = None) -> FlowMeter: ...
    def update(
        self,
        time_ns: npt.NDArray[np.int64],
        flow: npt.NDArray[np.uint32],
        to_client: npt.NDArray[np.bool_],
        frame_bytes: npt.NDArray[np.int64],
        payload_bytes: npt.NDArray[np.int64],
        rtp_known: npt.NDArray[np.bool_],
        rtp_ssrc: npt.NDArray[np.uint32],
        rtp_sequence: npt.NDArray[np.uint16],
        rtp_timestamp: npt.NDArray[np.uint32],
    ) -> list[int]: ...
    def flows(self) -> FlowCountsDict: ...

@final
class ExchangeMeter:
    def __new__(cls) -> ExchangeMeter: ...
    def update(
        self,
        time_ns: npt.NDArray[np.int64],
        flow: npt.NDArray[np.uint32],
        to_client: npt.NDArray[np.bool_],
        payload_bytes: npt.NDArray[np.int64],
        is_udp: npt.NDArray[np.bool_],
        is_tcp: npt.NDArray[np.bool_],
        tcp_sequence: npt.NDArray[np.uint32],
        tcp_acknowledgement: npt.NDArray[np.uint32],
        tcp_flags: npt.NDArray[np.uint8],
    ) -> None: ...
    def exchanges(self) -> dict[str, npt.NDArray[np.generic]]: ...

@final
class CaptureWriter:
    def __new__(
        cls,
        path: str | PathLike[str],
        flows: list[tuple[int | None, str, int, str, int, int, int]],
        *,
        container: str,
        origin_ns: int,
        snaplen_bytes: int,
        raise_small: bool,
        macs: tuple[bytes, bytes] | None = None,
    ) -> CaptureWriter: ...
    def write(
        self,
        *,
        time_ns: npt.NDArray[np.int64],
        flow: npt.NDArray[np.uint32],
        to_client: npt.NDArray[np.bool_],
        ip_bytes: npt.NDArray[np.uint32],
        payload_bytes: npt.NDArray[np.uint32],
        rtp_ssrc: tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_] | None] | None = None,
        rtp_sequence: tuple[npt.NDArray[np.uint16], npt.NDArray[np.bool_] | None] | None = None,
        rtp_timestamp: tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_] | None] | None = None,
        rtp_marker: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_] | None] | None = None,
        tcp_sequence: tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_] | None] | None = None,
        tcp_acknowledgement: tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_] | None]
        | None = None,
        tcp_flags: tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_] | None] | None = None,
        tcp_window: tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_] | None] | None = None,
    ) -> None: ...
    def finish(self) -> dict[str, int]: ...

def replay_players(
    parameters: list[str],
    times_s: list[_Floats],
    sizes: npt.NDArray[np.int64],
    levels: npt.NDArray[np.int64],
) -> list[npt.NDArray[np.int64]]: ...
def simulate(
    scenario: str,
    schedules: list[
        tuple[
            npt.NDArray[np.int64],
            npt.NDArray[np.uint32],
            npt.NDArray[np.uint8],
            npt.NDArray[np.uint32],
            npt.NDArray[np.bool_],
        ]
    ] = ...,
    progress: Callable[[float], None] | None = None,
) -> SimulationOutcome: ...

@final
class SimulationOutcome:
    @property
    def first_media_ns(self) -> int | None: ...
    @property
    def end_ns(self) -> int: ...
    @property
    def packet_events(self) -> int: ...
    @property
    def under_way(self) -> int: ...
    def flows(self) -> list[SimulatedFlowDict]: ...
    def agents(self) -> list[SimulatedAgentDict]: ...
    def links(self) -> list[SimulatedLinkDict]: ...
    def sums(self) -> SimulatedSumsDict: ...
    def series(self) -> list[npt.NDArray[np.uint64]]: ...
    def take_columns(self) -> dict[str, npt.NDArray[np.generic]]: ...

def time_order(
    time_ns: npt.NDArray[np.int64], flow: npt.NDArray[np.uint32]
) -> npt.NDArray[np.int64] | None: ...

@final
class AliasTable:
    def __new__(
        cls, values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]
    ) -> AliasTable: ...
    def values(self, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def whole_values(
        self, numbers: npt.NDArray[np.float64], largest: int
    ) -> npt.NDArray[np.uint32]: ...

def clock_ticks(
    time_ns: npt.NDArray[np.int64],
    *,
    zero_ns: int,
    steps_per_s: float,
    step: int,
    apart: bool,
    before: int,
) -> tuple[npt.NDArray[np.uint32], int]: ...
def spectral_ranks(
    ascending: npt.NDArray[np.float64],
    amplitude: npt.NDArray[np.float64],
    phase: npt.NDArray[np.float64],
    *,
    most_turns: int,
    near: float,
) -> npt.NDArray[np.int64]: ...
def stream_key(seed: list[int], spawn_key: list[int]) -> npt.NDArray[np.uint64]: ...
def add_family(
    name: str,
    shapes: list[str],
    free: list[tuple[str, str]],
    is_whole: bool,
    tails: Callable[[list[float], _Floats, bool], _Floats],
) -> None: ...
def chain_vectors(matrices: _Floats, first: _Floats) -> tuple[_Floats, _Floats, _Floats]: ...

_Complexes = npt.NDArray[np.complex128]
_Spectrum = tuple[_Complexes, _Complexes, _Complexes]

def matrix_exponentials(spectrum: _Spectrum, x: _Floats) -> _Floats: ...
def sum_gaps(
    spectrum: _Spectrum, gap_s: _Floats, rate_per_s: _Floats, first: _Floats
) -> tuple[_Floats, _Complexes, float]: ...
def sample_distance(one: _Floats, other: _Floats) -> float: ...
def lag_one_mean(values: _Floats, place: npt.NDArray[np.uint16]) -> float: ...
def block_sum_variance(values: _Floats, place: npt.NDArray[np.uint16], length: int) -> float: ...
def change_points(total: _Floats, time_s: _Floats, shortest: int, penalty: float) -> _Places: ...
def window_modes(
    values: _Floats, firsts: list[int], stops: list[int], width: float
) -> tuple[_Floats, _Places]: ...
def mix_normals(
    values: _Floats,
    counts: _Floats,
    component: npt.NDArray[np.int64],
    smallest: float,
    rounds: int,
    tolerance: float,
) -> list[tuple[float, float, float]]: ...
def move_law(family: str, params: dict[str, float], step: _Floats) -> dict[str, float]: ...

_Places = npt.NDArray[np.int64]
_Rows = npt.NDArray[np.uint32]

def order_by_scores(scores: _Floats, values: _Floats) -> _Floats: ...
def order_sizes_by_scores(scores: _Floats, sizes: _Rows) -> _Rows: ...
def deal_spacings(spacings: _Floats, needs: _Floats, numbers: _Floats) -> _Floats: ...
def join_stretches(first: _Places, lengths: _Places, count: int, stored: int) -> _Rows: ...
def follow_bursts(
    stored: tuple[_Places, _Places], counts: _Places, numbers: _Floats, near: int
) -> _Rows: ...
def rank_scores(ranks: _Floats, rows: _Rows, numbers: _Floats, spread: float) -> _Floats: ...
def share_packets(sizes: _Rows, bins: _Floats) -> _Places: ...
def solve_toeplitz(first_row: _Floats, right: _Floats) -> _Floats: ...
def sort_values(values: _Floats) -> _Floats: ...
def mean_ranks(values: _Floats) -> _Floats: ...
def stable_order(values: _Floats) -> _Places: ...
def values_by_rank(ranks: _Places, types: _Places, values: _Floats) -> _Floats: ...
def frame_times(
    ready_s: _Floats,
    counts: _Places,
    gaps_s: _Floats | None,
    *,
    of_frames: bool,
    start_s: float,
    first_at_start: bool,
) -> _Floats: ...
def place_in_bins(
    fillings: list[tuple[_Floats, npt.NDArray[np.uint32], npt.NDArray[np.bool_] | None, float]],
    class_of: _Places,
    counts: _Places,
    before: _Floats,
    *,
    width_s: float,
    tolerated_s: float,
) -> tuple[_Floats, npt.NDArray[np.uint32]]: ...
def correlated_order(
    series: _Floats, ascending: _Floats, mean: float, amplitude: _Floats, most_turns: int
) -> _Floats: ...

@final
class SteppedLaw:
    def __new__(
        cls,
        atoms: tuple[_Floats, _Floats, float],
        points: tuple[_Floats, _Floats],
        whole: tuple[float, float] | None,
    ) -> SteppedLaw: ...
    def values(self, probability: _Floats) -> _Floats: ...
    def inside(self, share: _Floats) -> _Floats: ...

@final
class FrameCutter:
    def __new__(cls, left: _Places) -> FrameCutter: ...
    def take(self, frames: _Places, size_bytes: int) -> None: ...
    def fill(self, sizes: _Floats) -> int: ...
    def cut_equally(self, largest: int) -> None: ...
    def end(self) -> tuple[_Places, npt.NDArray[np.uint32]]: ...

@final
class QuantileTables:
    def __new__(
        cls, lower: tuple[_Floats, _Floats], upper: tuple[_Floats, _Floats]
    ) -> QuantileTables: ...
    def quantiles(self, probability: _Floats, upper: bool) -> _Floats: ...

@final
class Law:
    def __new__(cls, family: str, params: Mapping[str, float]) -> Law: ...
    def tail(self, x: _Floats, upper: bool) -> _Floats: ...
    def quantiles(self, p: _Floats, upper: bool) -> _Floats: ...
    def partial_moment(self, order: int, low: float, high: float) -> float: ...
    @property
    def support(self) -> tuple[float, float]: ...
    @property
    def has_quantile(self) -> bool: ...

@final
class GroupedSample:
    def __new__(
        cls,
        below: _Edges,
        above: _Edges,
        lower: npt.NDArray[np.int64],
        upper: npt.NDArray[np.int64],
        counts: _Floats,
    ) -> GroupedSample: ...
    def log_probabilities(
        self, family: str, params: dict[str, float], bounds: _Bounds
    ) -> _Floats: ...
    def scores(self, family: str, params: dict[str, float], bounds: _Bounds) -> _Floats | None: ...
    def maximise(
        self, family: str, params: dict[str, float], bounds: _Bounds, rounds: int
    ) -> Maximum | None: ...
    def hold_out(self, maximum: Maximum, folds: _Floats) -> _Floats: ...

@final
class Maximum:
    def params(self) -> dict[str, float]: ...
    def log_probabilities(self) -> _Floats: ...
