"""Estimators that turn a measured session into a model, with intervals and goodness of fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from trafficgen.calibration.fit import FittedSession, SessionMeasures, fit_session
from trafficgen.calibration.paper_measures import Measures
from trafficgen.calibration.path.delay_trends import DelayTrends, delay_trends
from trafficgen.calibration.path.loss_measures import Loss
from trafficgen.calibration.path.pairing import Pairing, pair_sessions
from trafficgen.calibration.phases.phase_rows import (
    FittedViews,
    PhaseRows,
    phase_rows,
    playout_gaps_s,
)
from trafficgen.calibration.phases.rebuffering import Stall
from trafficgen.calibration.phases.session_phases import Phases, find_phases
from trafficgen.calibration.player_log.anchoring import aligned
from trafficgen.calibration.player_log.events import PlayedLevels, PlayerLog, played_levels
from trafficgen.calibration.player_log.log_files import read_player_log
from trafficgen.calibration.processes.hurst import Hurst, estimate_hurst
from trafficgen.calibration.response.tcp_models import (
    padhye_bps,
    tcp_friendly_bps,
    tcp_friendly_kbps,
)
from trafficgen.calibration.streams.source_reconstruction import Restoration, restore_source
from trafficgen.calibration.summary import summarise
from trafficgen.flows import SessionView
from trafficgen.models import Model
from trafficgen.tables import PacketTable

__all__ = [
    "Calibration",
    "DelayTrends",
    "FittedSession",
    "FittedViews",
    "Hurst",
    "Loss",
    "Measures",
    "Pairing",
    "PhaseRows",
    "Phases",
    "PlayedLevels",
    "PlayerLog",
    "Restoration",
    "SessionMeasures",
    "Stall",
    "aligned",
    "calibrate",
    "delay_trends",
    "estimate_hurst",
    "find_phases",
    "fit_session",
    "padhye_bps",
    "pair_sessions",
    "phase_rows",
    "played_levels",
    "playout_gaps_s",
    "read_player_log",
    "restore_source",
    "tcp_friendly_bps",
    "tcp_friendly_kbps",
]


@dataclass(frozen=True)
class Calibration:
    """The result of a fit.

    Attributes:
        model: The model, ready to be saved or played.
        session: Measures of the session that are not part of the model.
        warnings: What is doubtful, a sentence each.
        views: The packets that the estimates are of.
    """

    model: Model
    session: SessionMeasures
    warnings: list[str]
    views: FittedViews = field(repr=False, compare=False)

    def summary(self) -> dict[str, object]:
        """Return the summary that `trafficgen fit --json` prints, without the key ``flow``."""
        return summarise(FittedSession(self.model, self.session, self.warnings, self.views))


def calibrate(
    view: SessionView,
    *,
    files: Sequence[str],
    digests: Sequence[str],
    seed: int = 0,
    resegment: bool = True,
    receiver: PacketTable | None = None,
    receiver_files: Sequence[str] = (),
    player_log: PlayerLog | None = None,
) -> Calibration:
    """Fit a model to one session of a capture.

    The session is parted into silence, buffering and playout by change points of its rate; each
    media flow with at least 1% of the media bytes becomes a stream with a packet process a phase:
    bursts where its gaps are of two kinds, else renewal. Laws have atoms and the family that BIC
    prefers; where none fits, a smoothed empirical law.

    The model describes the source apart from the path: packets that RTP's numbers miss are put
    back, and where more than 1% of a flow is missing, frames go back to the schedule of their
    timestamps; what TCP sends again is left out. With a capture at the other end of the path
    (``receiver``) the packets of both are matched: the model is fitted to the sender's (whichever
    of the two that turns out to be), loss, delays and reordering go into its conditions.

    Args:
        view: The session, from :func:`trafficgen.flows.choose_session`.
        files: Names of the capture files; the first one names the model.
        digests: ``sha256:`` digests of the files, empty where the input was a stream.
        seed: Seed of the resampling behind intervals and p-values.
        resegment: Whether segmentation-offload packets are cut to MTU size first.
        receiver: All packets of a capture of the same session at the receiver, in order of time.
        receiver_files: Names of its files.
        player_log: What the player said, aligned to the session: it anchors buffering, stalls and
            levels.

    Raises:
        TooFewObservationsError: If the session has fewer than three media packets, or all at one
            time.
        CalibrationError: If a media flow is neither UDP nor TCP, or the second capture is of
            something else.
    """
    fitted = fit_session(
        view,
        files=files,
        digests=digests,
        seed=seed,
        undo_offload=resegment,
        receiver=receiver,
        receiver_files=receiver_files,
        player_log=player_log,
    )
    return Calibration(
        model=fitted.model, session=fitted.session, warnings=fitted.warnings, views=fitted.views
    )
