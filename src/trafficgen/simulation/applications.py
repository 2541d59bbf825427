"""Fitted clients over a path: they request segments or pages again, as the path lets them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from pydantic import JsonValue

from trafficgen.formatting import number, rate_text
from trafficgen.models import (
    Application,
    Estimate,
    Model,
    WebPages,
    complete_ladder,
    describe_pages,
    estimate_ladder,
)
from trafficgen.models.application import RUNG_SHARE, SAFE_SHARE
from trafficgen.randomness import random_stream
from trafficgen.simulation.ladder_draws import draw_ladder

#: A player whose policy is unknown takes what the path gives if its mean rung was this share of the
#: throughput (or stays there, if it visited no other one), else the highest rung within SAFE_SHARE.
_TAKES_ALL = 0.9
#: A player measures this share of the rate of its path: headers and round trips take the rest.
_PLAYERS_SHARE = 0.93
#: These players take all that their path gives, by turns from the rungs next to it, so that its
#: rate says nothing of a rung between visited ones.
_BY_BUFFER = ("buffer", "bola", "mpc")
#: Most rungs of a ladder above those that were visited.
_MOST_ABOVE = 4
#: Where no target is known, s: the median of those of Shaka (10), dash.js (18), hls.js (30) and
#: ExoPlayer (50), as their entries of the catalogue have them.
_USUAL_BUFFER_S = 24.0
#: The map of BBA-0 ends at this share of the buffer (Huang et al., 2014).
_FULL_SHARE = 0.9
#: Media within this part of a segment of whole segments are whole ones; sums are less exact by it.
_CLOCK_ERROR, _ROUNDING = 0.05, 1e-9
_CONNECTIONS = (1, 2, 3, 4, 6, 8)
#: Draws the rungs that were not visited, or the rate of the path that they are placed by, kbit/s.
UnvisitedRungs = np.random.Generator | float | None
#: Requests of pages overlap if more than this share of them does.
_FEW_OVERLAPS = 0.05


@dataclass(frozen=True)
class Player:
    """A player of a session, or a browser of its pages.

    Attributes:
        settings: Those of the catalogue's entry.
        plays: What is played, in a few words.
        assumed: What is assumed since the capture does not show it, a clause each.
        entry: The entry of the catalogue that plays it.
    """

    settings: dict[str, JsonValue]
    plays: str
    assumed: tuple[str, ...]
    entry: str = "chunked"


def make_player(
    model: Model,
    settings: Mapping[str, JsonValue],
    *,
    session: int,
    duration_s: float | None,
    seed: int,
    unvisited: UnvisitedRungs = None,
) -> Player | None:
    """Return the player of a fitted model; None if it is not known what its client requests.

    The first session has the likeliest policy, others draw theirs by the weights. A client that
    visited pages is a browser with the same laws.

    Args:
        model: What was fitted.
        settings: Options and parameters of the catalogue's ``chunked`` to set, or ``web_3gpp2``.
        session: Number of the session.
        duration_s: How long it is to last, s; None: as much media as the capture has.
        seed: Of the draws.
        unvisited: Rungs that were not visited: a generator draws them. A rate of the path, kbit/s:
            one of them is where its player's choice is on average; None where that is not known.
    """
    application = model.application
    if application is not None and application.pages is not None:
        return _make_browser(model, application.pages, settings, duration_s=duration_s)
    if application is None or not application.rungs or application.segment_s is None:
        return None
    segment_s, target = application.segment_s.value, application.buffer_target_s
    fitted_family, chosen = _choose_policy(application, session=session, seed=seed)
    wanted = settings.get("policy")
    family = wanted if isinstance(wanted, str) else fitted_family
    # Rungs by the buffer show its target even if it was never full.
    fitted_s = chosen.pop("buffer_target_s", None)
    if target is not None:
        fitted_s = target.value
    target_s = max(fitted_s if isinstance(fitted_s, float) else _USUAL_BUFFER_S, segment_s)
    wanted_s = settings.get("buffer_target_s")
    is_known = target is not None or wanted_s is not None
    visited = estimate_ladder(application.rungs, application.segment_s)
    ladder, played_s, kept = visited, target_s, dict[str, JsonValue]()
    if fitted_family != "fixed" or family != "fixed":
        own_s = float(wanted_s) if isinstance(wanted_s, int | float) else target_s
        fitted = _Player(fitted_family, chosen, own_s, is_target_known=is_known)
        ladder, played_s, kept = _add_rungs(application, visited, fitted, unvisited)
    if family != fitted_family:
        chosen = {}  # what is known of a policy says nothing of another one
    else:
        if wanted_s is None:
            target_s = played_s
        if "ladder_kbps" not in settings:
            chosen |= kept
    # With --duration it has media for all of that, and what a buffer holds more.
    media_s = segment_s * len(application.content)
    media_s = max(media_s, segment_s) if duration_s is None else duration_s + 2 * target_s
    audio, connections = application.audio_kbps, application.connections
    if audio is not None:
        chosen |= {"audio_kbps": audio.value, "audio_order": "apart"}
        connections -= 1
    known: dict[str, JsonValue] = {
        **{"segment_s": segment_s, "duration_s": media_s, "buffer_target_s": target_s},
        "start_s": min(_reach(application.start_media_s, segment_s), target_s),
        "resume_s": min(_reach(application.resume_media_s, segment_s), target_s),
        **{"ladder_kbps": [*ladder], "content_factors": [*application.content]},
        "connections": max((one for one in _CONNECTIONS if one <= connections), default=1),
        **{"connection_use": "turns", "policy": family},
    }
    played = known | chosen | dict(settings)
    added = [kbps for kbps in ladder if kbps not in visited]
    return Player(
        settings=played,
        plays=_describe(application, visited, played),
        assumed=tuple(
            f"{text} ({name})"
            for name, text in _list_assumptions(application, family, target_s, added)
            if name not in settings
        ),
    )


@dataclass(frozen=True)
class _Player:
    """Policy of a player with its settings, and its buffer target, s."""

    family: str
    settings: Mapping[str, JsonValue]
    target_s: float
    is_target_known: bool


def _add_rungs(
    application: Application, visited: list[float], player: _Player, unvisited: UnvisitedRungs
) -> tuple[list[float], float, dict[str, JsonValue]]:
    """Return the ladder that is played, kbit/s, and the target, s, and settings that fit it."""
    policy, seen_kbps = application.policy, application.highest_throughput_kbps
    is_own = policy is not None and policy.family == player.family
    is_whole = policy is not None and is_own and not policy.rungs_above
    has_between = policy is None or not is_own or policy.rungs_between
    shares = (player.settings.get(f"throughput_{name}") for name in ("share", "up_share"))
    share = min([SAFE_SHARE, *(one for one in shares if isinstance(one, float))])
    if isinstance(unvisited, np.random.Generator):
        safe_kbps = share * (seen_kbps or math.inf)
        ladder = draw_ladder(
            visited, safe_kbps, unvisited, is_whole=is_whole, has_between=has_between
        )
    else:
        likely_kbps = unvisited and RUNG_SHARE * share * _PLAYERS_SHARE * unvisited
        if likely_kbps and likely_kbps < visited[-1] and player.family in _BY_BUFFER:
            likely_kbps = None
        above = 0 if is_whole else _MOST_ABOVE
        ladder = complete_ladder(
            visited, seen_kbps, most_above=above, likely_kbps=likely_kbps, has_between=has_between
        )
    if policy is None or not is_own:
        return ladder, player.target_s, {}
    fitted = complete_ladder(
        visited, seen_kbps, most_above=policy.rungs_above, has_between=has_between
    )
    if player.is_target_known and "bola_gp" in player.settings:
        # With a known target, BOLA changes where it did on one ladder alone.
        return fitted, player.target_s, {}
    return ladder, *_keep_thresholds(player, ladder[0], fitted[-1], ladder[-1])


def _keep_thresholds(
    player: _Player, low_kbps: float, fitted_kbps: float, played_kbps: float
) -> tuple[float, dict[str, JsonValue]]:
    """Return target, s, and settings with which a higher top leaves the choices below it alone.

    The map of BBA-0 ends at the highest rung, and what a buffer is worth to BOLA depends on it:
    with rungs above and the same settings, both would take others at the same buffer.
    """
    settings, target_s = player.settings, player.target_s
    if not low_kbps < fitted_kbps < played_kbps:
        return target_s, {}
    reservoir, cushion = (settings.get(f"{name}_share") for name in ("reservoir", "cushion"))
    if isinstance(reservoir, float) and isinstance(cushion, float):
        reservoir_s = reservoir * target_s
        cushion_s = cushion * target_s * (played_kbps - low_kbps) / (fitted_kbps - low_kbps)
        if not player.is_target_known:
            target_s = max(target_s, (reservoir_s + cushion_s) / _FULL_SHARE)
        shares = {"reservoir_share": reservoir_s, "cushion_share": cushion_s}
        return target_s, {name: media_s / target_s for name, media_s in shares.items()}
    gp = settings.get("bola_gp")
    if isinstance(gp, float):
        worth, fitted_worth = (math.log(top / low_kbps) + gp for top in (played_kbps, fitted_kbps))
        return target_s * worth / fitted_worth, {}
    return target_s, {}


def _make_browser(
    model: Model, pages: WebPages, settings: Mapping[str, JsonValue], *, duration_s: float | None
) -> Player:
    """Return the browser of a session as long as that of the capture, if none is given."""
    parts = [part for part in (model.buffering, model.playout) if part is not None]
    captured_s = model.startup.silence_s.value + sum(part.duration_s.value for part in parts)
    known: dict[str, JsonValue] = {name: one.value for name, one in pages.parameters.items()}
    known["duration_s"] = duration_s or captured_s
    assumed = []
    if pages.overlapping_share > _FEW_OVERLAPS:
        share = f"{pages.overlapping_share:.0%}"
        assumed.append(f"requests one after the other ({share} were not)")
    if any(stream.transport.protocol == "udp" for stream in model.streams):
        assumed.append("one connection of TCP (the capture has QUIC)")
    return Player(
        settings=known | dict(settings),
        plays=f"the requests of its browser: {describe_pages(pages)}",
        assumed=tuple(assumed),
        entry="web_3gpp2",
    )


def _reach(media_s: float | None, segment_s: float) -> float:
    """Return media that a buffer reaches with the segments that it takes, s; None: one segment.

    Two segments of 1.9995 s are enough for 4.0003 s, which is two of the clock that was measured.
    """
    if media_s is None:
        return segment_s
    whole_s = float(np.rint(media_s / segment_s)) * segment_s * (1 - _ROUNDING)
    return whole_s if abs(media_s - whole_s) < _CLOCK_ERROR * segment_s else media_s


def _list_assumptions(
    application: Application, family: str, target_s: float, added: list[float]
) -> Iterator[tuple[str, str]]:
    """Yield what the capture does not show: its setting, and what is played."""
    if application.buffer_target_s is None:
        yield "buffer_target_s", f"a buffer of {number(target_s)} s"
    if application.policy is None:
        yield "policy", f"policy {family}"
    if added:
        more = ", ".join(rate_text(kbps) for kbps in added)
        yield "ladder_kbps", f"rungs of {more} that were not visited"


def _choose_policy(
    application: Application, *, session: int, seed: int
) -> tuple[str, dict[str, JsonValue]]:
    """Return the family that a session plays, and its settings."""
    policy = application.policy
    if policy is None:
        if application.mean_rung_kbps > _TAKES_ALL * (
            application.highest_throughput_kbps or math.inf
        ):
            return ("buffer" if len(application.rungs) > 1 else "fixed"), {}
        return "throughput", {"throughput_share": SAFE_SHARE}
    weights = {policy.family: policy.weight, **policy.alternatives}
    generator = random_stream(seed, session=session, purpose="simulate/policy")
    drawn = generator.random() * sum(weights.values()) if session else 0.0
    places = itertools.accumulate(weights.values())
    reached = (one for one, end in zip(weights, places, strict=True) if drawn < end)
    family = next(reached, policy.family)
    if family != policy.family:
        return family, {}
    values = {
        name: value.value if isinstance(value, Estimate) else value
        for name, value in policy.parameters.items()
    }
    return family, {name: value for name, value in values.items() if value is not None}


def _describe(
    application: Application, visited: list[float], played: Mapping[str, JsonValue]
) -> str:
    """Describe the policy and its rungs; a star marks those that the capture does not show."""
    found, policy, ladder = application.policy, played["policy"], played["ladder_kbps"]
    weight = f" (weight {found.weight:.2f})" if found and found.family == policy else ""
    rungs = f"{ladder} kbit/s"  # as a setting gives it
    if isinstance(ladder, list):
        known = [one for one in ladder if isinstance(one, int | float)]
        rungs = ", ".join(f"{rate_text(one)}{'' if one in visited else '*'}" for one in known)
    remark = "; * was not visited" if "*" in rungs else ""
    return f"the requests of its player: policy {policy}{weight}, rungs {rungs}{remark}"
