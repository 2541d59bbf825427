"""Draw the pictures of README.md and of "How a fit works" from fits of two captures.

The shipped capture has phases and bursts. The levels and the congestion response come from a
simulated RealPlayer session next to a TCP download.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import trafficgen
from trafficgen.flows import SessionView, choose_session, gaps_s, rate_series
from trafficgen.units import FloatArray

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
CAPTURE = ROOT / "examples" / "captures" / "http_burst_then_paced.pcap.gz"
#: Path of the simulated session, and the download that shares it.
PATH, COMPETE = "rate=725kbps,delay=45ms,queue=80p", ["tcp@60s..130s"]
_BLUE, _ORANGE, _GREY = "#1b4f8a", "#c25b1a", "#8a8a8a"
_COLOURS = {"buffering": _ORANGE, "playout": _BLUE}
_BIN_S = 0.5


class Fits:
    """The sessions that the pictures show, and their models as JSON.

    Attributes:
        http: Session of the shipped capture.
        http_model: Its model.
        synthetic: Session generated from that model.
        realplayer: Simulated session, as it was sent.
        realplayer_model: Its model, which has levels and a congestion response.
    """

    def __init__(self, folder: Path) -> None:
        fit = trafficgen.fit(CAPTURE)
        self.http = choose_session(trafficgen.read_packets(CAPTURE))
        self.http_model: dict[str, Any] = fit.model.model_dump(mode="json")
        played = folder / "synthetic.parquet"
        trafficgen.generate(fit.model, played, seed=1)
        self.synthetic = choose_session(trafficgen.read_packets(played))
        sent, received = folder / "sent.pcap", folder / "received.pcap"
        # A session over UDP: over TCP this path would decide its rates.
        name = "realplayer8_chung2002"
        trafficgen.generate(name, sent, at="sender", path=PATH, compete=COMPETE, seed=2)
        trafficgen.generate(name, received, at="receiver", path=PATH, compete=COMPETE, seed=2)
        self.realplayer = choose_session(trafficgen.read_packets(sent))
        fitted = trafficgen.fit(sent, receiver=received)
        self.realplayer_model: dict[str, Any] = fitted.model.model_dump(mode="json")


def draw_model(fits: Fits) -> Figure:
    """Draw what a model holds: phases, a law, levels, a congestion response."""
    figure = Figure(figsize=(9, 5.2), dpi=100, layout="constrained")
    axes: Any = figure.subplots(2, 2)
    _draw_phases(axes[0][0], fits)
    axes[0][0].set_title("phases: a fast start, then playout", loc="left", fontsize=10)
    _draw_law(axes[0][1], fits)
    axes[0][1].set_title("laws: one for each size, gap and spacing", loc="left", fontsize=10)
    _draw_levels(axes[1][0], fits)
    axes[1][0].set_title("levels: rates that it switches between", loc="left", fontsize=10)
    _draw_response(axes[1][1], fits)
    axes[1][1].set_title("response: the rate when the path is congested", loc="left", fontsize=10)
    return figure


def draw_phases(fits: Fits) -> Figure:
    """Draw the rate of the capture, and the end of buffering with its interval."""
    figure = Figure(figsize=(9, 2.6), dpi=100, layout="constrained")
    axis: Any = figure.subplots()
    _draw_phases(axis, fits)
    end = fits.http_model["buffering"]["duration_s"]
    axis.axvspan(end["low"], end["high"], color=_GREY, alpha=0.4, linewidth=0)
    axis.text(end["high"] + 0.3, 2750, f"end of buffering: {end['value']:.1f} s", fontsize=9)
    return figure


def draw_bursts(fits: Fits) -> Figure:
    """Draw the gaps with the threshold between bursts, and the packets of some bursts."""
    figure = Figure(figsize=(9, 2.8), dpi=100, layout="constrained")
    axes: Any = figure.subplots(1, 2)
    gaps = gaps_s(fits.http.media_time_ns)
    process = _playout(fits.http_model)["process"]
    axes[0].hist(gaps[gaps > 0], bins=np.geomspace(1e-4, 5, 60), color=_BLUE, alpha=0.6)
    axes[0].axvline(process["threshold_s"], color=_ORANGE)
    axes[0].set(xscale="log", yscale="log", xlabel="gap, s", ylabel="packets")
    axes[0].set_title("gaps: the threshold parts bursts", loc="left", fontsize=10)
    time_s = (fits.http.media_time_ns - fits.http.first_media_ns) / 1e9
    shown = (time_s > 20) & (time_s < 32)
    size = np.cumsum(fits.http.media_ip_bytes)
    axes[1].plot(time_s[shown], (size[shown] - size[shown][0]) / 1e6, ".", color=_BLUE, ms=2)
    axes[1].set(xlabel="time, s", ylabel="MB since 20 s")
    axes[1].set_title("bursts: a segment at a time", loc="left", fontsize=10)
    return figure


def draw_laws(fits: Fits) -> Figure:
    """Draw the distribution of gaps in bursts and of burst spacings with the fitted laws."""
    figure = Figure(figsize=(9, 2.8), dpi=100, layout="constrained")
    axes: Any = figure.subplots(1, 2)
    _draw_law(axes[0], fits)
    axes[0].set_title("gaps within a burst", loc="left", fontsize=10)
    law = _playout(fits.http_model)["process"]["spacing_s"]
    time_s = (fits.http.media_time_ns - fits.http.first_media_ns) / 1e9
    time_s = time_s[time_s > fits.http_model["buffering"]["duration_s"]["value"]]
    starts = np.flatnonzero(np.diff(time_s) > _playout(fits.http_model)["process"]["threshold_s"])
    _draw_distribution(axes[1], np.diff(time_s[starts + 1]), law)
    axes[1].set(xlabel="spacing of bursts, s", ylabel="share below")
    axes[1].set_title("spacing of bursts", loc="left", fontsize=10)
    return figure


def draw_self_check(fits: Fits) -> Figure:
    """Draw the capture's rate above the rate of a session generated from the model."""
    figure = Figure(figsize=(9, 3.4), dpi=100, layout="constrained")
    axes: Any = figure.subplots(2, 1, sharex=True, sharey=True)
    for axis, session, colour, name in (
        (axes[0], fits.http, _BLUE, "capture"),
        (axes[1], fits.synthetic, _ORANGE, "generated from the model"),
    ):
        time_s, rate = _rate(session)
        axis.fill_between(time_s, rate, step="post", color=colour, alpha=0.3, linewidth=0)
        axis.step(time_s, rate, where="post", color=colour, linewidth=1)
        axis.set_title(name, loc="left", fontsize=9)
        axis.set_ylabel("kbit/s")
    axes[1].set_xlabel("time after the first media packet, s")
    return figure


#: Picture in docs/images -> function that draws it.
PICTURES: dict[str, Callable[[Fits], Figure]] = {
    "model.png": draw_model,
    "fit-phases.png": draw_phases,
    "fit-bursts.png": draw_bursts,
    "fit-laws.png": draw_laws,
    "fit-self-check.png": draw_self_check,
}


def _draw_phases(axis: Any, fits: Fits) -> None:
    time_s, rate = _rate(fits.http)
    end_s = fits.http_model["buffering"]["duration_s"]["value"]
    ends = {"buffering": (0.0, end_s), "playout": (end_s, float(time_s[-1]))}
    axis.step(time_s, rate, where="post", color=_GREY, linewidth=0.8)
    for name, (start_s, stop_s) in ends.items():
        rate_kbps = fits.http_model[name]["rate_bps"]["value"] / 1e3
        axis.hlines(rate_kbps, start_s, stop_s, color=_COLOURS[name], linewidth=2.5, label=name)
    axis.legend(loc="upper right", fontsize=8, frameon=False)
    axis.set(xlabel="time after the first media packet, s", ylabel="kbit/s", ylim=(0, 3300))


def _draw_law(axis: Any, fits: Fits) -> None:
    process = _playout(fits.http_model)["process"]
    gaps = gaps_s(fits.http.media_time_ns)
    within = gaps[(gaps > 0) & (gaps < process["threshold_s"])]
    _draw_distribution(axis, within * 1e3, process["gap_within_s"], scale=1e3)
    axis.set(xlabel="gap within a burst, ms", ylabel="share below", xlim=(4.5, 5.2))


def _draw_distribution(axis: Any, values: FloatArray, law: Any, *, scale: float = 1.0) -> None:
    ordered = np.sort(values)
    share = np.arange(1, ordered.size + 1) / ordered.size
    axis.step(ordered, share, where="post", color=_GREY, linewidth=2.5, label="capture")
    points = [(point["value"] * scale, point["p"]) for point in law["quantiles"] or []]
    axis.plot(*zip(*points, strict=True), color=_ORANGE, linewidth=1.2, label="law")
    axis.legend(loc="lower right", fontsize=8, frameon=False)


def _draw_levels(axis: Any, fits: Fits) -> None:
    time_s, rate = _rate(fits.realplayer, bin_s=2.0)
    axis.step(time_s, rate, where="post", color=_GREY, linewidth=0.8)
    for state in _playout(fits.realplayer_model)["process"]["states"]:
        axis.axhline(state["rate_bps"] / 1e3, color=_BLUE, linewidth=1, linestyle="--")
    axis.set(xlabel="time after the first media packet, s", ylabel="kbit/s", ylim=(0, 1000))


def _draw_response(axis: Any, fits: Fits) -> None:
    response = fits.realplayer_model["response"]
    effect = response["effect"]
    labels, rates = ["path free", "path congested"], [1.0, effect["value"]]
    errors = [[0, effect["value"] - effect["low"]], [0, effect["high"] - effect["value"]]]
    axis.bar(labels, rates, color=[_BLUE, _ORANGE], width=0.5, yerr=errors, capsize=5)
    axis.set(ylabel="relative rate", ylim=(0, 1.2))
    axis.text(1, 0.75, response["kind"].replace("_", " "), ha="center", fontsize=9)


def _playout(model: dict[str, Any]) -> Any:
    return next(phase for phase in model["streams"][0]["phases"] if phase["name"] == "playout")


def _rate(session: SessionView, *, bin_s: float = _BIN_S) -> tuple[FloatArray, FloatArray]:
    series = rate_series(session.media_time_ns, session.media_ip_bytes, bin_s=bin_s)
    return bin_s * np.arange(series.size_bytes.size, dtype=np.float64), series.rate_kbps


def draw_pictures() -> None:
    """Fit the captures and write all pictures."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", trafficgen.TrafficgenWarning)
        fits = Fits(Path(folder))
        for name, draw in PICTURES.items():
            canvas: Any = FigureCanvasAgg(draw(fits))
            canvas.print_png(str(IMAGES / name), metadata={"Software": "trafficgen"})
            print(f"made docs/images/{name}")


if __name__ == "__main__":
    draw_pictures()
