"""Which policy explains the rungs that a player chose.

Each candidate is the player of the catalogue (``chunked``) with the recorded ladder, put into the
situation before each decision: the throughput of the segments that came, and the media in the
buffer. A decision that it does not share is an error; the share of errors is not known, but rather
small (a beta law). A family is worth the mean likelihood over its settings, which is how well each
decision is predicted from those before it, so that a family of many settings has no advantage;
settings near published defaults weigh more.
Errors come in rows, so that three decisions count as about one. How often a family of some weight
is the right one is not measured yet.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import JsonValue

from trafficgen.calibration.application.likely_ladders import LikelyLadder
from trafficgen.calibration.application.playback import Downloads, Playback
from trafficgen.imports import special
from trafficgen.models import Estimate, PlayerPolicy, PolicyFamily, PolicySetting
from trafficgen.models.application import SAFE_SHARE, STAYS, odds_of_lowest
from trafficgen.models.published import load_entry, parameters_for_engine, with_settings
from trafficgen.units import FloatArray, IntArray

_Candidate = dict[str, str | bool | float | None]
_Grid = dict[str, list[str | bool | float | None]]
#: Settings of each family that are tried: published defaults, and values around them. The simplest
#: first: of families that explain the same, the first is named.
_GRIDS: dict[PolicyFamily, list[_Grid]] = {
    "fixed": [{"fixed_kbps": []}],
    "throughput": [
        {
            "throughput_average": ["ewma", "smoothed", "harmonic"],
            "throughput_share": [round(0.5 + 0.05 * step, 2) for step in range(15)],
            "throughput_up_steps": [1, None],
            "throughput_up_share": [None, 0.7],
        }
    ],
    "buffer": [
        {"reservoir_share": [0.1, 0.25, 0.375, 0.5], "cushion_share": [0.2, 0.35, 0.525, 0.7]}
    ],
    "bola": [
        {"bola_form": ["basic"], "bola_gp": [round(5 * 1.125**step, 2) for step in range(-12, 9)]},
        {"bola_form": ["dashjs"], "bola_low_s": [6.0, 8.0, 10.0, 12.0]},
    ],
    "dynamic": [
        {
            "bola_form": ["dashjs"],
            "throughput_share": [0.6, 0.7, 0.8, 0.9, 1.0],
            "dynamic_on_s": [8.0, 10.0, 12.0, 18.0],
        }
    ],
    "mpc": [{"mpc_robust": [True, False], "mpc_stall_weight": [1.0, 4.3, 20.0]}],
}
#: Beta law of the share of decisions that a policy does not explain: a tenth on average. One
#: decision counts as this part of one that does not depend on others.
_ERRORS, INDEPENDENT = (1.0, 9.0), 0.3
WRONG_SHARE = _ERRORS[0] / sum(_ERRORS)
#: Where sizes vary by more than this within a rung (log), segments may be at other rungs: decisions
#: count less, by the square of the ratio, and families are as likely beforehand as in use, where
#: players mostly follow the throughput (hls.js, Shaka, ExoPlayer) or both (dash.js).
_SURE_SPREAD = 0.1
_PRIORS: dict[PolicyFamily, float] = {
    **{"throughput": 0.4, "dynamic": 0.25, "bola": 0.1, "buffer": 0.1, "mpc": 0.1, "fixed": 0.05}
}
#: Buffer targets that are tried where buffers were never full, over what they held at most: rungs
#: of these families depend on it, and in steps of a quarter a fifth of the choices of a player of
#: BOLA seem wrong.
_TARGETS = tuple(round(1.08**step, 3) for step in range(11))
_BY_BUFFER: tuple[PolicyFamily, ...] = ("buffer", "bola")
#: The share of the throughput, and the buffers at which these families change the rung, are any, so
#: that their settings are tried in small steps once rungs are known: shares in steps of 0.01, of
#: buffers 0.05 with those of BBA-0, gp in steps of an eighth about its default, targets in steps
#: of 4% from what the buffer held to 2.2 times that.
_FINE_GRIDS: dict[PolicyFamily, _Grid] = {
    "throughput": {
        **_GRIDS["throughput"][0],
        "throughput_share": [round(0.5 + 0.01 * step, 2) for step in range(71)],
    },
    "buffer": {
        "reservoir_share": [0.375, *(round(0.05 * step, 2) for step in range(2, 13))],
        "cushion_share": [0.525, *(round(0.05 * step, 2) for step in range(4, 17))],
    },
    "bola": _GRIDS["bola"][0],
}
_FINE_TARGETS = tuple(round(1.04**step, 3) for step in range(21))
_LEAST_WEIGHT, _DIGITS = 0.01, 9
#: Of settings beforehand: one more is less likely by this factor where rungs are not sure, and
#: numbers are about this far from the defaults (share, scale of a Cauchy law: players have other
#: ones too).
_EXTRA, _USUAL = 0.5, 0.25
#: Half of the players of these families (with a form of BOLA) have the very settings of their
#: papers, as most implementations do: an assumption.
_AS_PUBLISHED = 0.5
_OF_PAPERS = {"buffer": None, "bola": "basic"}
#: Settings are likely down to this part of the best likelihood: a 95% interval of one number.
_LIKELY = 0.147
_FEWEST_DECISIONS = 5
#: The median time that segments took, over what they play, differs by this from the share of the
#: throughput that they need (log, standard deviation): contents vary, the throughput too.
_BUSY_SPREAD = 0.1


@dataclass(frozen=True)
class Choices:
    """Segments that a player chose; arrays of shape (n,).

    Attributes:
        downloads: When they were requested and came.
        size_bytes: Their sizes.
        visited_kbps: Rungs that were visited, ascending; those of ``downloads`` are among them.
        ladders: Ladders that the player may have had, the one of most rungs last.
        segment_s: Media in a segment, s.
        spread: Standard deviation of log sizes within a rung.
    """

    downloads: Downloads
    size_bytes: FloatArray
    visited_kbps: list[float]
    ladders: list[LikelyLadder]
    segment_s: float
    spread: float

    def place_in(self, ladder_kbps: Sequence[float]) -> IntArray:
        """Return the place of each choice in a ladder that has the visited rungs, shape (n,)."""
        places = np.searchsorted(ladder_kbps, self.visited_kbps)
        return np.asarray(places[self.downloads.rung], dtype=np.int64)


@dataclass(frozen=True)
class Decisions:
    """What a player chose in a session, and what it knew.

    Attributes:
        choices: What was requested.
        playback: The buffer at the requests.
        target: Buffer target, s; None where it is not known.
    """

    choices: Choices
    playback: Playback
    target: Estimate | None

    @property
    def room_s(self) -> float:
        """Media that the buffer takes, s."""
        return self.target.value if self.target else float(self.playback.before_s.max())


def fit_policy(sessions: Sequence[Decisions]) -> tuple[PlayerPolicy | None, str]:
    """Find the policy that explains the choices in sessions of one player best.

    Args:
        sessions: Decisions in each; all have the same ladders.

    Returns:
        The policy, or None and the reason.
    """
    weighed = _weigh_candidates(sessions, is_fine=True)
    if weighed is None:
        decisions = sum(len(one.choices.downloads.rung) - 1 for one in sessions)
        return None, f"{decisions} decisions: too few"
    candidates, worth = weighed.candidates, weighed.worth
    # Families first, whichever ladder it is: which of them a top rules out must not choose it.
    weights = dict(zip(_GRIDS, worth.sum(axis=0) / worth.sum(), strict=True))
    # Families that explain the same differ by rounding: of these the first is named.
    order = sorted(weights, key=lambda family: -round(weights[family], _DIGITS))
    if order[0] == "fixed" and weights["fixed"] < STAYS:
        order.append(order.pop(0))  # rather one that changes, whichever it is
    best, *others = order
    own = worth[:, list(_GRIDS).index(best)]
    ladders = sessions[0].choices.ladders
    place = _choose_ladder(ladders, own)
    chosen = [number for number, one in enumerate(candidates) if one["policy"] == best]
    return (
        PlayerPolicy(
            family=best,
            parameters=_likely_settings(
                [candidates[number] for number in chosen],
                weighed.own_likelihood[place, chosen],
                is_sure=weighed.is_sure,
            ),
            rungs_above=ladders[place].above,
            rungs_between=ladders[place].has_between,
            weight=float(weights[best]),
            alternatives={
                family: float(weights[family])
                for family in others
                if weights[family] >= _LEAST_WEIGHT
            },
        ),
        "",
    )


def _choose_ladder(ladders: Sequence[LikelyLadder], worth: FloatArray) -> int:
    """Return the number of the likeliest ladder among those as likely between and above."""
    has_between = np.array([one.has_between for one in ladders])
    has_above = np.array([one.above > 0 for one in ladders])
    left = worth.copy()
    for part in (has_between, has_above):
        left[part != (left[part].sum() >= left[~part].sum())] = 0.0
    return int(left.argmax())


@dataclass(frozen=True)
class Prediction:
    """What the policies say of the choices of a session.

    Attributes:
        log_likelihood: How well they together predict the choices. What players may be is the same
            for all hypotheses of what they knew, so that these can be compared by it.
        ladder_kbps: Rungs of the highest ladder.
        rung: Place in it that each candidate would have chosen, shape (candidates, n).
        log_prior: How likely each is beforehand, shape (candidates,).
    """

    log_likelihood: float
    ladder_kbps: list[float]
    rung: IntArray
    log_prior: FloatArray


def predict_choices(session: Decisions, *, independent: bool = False) -> Prediction | None:
    """Return how well policies predict the choices of a session; None where they are too few.

    Args:
        session: Its decisions.
        independent: Whether each decision counts as one, and segments are surely at their rungs.
    """
    weighed = _weigh_candidates([session], independent=independent)
    if weighed is None:
        return None
    return Prediction(
        weighed.log_scale + float(np.log(weighed.worth.sum())),
        session.choices.ladders[-1].rungs_kbps,
        weighed.predicted,
        weighed.log_prior,
    )


@dataclass(frozen=True)
class _Weighed:
    """Candidates, and how likely choices are by each.

    Attributes:
        candidates: Settings of each.
        own_likelihood: Shape (ladders, candidates), over a common factor: of settings of one
            family, which all take the same segments for one rung.
        worth: Mean likelihood of each family times its prior and that of the ladder, shape
            (ladders, families).
        log_scale: Logarithm of the factor.
        is_sure: Whether segments are surely at their rungs.
        predicted: What each would have chosen in the last session with the last ladder, shape
            (candidates, n).
        log_prior: How likely each is beforehand, shape (candidates,).
    """

    candidates: list[_Candidate]
    own_likelihood: FloatArray
    worth: FloatArray
    log_scale: float
    is_sure: bool
    predicted: IntArray
    log_prior: FloatArray


def _weigh_candidates(
    sessions: Sequence[Decisions], *, independent: bool = False, is_fine: bool = False
) -> _Weighed | None:
    """Return how likely choices are by each candidate; None if there are too few."""
    counts = [len(one.choices.downloads.rung) - 1 for one in sessions]
    if sum(counts) < _FEWEST_DECISIONS:
        return None
    ladders = sessions[0].choices.ladders
    spread = max(one.choices.spread for one in sessions)
    is_sure = independent or spread <= _SURE_SPREAD
    seen = np.unique(np.concatenate([one.choices.downloads.rung for one in sessions]))
    visited = [sessions[0].choices.visited_kbps[one] for one in seen]
    held_s = None
    if not any(one.target for one in sessions):
        held_s = max(one.room_s for one in sessions)
    candidates: list[_Candidate] = [
        {"policy": family, **dict(zip(grid, values, strict=True))}
        for family, grids in _grids(visited, held_s, is_fine=is_fine).items()
        for grid in grids
        for values in itertools.product(*grid.values())
    ]
    are_fixed = np.array([one["policy"] == "fixed" for one in candidates])
    wrong = np.zeros((len(ladders), len(candidates)), dtype=np.int64)
    for place, one in itertools.product(range(len(ladders)), sessions):
        ladder_kbps = ladders[place].rungs_kbps
        taken = one.choices.place_in(ladder_kbps)
        predicted = _replay(one, ladder_kbps, taken, candidates)
        is_wrong = predicted != taken
        # The first is by a default, but that of a player of one rung.
        is_wrong[~are_fixed, 0] = False
        wrong[place] += np.count_nonzero(is_wrong, axis=1)
    rungs = max(len(one.rungs_kbps) for one in ladders if one.above <= 1)
    logs = _log_likelihood(wrong, sum(counts), rungs=rungs)
    logs *= 1.0 if independent else INDEPENDENT
    by_share = _weigh_shares(sessions, candidates)
    own_likelihood = np.exp(logs + by_share - (logs + by_share).max())
    if not is_sure:
        logs *= (_SURE_SPREAD / spread) ** 2
    logs += by_share
    log_scale = float(logs.max())
    likelihood = np.exp(logs - log_scale)
    families = np.array([one["policy"] for one in candidates])
    distance = np.array([_measure_oddness(tuple(one.items()))[1] for one in candidates])
    prior = 1 / (1 + (distance / _USUAL) ** 2)
    is_of_paper = np.array([_is_of_paper(one) for one in candidates])
    worth = []
    for family in _GRIDS:
        own = families == family
        prior[own] /= prior[own].sum()
        published = own & is_of_paper & (distance == 0)
        if published.any():
            prior[own] *= 1 - _AS_PUBLISHED
            prior[published] += _AS_PUBLISHED / np.count_nonzero(published)
        prior[own] *= _weigh_family(family, visited, is_sure=is_sure)
        worth.append(likelihood[:, own] @ prior[own])
    return _Weighed(
        candidates,
        own_likelihood,
        np.transpose(worth) * np.array([[one.weight] for one in ladders]),
        log_scale,
        is_sure,
        predicted,
        np.log(prior),
    )


def _weigh_family(family: PolicyFamily, visited_kbps: Sequence[float], *, is_sure: bool) -> float:
    """Return how likely a family is beforehand, up to a factor.

    A player that surely stays at one rung has no other one, or stays at the lowest.
    """
    if not is_sure:
        return _PRIORS[family]
    if len(visited_kbps) > 1:
        return 1 / len(_GRIDS)
    if family == "fixed":
        return STAYS
    return (1 - STAYS) * odds_of_lowest(visited_kbps[0]) / (len(_GRIDS) - 1)


def _weigh_shares(sessions: Sequence[Decisions], candidates: list[_Candidate]) -> FloatArray:
    """Return how likely a player by throughput is as busy as seen (log), shape (candidates,).

    A rung within a share of the throughput comes in that share of the time that it plays, whatever
    rung it was taken for.
    """
    busy = [
        float(np.median(one.choices.downloads.arrival_s - one.choices.downloads.request_s))
        / one.choices.segment_s
        for one in sessions
    ]
    shares = [
        one.get("throughput_share") if one["policy"] == "throughput" else None for one in candidates
    ]
    room = np.array([math.inf if share is None else math.log(float(share)) for share in shares])
    # Segments that came at once leave room for any share.
    logs = [special.log_ndtr((room - math.log(one)) / _BUSY_SPREAD) for one in busy if one > 0]
    return np.asarray(np.sum(logs, axis=0), dtype=np.float64)


def _grids(
    ladder_kbps: list[float], held_s: float | None, *, is_fine: bool
) -> dict[PolicyFamily, list[_Grid]]:
    """Return settings to try; ``held_s`` is most of the buffer, s, if its target is not known."""
    grids: dict[PolicyFamily, list[_Grid]] = {**_GRIDS, "fixed": [{"fixed_kbps": [*ladder_kbps]}]}
    if is_fine:
        grids |= {family: [grid, *_GRIDS[family][1:]] for family, grid in _FINE_GRIDS.items()}
    if held_s is None:
        return grids
    shares = _FINE_TARGETS if is_fine else _TARGETS
    targets: _Grid = {"buffer_target_s": [round(share * held_s, 2) for share in shares]}
    for family in _BY_BUFFER:
        grids[family] = [one | targets for one in grids[family]]
    return grids


def _log_likelihood(wrong: IntArray, decisions: int, *, rungs: int) -> FloatArray:
    """Return how likely decisions are, whatever the share of errors; shape as of ``wrong``.

    A wrong decision is any of the other rungs alike.
    """
    rare, usual = _ERRORS
    logs = special.betaln(rare + wrong, usual + decisions - wrong)
    logs -= wrong * np.log(max(rungs - 1, 1))
    return np.asarray(logs, dtype=np.float64)


def _replay(
    session: Decisions, ladder_kbps: list[float], rung: IntArray, candidates: list[_Candidate]
) -> IntArray:
    """Return what each candidate would have chosen in a session, shape (candidates, n).

    ``rung`` is what was taken, a place in the ladder.
    """
    choices, playback = session.choices, session.playback
    downloads = choices.downloads
    segment_s = choices.segment_s
    plain: dict[str, JsonValue] = {
        **{"ladder_kbps": [*ladder_kbps], "segment_s": segment_s},
        **{"duration_s": segment_s * len(rung), "start_s": segment_s, "resume_s": segment_s},
        "buffer_target_s": max(session.room_s, segment_s),
    }
    # Settings of policies are parameters of the engine as they are.
    player = parameters_for_engine(with_settings(load_entry("chunked"), plain))
    # Candidates of a grid have the same names: the rest of their settings is written once.
    rests: dict[tuple[str, ...], str] = {}
    players = []
    for one in candidates:
        names = tuple(one)
        if names not in rests:
            rest = {name: value for name, value in player.items() if name not in one}
            rests[names] = json.dumps(rest)[:-1]
        own = ", ".join(_name_json(*pair) for pair in _hold_a_segment(one, segment_s).items())
        players.append(f"{rests[names]}, {own}}}")
    idle_s = np.diff(downloads.request_s, prepend=downloads.request_s[:1])
    idle_s[1:] -= (downloads.arrival_s - downloads.request_s)[:-1]
    times_s = [
        downloads.request_s,
        downloads.arrival_s - downloads.request_s,
        playback.before_s,
        playback.after_s,
        np.where(downloads.waited, idle_s, 0.0),
    ]
    sizes, rungs = choices.size_bytes.astype(np.int64), rung.astype(np.int64)
    from trafficgen._core import replay_players  # noqa: PLC0415 - few sessions have clear rungs

    return np.array(replay_players(players, times_s, sizes, rungs))


@functools.lru_cache(maxsize=4096, typed=True)
def _name_json(name: str, value: str | bool | float | None) -> str:
    """Return a member of an object of JSON; many candidates share it."""
    return f"{json.dumps(name)}: {json.dumps(value)}"


def _hold_a_segment(candidate: _Candidate, segment_s: float) -> _Candidate:
    """Return a candidate whose target holds a segment, as that of any player has to.

    Targets to try are shares of what was held, which may be less in a player that never waited.
    """
    target_s = candidate.get("buffer_target_s")
    if isinstance(target_s, float) and target_s < segment_s:
        return candidate | {"buffer_target_s": segment_s}
    return candidate


def _likely_settings(
    settings: list[_Candidate], likelihood: FloatArray, *, is_sure: bool
) -> dict[str, PolicySetting]:
    """Return the likeliest settings of a family, with the range of numbers that are likely too.

    Settings near the defaults are likelier beforehand; where it is not sure what was chosen, plain
    ones too. Of settings that are as likely, the plainest.
    """
    given, distance = np.transpose([_measure_oddness(tuple(one.items())) for one in settings])
    weights = likelihood / (1 + (distance / _USUAL) ** 2)
    if not is_sure:
        weights *= _EXTRA**given
    order = np.lexsort((distance, given, -weights))
    likeliest = settings[int(order[0])]
    found: dict[str, PolicySetting] = {}
    for name, value in likeliest.items():
        if isinstance(value, float):
            near = [
                other
                for one, x in zip(settings, likelihood, strict=True)
                if isinstance(other := one.get(name), float) and x >= _LIKELY * likelihood.max()
            ]
            found[name] = Estimate(value=value, low=min(near), high=max(near), method="decisions")
        elif name != "policy" and value is not None:
            found[name] = value
    return found


def _is_of_paper(one: _Candidate) -> bool:
    """Return whether a player may have the settings of its policy's paper."""
    family = str(one["policy"])
    return family in _OF_PAPERS and one.get("bola_form") == _OF_PAPERS[family]


@functools.cache
def _usual_settings() -> dict[str, JsonValue]:
    """Return the settings that players usually have."""
    player = parameters_for_engine(load_entry("chunked"))
    return {
        **{name: value for name, value in player.items() if name != "buffer_target_s"},
        "throughput_share": SAFE_SHARE,
    }


@functools.lru_cache(maxsize=1 << 14)
def _measure_oddness(
    settings: tuple[tuple[str, str | bool | float | None], ...],
) -> tuple[int, float]:
    """Return how many settings are given, and how far the numbers are from the usual ones."""
    usual = _usual_settings()
    far = [
        abs(value / default - 1)
        for name, value in settings
        if isinstance(value, float) and isinstance(default := usual.get(name), int | float)
    ]
    return sum(value is not None for _, value in settings), sum(far)
