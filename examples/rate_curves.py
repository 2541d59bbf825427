"""Draw the rate curves of a measured and a synthetic capture, one above the other on equal axes.

Example: python examples/rate_curves.py measured.pcap.gz synthetic.pcap -o rates.png
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import trafficgen
from trafficgen.flows import choose_session, rate_series
from trafficgen.units import FloatArray

_PIXELS_PER_INCH = 100
_MEASURED_COLOUR, _SYNTHETIC_COLOUR = "#1b4f8a", "#c25b1a"


def session_rate(path: str, *, bin_s: float) -> tuple[FloatArray, FloatArray]:
    """Return the start of each bin, s, and the IP rate to the client in it, kbit/s.

    Args:
        path: Capture or packet table; its heaviest session is taken, as `trafficgen fit` does.
        bin_s: Width of a bin, s.

    Returns:
        Two arrays of shape (n,).
    """
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", trafficgen.CaptureWarning
        )  # `trafficgen inspect` has said them
        session = choose_session(trafficgen.read_packets(path))
    series = rate_series(session.media_time_ns, session.media_ip_bytes, bin_s=bin_s)
    return bin_s * np.arange(series.size_bytes.size, dtype=np.float64), series.rate_kbps


def draw(measured: str, synthetic: str, out: Path, *, bin_s: float) -> None:
    """Write the picture of two rate curves."""
    figure = Figure(figsize=(8, 4), dpi=_PIXELS_PER_INCH, layout="constrained")
    axes: Any = figure.subplots(2, 1, sharex=True, sharey=True)
    rows = (("measured", measured, _MEASURED_COLOUR), ("synthetic", synthetic, _SYNTHETIC_COLOUR))
    for axis, (label, path, colour) in zip(axes, rows, strict=True):
        start_s, rate_kbps = session_rate(path, bin_s=bin_s)
        axis.fill_between(start_s, rate_kbps, step="post", color=colour, alpha=0.25, linewidth=0)
        axis.step(start_s, rate_kbps, where="post", color=colour, linewidth=1)
        axis.set_title(f"{label}: {Path(path).name}", loc="left", fontsize=10)
        axis.set_ylabel("kbit/s")
        axis.margins(x=0)
        axis.grid(alpha=0.3)
    axes[-1].set_ylim(bottom=0)
    axes[-1].set_xlabel(f"time after the first media packet, s (bins of {bin_s:g} s)")
    canvas: Any = FigureCanvasAgg(figure)
    canvas.print_png(str(out), metadata={"Software": "trafficgen"})


def main() -> int:
    """Read the arguments and write the picture; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("measured", help="capture or packet table that was measured")
    parser.add_argument("synthetic", help="capture or packet table that was generated")
    parser.add_argument("-o", "--out", type=Path, required=True, help="PNG file to write")
    parser.add_argument(
        "--bin", dest="bin_s", type=float, default=0.5, help="width of a bin, s; default 0.5"
    )
    arguments = parser.parse_args()
    try:
        draw(arguments.measured, arguments.synthetic, arguments.out, bin_s=arguments.bin_s)
    except trafficgen.TrafficgenError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"picture written to {arguments.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
