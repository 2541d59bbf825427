"""From captures to a model: `trafficgen fit`."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path

from trafficgen.calibration import Calibration, PlayerLog, aligned, calibrate, read_player_log
from trafficgen.capture.inputs import Paths, as_paths, is_stream, name_in_model
from trafficgen.capture.options import DEFAULT_MEMORY_BYTES, ReadOptions, SessionChoice
from trafficgen.capture.reading import read_packets
from trafficgen.capture.session import OpenedSession, TimeWindow, open_session
from trafficgen.errors import CalibrationError, CaptureWarning
from trafficgen.flows import heaviest_upload, rate_curve, turned_round
from trafficgen.formatting import count_warnings
from trafficgen.models import Model
from trafficgen.notebook import NotebookView, RateLines
from trafficgen.provenance import file_digest
from trafficgen.tables import PacketTable, RateCurve
from trafficgen.units import s_from_ns


@dataclass(frozen=True)
class Fit(NotebookView):
    """A fitted model with what the fit says about it.

    Attributes:
        calibration: The estimates.
        flow: The heaviest media flow, as `inspect` describes it.
        warnings: What is doubtful about the capture and the fit, one sentence each.
        rate: IP bytes of the media over time, s from the first media packet.

    Example:
        >>> import trafficgen
        >>> fitted = trafficgen.fit("examples/captures/rtsp_rtp_two_streams.pcap.gz")
        >>> summary = fitted.to_json()
        >>> print(f"{summary['phases']['playout']['rate_kbps']:.0f} kbps in the playout")
        247 kbps in the playout
        >>> summary["loss"]["rate"], len(fitted.warnings)
        (0.0, 3)
    """

    calibration: Calibration
    flow: dict[str, object]
    warnings: tuple[str, ...]
    rate: RateCurve = field(repr=False, compare=False)

    def __repr__(self) -> str:
        return f"<Fit of {self.model.summary_line()}{count_warnings(self.warnings)}>"

    def _notebook_data(self) -> dict[str, object]:
        session = self.calibration.session
        laws = {"packet sizes": session.packet_bytes, "gaps": session.gap_s}
        return {
            "media_packets": session.packets,
            **self.model._notebook_data(),
            "loss_rate": session.path.conditions.loss_rate.model_dump()
            if session.path.conditions.loss_rate
            else None,
            "laws in the playout": [
                {"of": name, "law": repr(fitted.parametric).strip("<>")}
                for name, fitted in laws.items()
            ],
            "warnings": list(self.warnings),
        }

    def _notebook_rates(self) -> RateLines | None:
        return self.model.rates_of_phases(measured=self.rate)

    @property
    def model(self) -> Model:
        """The model, ready to be saved or played."""
        return self.calibration.model

    def to_json(self) -> dict[str, object]:
        """Return the summary as JSON-compatible values, keys as published."""
        return {"flow": self.flow, **self.calibration.summary(), "warnings": list(self.warnings)}


def fit(
    paths: Paths,
    *,
    flow: int | None = None,
    session: int | None = None,
    upload: bool = False,
    seed: int = 0,
    resegment: bool = True,
    decapsulate: bool = False,
    idle_timeout_s: float | None = None,
    receiver: Paths | None = None,
    player_log: str | Path | None = None,
    player_log_offset_s: float | None = None,
    from_s: float = 0.0,
    to_s: float = math.inf,
    memory_bytes: int | None = DEFAULT_MEMORY_BYTES,
) -> Fit:
    """Fit a model to one session of captures (read as one) or of a packet table.

    A session with more packets than the memory holds is refused: give more memory, or fit a window
    of it.

    Args:
        paths: One or several capture files, or one packet table; ``-`` is standard input.
        flow: Number of a flow that is to be fitted alone.
        session: Number of a session; without a choice, the one that carries most bytes to a client.
        upload: Fit what goes to the servers: the end that sends the media is then called the
            server.
        seed: Seed of the resampling behind intervals and p-values, >= 0.
        resegment: Whether segmentation-offload packets are cut back to MTU size first.
        decapsulate: Whether tunnels are looked into.
        idle_timeout_s: Silence after which a 5-tuple's packets are a new flow, s; None never
            splits.
        receiver: Captures of the same session at the other end of the path: packets are matched,
            the model is fitted to what the sender sent and says what the path did to it. Which of
            the two is the sender's is found out.
        player_log: Log of the player of this session (JSON or CSV): it anchors the end of
            buffering, stalls and levels.
        player_log_offset_s: Zero of that log after the capture's first packet, s; None takes the
            log's Unix time, or without one the capture's first packet.
        from_s: Start of the window that is fitted, s after the capture's first packet.
        to_s: End of that window, s after the capture's first packet; infinite for all to the end.
        memory_bytes: Memory that the fit may take, bytes; None takes what all packets need.

    Raises:
        InputFileError: If an input cannot be read at all, the player log is not one of this
            capture, or the session has more packets than the memory holds.
        SelectionError: If there is no such flow or session, or nothing of it is in the window.
        CalibrationError: If the session does not have what a fit needs.
        ValueError: If the window is empty, or is given with a second capture or a player log.

    Example:
        >>> import trafficgen
        >>> fitted = trafficgen.fit("examples/captures/http_burst_then_paced.pcap.gz")
        >>> fitted
        <Fit of http_burst_then_paced (unknown): buffering 3.166 s, playout at 931.9 kbit/s, 3
        warnings>
        >>> buffering = fitted.model.buffering.duration_s
        >>> print(f"buffering {buffering.value:.1f} s, 95% interval {buffering.low:.0f} to {buffering.high:.0f} s")
        buffering 3.2 s, 95% interval 2 to 4 s
        >>> trafficgen.save_model(fitted.model, "model.json")
    """
    names = as_paths(paths)
    window = TimeWindow(from_s, to_s)
    if not window.is_whole and (receiver is not None or player_log is not None):
        raise ValueError(
            "a window cannot be matched with a second capture or a player log; leave out from_s and"
            " to_s, or cut the captures first"
        )
    log = None if player_log is None else read_player_log(player_log)
    how = ReadOptions(
        decapsulate=decapsulate, idle_timeout_s=idle_timeout_s, memory_bytes=memory_bytes
    )
    choice = SessionChoice(flow=flow, session=session, upload=upload)
    opened = open_session(names, choice, how, window=window)
    digests = (
        []
        if any(is_stream(name) for name in names)
        else [file_digest(Path(name)) for name in names]
    )
    files = [name_in_model(name) for name in names]
    try:
        calibration = calibrate(
            opened.view,
            files=files,
            digests=digests,
            seed=seed,
            resegment=resegment,
            receiver=_other_end(
                receiver, decapsulate=decapsulate, idle_timeout_s=idle_timeout_s, upload=upload
            ),
            receiver_files=[name_in_model(name) for name in as_paths(receiver or ())],
            player_log=_aligned(log, opened, offset_s=player_log_offset_s),
        )
    except CalibrationError as error:
        if hint := _upload_warning(opened, window):
            raise CalibrationError(f"{', '.join(names)}: {error}; {hint[0]}") from None
        raise error.at(", ".join(names)) from None
    if not window.is_whole:
        calibration = replace(calibration, model=_of_window(calibration.model, window))
    return Fit(
        calibration=calibration,
        flow=opened.inspection.describe_flow(opened.view.heaviest_flow),
        warnings=(
            *opened.inspection.warnings,
            *_upload_warning(opened, window),
            *calibration.warnings,
        ),
        rate=rate_curve(opened.view.media_time_ns, opened.view.media_ip_bytes),
    )


def _of_window(model: Model, window: TimeWindow) -> Model:
    """Return the model with the window in its description and provenance."""
    end_s = None if window.to_s == math.inf else window.to_s
    origin = model.provenance.model_copy(update={"from_s": window.from_s, "to_s": end_s})
    description = f"{model.description.removesuffix('.')}, {window}."
    return model.model_copy(update={"description": description, "provenance": origin})


def _other_end(
    receiver: Paths | None, *, decapsulate: bool, idle_timeout_s: float | None, upload: bool
) -> PacketTable | None:
    """Return the packets of the second capture, in order of time; its oddities are not those of the
    fit.
    """
    if receiver is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaptureWarning)
        table = read_packets(
            receiver, decapsulate=decapsulate, idle_timeout_s=idle_timeout_s
        ).sorted_by_time()
    return turned_round(table) if upload else table


def fit_opened(opened: OpenedSession, name: str, *, seed: int, resegment: bool) -> Fit:
    """Return the fit of one capture's session.

    Raises:
        CalibrationError: If the session does not have what a fit needs; the capture is named.
    """
    try:
        calibration = calibrate(
            opened.view,
            files=[name_in_model(name)],
            digests=[] if is_stream(name) else [file_digest(Path(name))],
            seed=seed,
            resegment=resegment,
        )
    except CalibrationError as error:
        raise error.at(name) from None
    return Fit(
        calibration=calibration,
        flow=opened.inspection.describe_flow(opened.view.heaviest_flow),
        warnings=(*opened.inspection.warnings, *calibration.warnings),
        rate=rate_curve(opened.view.media_time_ns, opened.view.media_ip_bytes),
    )


def _aligned(
    log: PlayerLog | None, opened: OpenedSession, *, offset_s: float | None
) -> PlayerLog | None:
    """Return the player log on the session's clock."""
    if log is None:
        return None
    start_unix_s = s_from_ns(opened.inspection.start_time_ns)
    return aligned(log, opened.view, capture_start_unix_s=start_unix_s, offset_s=offset_s)


def _upload_warning(opened: OpenedSession, window: TimeWindow) -> list[str]:
    """Return a warning where more goes the other way than the session brings to its client."""
    if not window.is_whole:  # the flow table counts all of the capture
        return []
    view = opened.view
    fitted_bytes = int(view.table.payload_bytes[view.media].sum())
    flow, sent_bytes = heaviest_upload(opened.inspection.flows)
    if sent_bytes <= fitted_bytes:
        return []
    return [
        f"flow {flow} carries {sent_bytes} payload bytes to its server, more than the"
        f" {fitted_bytes} that are fitted here: --upload fits that direction"
    ]
