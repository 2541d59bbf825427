"""Rank the models of the catalogue by how near they are to a capture: `compare --against`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from trafficgen.capture.inputs import Paths, file_text, input_names
from trafficgen.capture.memory import COMPARE_PACKET_BYTES
from trafficgen.capture.options import ReadOptions, SessionChoice
from trafficgen.capture.reading import read_frame
from trafficgen.capture.session import open_session
from trafficgen.data_frames import frame_rows
from trafficgen.errors import SelectionError
from trafficgen.flows import (
    clock_tick_ns,
    find_burst_threshold_s,
    resegment,
    segment_bursts,
    swap_ends,
    widen_bin,
)
from trafficgen.formatting import number, one_line
from trafficgen.models import Option, PublishedModel
from trafficgen.models.published import entry_names, load_entry
from trafficgen.notebook import NotebookView
from trafficgen.option_names import name_options
from trafficgen.options import DataFrame, takes
from trafficgen.progress import report_step
from trafficgen.tables import PacketTable
from trafficgen.units import BoolArray, FloatArray, IntArray, kbps_from_bytes, s_from_ns
from trafficgen.validation.options import RankOptions
from trafficgen.workloads.generate import generate

if TYPE_CHECKING:
    import pandas as pd

#: What a distance is made of, and what each feature is called for people.
FEATURES = {
    "packet_bytes": "sizes",
    "gap_s": "gaps",
    "burst_bytes": "bursts",
    "burst_spacing_s": "spacing",
    "rate_kbps": "rates",
    "transport": "transport",
}
_SAMPLED = [name for name in FEATURES if name != "transport"]
#: Samples are compared at this many quantiles.
_QUANTILES = (np.arange(200) + 0.5) / 200
#: Packets closer than this leave at one instant, s: what parts them is the link.
_AT_ONCE_S = 1e-3
#: Width of the bins of the rates, s, and their floor as a share of the mean.
_BIN_S, _LEAST_RATE = 1.0, 0.01
#: Bins at most; sessions of more (eleven days) get wider ones.
_MOST_BINS = 1_000_000
#: Options that scale a model's rate, and those of its frames: they are set to what was measured.
_RATES = ("rate_kbps", "rate_mbps", "encoding_rate_kbps")
_FRAMES = "fps"
#: An option stays at its default where the capture is so near to it.
_NEAR = 0.02


@dataclass(frozen=True)
class RankedModel:
    """A model of the catalogue, and how far it is from a capture.

    Attributes:
        name: Its name in the catalogue.
        distance: 0 for equal traffic; 0.5 where samples differ by a factor of two on the average; 1
            at most.
        turned: Whether it is nearest with client and server exchanged, which captures of UDP that
            goes one way do not show.
        features: The distance by feature: ``packet_bytes``, ``gap_s``, ``burst_bytes``,
            ``burst_spacing_s``, ``rate_kbps``; ``transport`` is 1 between UDP and TCP.
        settings: Options that were set to what was measured, such as its rate.
    """

    name: str
    distance: float
    features: dict[str, float]
    settings: dict[str, float]
    turned: bool

    @property
    def command(self) -> str:
        """What the commands take to play it, with its options."""
        options = [f"[--set {key}={value:g}]" for key, value in self.settings.items()]
        return name_options(" ".join([self.name, *options]), flags=True)


@dataclass(frozen=True, eq=False)
class Ranking(NotebookView):
    """The models of the catalogue, the nearest to a capture first.

    Attributes:
        models: All that could be played.
        own_distance: Distance of two runs of the nearest model, which chance alone makes.
        name: Name of the capture, for people.
        seed: Seed of the runs.

    Example:
        >>> import trafficgen
        >>> _ = trafficgen.generate("voip_ngmn2008", "call.parquet", seed=7)
        >>> ranking = trafficgen.rank_catalogue("call.parquet")
        >>> ranking.models[0].name
        'voip_ngmn2008'
    """

    models: tuple[RankedModel, ...]
    own_distance: float
    name: str
    seed: int

    def __repr__(self) -> str:
        return f"<Ranking of the catalogue for {one_line(self.name)}: {self.describe()}>"

    @property
    def feature_names(self) -> list[str]:
        """Names of the features for people, as the columns of a table."""
        return list(FEATURES.values())

    def verdict(self) -> str:
        """Return a sentence on the nearest model."""
        text = self.describe()
        return f"{text[0].upper()}{text[1:]}."

    def describe(self) -> str:
        """Say which model is nearest, how far it is, and whether that is near."""
        first, own = self.models[0], number(self.own_distance, digits=2)
        equal = [one.name for one in self.models[1:] if one.distance <= first.distance + 1e-9]
        also = f" ({', '.join(equal)} play the same)" if equal else ""
        rest = self.models[1 + len(equal) :]
        alike = [one.name for one in rest if one.distance <= self.own_distance]
        # Others no further than two runs of the nearest differ from it by no more than chance.
        so = f"; so {'is' if len(alike) == 1 else 'are'} {', '.join(alike)}" if alike else ""
        if first.distance <= 2 * self.own_distance:
            judged = "as near as another run of it"
        elif first.distance <= 2 * self.own_distance + 0.1:
            judged = "near"
        else:
            judged = "no model of the catalogue plays this" if first.distance > 0.5 else "not near"
        return (
            f"nearest is {first.command}{also}, at distance {number(first.distance, digits=2)}:"
            f" {judged} (two runs of it are {own} apart){so}"
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return a row a model: its distance, that by feature, and how it is played."""
        columns = {"model": str, "distance": float, **dict.fromkeys(FEATURES, float)}
        rows = [
            {"model": one.name, "distance": one.distance, **one.features, "command": one.command}
            for one in self.models
        ]
        return frame_rows(rows, {**columns, "command": str}).set_index("model")

    def to_json(self) -> dict[str, object]:
        """Return what `trafficgen compare --against catalogue --json` prints."""
        return {
            "models": [dict(vars(one)) for one in self.models],
            "own_distance": self.own_distance,
            "name": self.name,
            "seed": self.seed,
        }


@takes(RankOptions)
def rank_catalogue(capture: Paths | PacketTable | DataFrame, options: RankOptions) -> Ranking:
    """Rank the published models by how near their traffic is to a capture.

    Each is played once, with the measured rate and frame rate where it has options for them, and
    compared in both directions by packet sizes, gaps, bytes and spacing of bursts, rates over
    1 s, and transport. Samples are compared at their quantiles, by the mean absolute logarithm of
    their ratio.

    Args:
        capture: One or several capture files, or one packet table, a file or in memory, or a data
            frame as for :func:`~trafficgen.read_packets`.
        options: See :class:`~trafficgen.validation.options.RankOptions`.

    Raises:
        InputFileError: If an input cannot be read at all, or does not fit into the memory.
        SelectionError: If there is no such flow or session.

    Example:
        >>> import trafficgen
        >>> ranking = trafficgen.rank_catalogue(trafficgen.generate("game_ngmn2008", seed=7))
        >>> ranking.models[0].name
        'game_ngmn2008'
    """
    if isinstance(capture, DataFrame):
        capture = read_frame(capture)
    table = _read_session(capture, options)
    if options.undo_offload:
        table, _ = resegment(table)
    measured = _Traffic.measure(table)
    names = entry_names()
    ranked = []
    for done, name in enumerate(names):
        report_step("playing the catalogue", done, len(names), unit="models")
        ranked.append(_judge(load_entry(name), measured, options.seed))
    report_step("playing the catalogue", len(names), len(names), unit="models")
    ranked.sort(key=lambda one: (one.distance, len(one.settings), one.name))
    return Ranking(
        models=tuple(ranked),
        own_distance=_own_distance(ranked[0], options.seed),
        name=", ".join(map(file_text, input_names(capture))),
        seed=options.seed,
    )


def _read_session(capture: Paths | PacketTable, options: RankOptions) -> PacketTable:
    """Return the packets of the session, also of one that only goes to the server."""
    how = ReadOptions(memory_bytes=options.memory_bytes)

    def read(*, upload: bool) -> PacketTable:
        choice = SessionChoice(
            flow=options.flow, session=options.session, every=options.every, upload=upload
        )
        return open_session(capture, choice, how, packet_bytes=COMPARE_PACKET_BYTES).view.table

    try:
        return read(upload=False)
    except SelectionError as error:
        if "media packet" not in error.what:
            raise
    return swap_ends(read(upload=True))


@dataclass(frozen=True)
class _Way:
    """The packets of one direction that carry payload: times, ns, ascending, and bytes."""

    time_ns: IntArray
    ip_bytes: IntArray
    span_s: float  #: of the whole session

    @cached_property
    def rate_kbps(self) -> float:
        return kbps_from_bytes(float(self.ip_bytes.sum()), max(self.span_s, _AT_ONCE_S))

    @cached_property
    def burst_threshold_s(self) -> float:
        """The longest gap within a burst; packets of one instant always are in one."""
        tick_s = s_from_ns(clock_tick_ns(self.time_ns))
        found = find_burst_threshold_s(s_from_ns(np.diff(self.time_ns)), tick_s=tick_s)
        return max(found or 0.0, _AT_ONCE_S)

    @cached_property
    def bursts_per_s(self) -> float:
        bursts = segment_bursts(self.time_ns, self.ip_bytes, threshold_s=self.burst_threshold_s)
        return bursts.packets.size / max(self.span_s, _AT_ONCE_S)

    def log_quantiles(self, threshold_s: float) -> dict[str, FloatArray]:
        """Return the logarithms of the quantiles of each feature; none of one without values."""
        bursts = segment_bursts(self.time_ns, self.ip_bytes, threshold_s=threshold_s)
        bin_s = widen_bin(_BIN_S, span_s=self.span_s, most_bins=_MOST_BINS)
        bins = max(int(self.span_s / bin_s), 1)
        place = s_from_ns(self.time_ns - self.time_ns[0]) / bin_s
        place = np.minimum(place.astype(np.int64), bins - 1)
        in_bins = np.bincount(place, weights=self.ip_bytes, minlength=bins)
        rates = in_bins * kbps_from_bytes(1.0, bin_s)
        samples: dict[str, FloatArray | IntArray] = {
            "packet_bytes": self.ip_bytes,
            "gap_s": np.maximum(s_from_ns(np.diff(self.time_ns)), _AT_ONCE_S),
            "burst_bytes": bursts.size_bytes,
            "burst_spacing_s": bursts.spacing_s,
            "rate_kbps": np.maximum(rates, _LEAST_RATE * rates.mean()),
        }
        return {name: _log_quantiles(sample) for name, sample in samples.items()}

    @cached_property
    def own_quantiles(self) -> dict[str, FloatArray]:
        return self.log_quantiles(self.burst_threshold_s)


def _log_quantiles(sample: FloatArray | IntArray) -> FloatArray:
    if not sample.size:
        return np.zeros(0)
    return np.asarray(np.log(np.quantile(sample, _QUANTILES, method="inverted_cdf")))


@dataclass(frozen=True)
class _Traffic:
    """What a session sends to the client and to the server; None: nothing."""

    ways: tuple[_Way | None, _Way | None]
    protocol: str  #: of the heaviest flow

    @classmethod
    def measure(cls, table: PacketTable) -> _Traffic:
        loaded = table.payload_bytes > 0
        to_client = table.to_client ^ _is_turned(table)
        span_s = s_from_ns(int(np.ptp(table.time_ns[loaded]))) if loaded.any() else 0.0

        def way(rows: BoolArray) -> _Way | None:
            found = _Way(table.time_ns[rows], table.ip_bytes[rows], span_s)
            return found if rows.any() else None

        protocol = table.flows.column("protocol")[_heaviest(table)].as_py() if len(table) else ""
        return cls((way(loaded & to_client), way(loaded & ~to_client)), protocol)

    def turn(self) -> _Traffic:
        """Return the same with client and server exchanged."""
        return replace(self, ways=self.ways[::-1])

    @cached_property
    def packet_shares(self) -> FloatArray:
        packets = np.array([0 if way is None else way.time_ns.size for way in self.ways])
        return np.asarray(packets / max(packets.sum(), 1))

    @property
    def heavier(self) -> _Way | None:
        known = [way for way in self.ways if way is not None]
        return max(known, key=lambda way: way.rate_kbps, default=None)


def _heaviest(table: PacketTable) -> int:
    """Return the row of the flow with most bytes."""
    numbers: list[int] = table.flows.column("flow").to_pylist()
    return numbers.index(int(np.bincount(table.flow, weights=table.ip_bytes).argmax()))


def _is_turned(table: PacketTable) -> BoolArray:
    """Return where a flow has the heaviest one's client for its server, shape (n,).

    A capture of UDP takes the sender of a flow that goes one way for its server.
    """
    flow = table.flow
    if not flow.size:
        return np.zeros(0, dtype=np.bool_)
    numbers, servers, clients = (
        table.flows.column(name).to_pylist() for name in ("flow", "server", "client")
    )
    heaviest = _heaviest(table)
    server, client = servers[heaviest], clients[heaviest]
    turned = [
        number
        for number, *ends in zip(numbers, servers, clients, strict=True)
        if ends == [client, server] and server != client
    ]
    return np.asarray(np.isin(flow, turned))


def _own_distance(best: RankedModel, seed: int) -> float:
    runs = (_play(best.name, best.settings, seed + run) for run in (0, 1))
    return _distance(*runs)[0]


def _judge(model: PublishedModel, measured: _Traffic, seed: int) -> RankedModel:
    """Play a model as it is, then with its rates set to the capture's, and take the nearer one."""
    played = _play(model.name, {}, seed)
    runs: list[tuple[dict[str, float], _Traffic]] = [({}, played)]
    if settings := dict(_fitted_settings(model, measured, played)):
        runs.append((settings, _play(model.name, settings, seed)))
    ranked = [
        RankedModel(model.name, *_distance(measured, side), settings, turned)
        for settings, run in runs
        for turned, side in ((False, run), (True, run.turn()))
    ]
    return min(ranked, key=lambda one: one.distance)


def _play(name: str, settings: Mapping[str, float], seed: int) -> _Traffic:
    return _Traffic.measure(generate(name, settings=dict(settings), seed=seed))


def _fitted_settings(
    model: PublishedModel, measured: _Traffic, played: _Traffic
) -> Iterator[tuple[str, float]]:
    """Yield options of rate and frame rate as the capture has them, where the default is not so."""
    capture, own = measured.heavier, played.heavier
    if capture is None or own is None:
        return
    ratios = dict.fromkeys(_RATES, capture.rate_kbps / own.rate_kbps)
    if _FRAMES in model.options:
        ratios[_FRAMES] = capture.bursts_per_s / own.bursts_per_s
    for name, ratio in ratios.items():
        if name in model.options and abs(ratio - 1) > _NEAR:
            option = model.options[name]
            if (value := _nearest_allowed(option, ratio)) != option.default:
                yield name, value


def _nearest_allowed(option: Option, ratio: float) -> float:
    """Return the allowed value nearest to a multiple of the default, by ratio."""
    assert isinstance(option.default, int | float)
    wanted = option.default * ratio
    choices = [one for one in option.choices if isinstance(one, int | float) and one > 0]
    if choices:
        return min(choices, key=lambda one: abs(math.log(one / wanted)))
    low, high = option.low or 0.0, math.inf if option.high is None else option.high
    value = min(max(float(f"{wanted:.3g}"), low), high)
    return round(value) if isinstance(option.default, int) and value >= 10 else value


def _distance(measured: _Traffic, played: _Traffic) -> tuple[float, dict[str, float]]:
    """Return the distance of two kinds of traffic, and that by feature.

    A direction weighs as much as its share of the packets, the mean of both sides; one that only
    one side has is as far as can be.
    """
    weights = (measured.packet_shares + played.packet_shares) / 2
    features = dict.fromkeys(FEATURES, 0.0)
    for weight, left, right in zip(weights, measured.ways, played.ways, strict=True):
        if left is not None and right is not None:
            both = (left.own_quantiles, right.log_quantiles(left.burst_threshold_s))
            distances = {name: _sample_distance(*(one[name] for one in both)) for name in both[0]}
        else:
            distances = dict.fromkeys(_SAMPLED, 1.0)
        for name, distance in distances.items():
            features[name] += float(weight) * distance
    features["transport"] = float(measured.protocol != played.protocol)
    return float(np.mean(list(features.values()))), features


def _sample_distance(left: FloatArray, right: FloatArray) -> float:
    """Return 1 - exp(-d) of the mean absolute log ratio d of quantiles; 1 if one has no values."""
    if not (left.size and right.size):
        return float(left.size != right.size)
    return float(-math.expm1(-np.abs(left - right).mean()))
