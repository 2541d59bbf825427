"""Options of fits, for the command line and Python alike."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trafficgen.capture.options import (
    ReadOptions,
    SessionChoice,
    TimeWindow,
    from_option,
    to_option,
)
from trafficgen.options import option, seed_option
from trafficgen.units import parse_offset_s, parse_time_s


@dataclass(frozen=True, kw_only=True)
class FitOptions(ReadOptions):
    """Options of every fit.

    Attributes:
        seed: Seed, >= 0, of the resampling behind intervals and p-values, and of the sessions that
            the self-check plays: where two processes are about as near to the capture, another seed
            may choose the other one.
    """

    session: int | None = option(
        None,
        "--session",
        help="Take this session; default: the one that carries most bytes to a client.",
        low=0,
    )
    upload: bool = option(
        False,
        "--upload",
        help=(
            "Take the packets to the servers of the capture: what was uploaded. The end that"
            " uploads is then called the server."
        ),
    )
    seed: int = seed_option()
    resegment: bool = option(
        True,
        "--resegment/--keep-offload",
        help="Cut segmentation-offload packets back to MTU size before the fit.",
    )

    @property
    def choice(self) -> SessionChoice:
        """Which packets of a capture are fitted."""
        return SessionChoice(session=self.session, upload=self.upload)


@dataclass(frozen=True, kw_only=True)
class SessionFitOptions(FitOptions):
    """Options of the fit of one session.

    Attributes:
        receiver: Captures of the same session at the other end of the path. Packets are matched;
            the model describes what was sent, and what the path did to it. Which end is the
            sender's is detected.

    Raises:
        ValueError: If options contradict each other.
    """

    flow: int | None = option(None, "--flow", help="Take this flow alone.", low=0)
    receiver: str | Path | list[str] | list[Path] | None = None
    player_log: str | Path | None = option(
        None,
        "--player-log",
        help=(
            "What the player logged (JSON or CSV): anchors the end of buffering, stalls and levels."
        ),
        metavar="FILE",
        parse=Path,
    )
    player_log_offset_s: float | None = option(
        None,
        "--player-log-offset",
        help=(
            "Time 0 of the player log, counted from the capture's first packet, such as 2s or -2s;"
            " default: its Unix time, or that packet."
        ),
        metavar="TIME",
        parse=parse_offset_s,
    )
    buffering_end_s: float | None = option(
        None,
        "--buffering-end",
        help=(
            "End of the start-up burst after the first media packet, such as 45s; 0s for none."
            " Default: found in the rate."
        ),
        metavar="TIME",
        parse=parse_time_s,
    )
    from_s: float = from_option(
        "Fit a window that starts at this time after the first packet, such as 90s; a number"
        " without a unit is s."
    )
    to_s: float | None = to_option()

    def __post_init__(self) -> None:
        if self.flow is not None and self.session is not None:
            raise ValueError("give a flow or a session, not both")
        matched = self.receiver is not None or self.player_log is not None
        if not self.window.is_whole and matched:
            raise ValueError(
                "a window cannot be matched with a second capture or a player log; leave the window"
                " out, or cut the captures first"
            )

    @property
    def window(self) -> TimeWindow:
        """The part of the capture that is fitted."""
        return TimeWindow.from_options(self.from_s, self.to_s)

    @property
    def choice(self) -> SessionChoice:
        """Which packets of a capture are fitted."""
        return SessionChoice(flow=self.flow, session=self.session, upload=self.upload)


@dataclass(frozen=True, kw_only=True)
class PopulationFitOptions(FitOptions):
    """Options of the fit of many captures as a population.

    Attributes:
        session: Number of the session that is fitted of each capture; None takes the heaviest and
            those of like weight, as the summary says.
        workers: Processes that share the captures; None takes one a core.

    Raises:
        ValueError: If there are no workers.
    """

    workers: int | None = option(
        None,
        "--workers",
        help="Processes that share the captures of --population; default: one a core.",
        low=1,
    )

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"workers must be at least 1, got {self.workers}")
