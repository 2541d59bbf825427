"""From captures to a model: `trafficgen fit`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.calibration.options import FitOptions, SessionFitOptions
from trafficgen.calibration.player_log.events import PlayerLog, align_log
from trafficgen.calibration.player_log.log_files import read_player_log
from trafficgen.calibration.session_fit import (
    CHOOSE_ANOTHER,
    FEWEST_MODELLED,
    Calibration,
    SessionInputs,
    fit_session,
)
from trafficgen.capture.inputs import Paths, as_paths, input_names, is_stream, name_in_model
from trafficgen.capture.memory import FIT_PACKET_BYTES, Budget, count_pieces
from trafficgen.capture.options import LEAST_MEMORY_BYTES, SessionChoice
from trafficgen.capture.reading import read_frame, read_packets
from trafficgen.capture.session import OpenedSession, open_session
from trafficgen.errors import CalibrationError, CaptureWarning
from trafficgen.flows import Exchanges, heaviest_upload, rate_curve, swap_ends
from trafficgen.formatting import count_warnings, size_text
from trafficgen.model_parts.estimate import refuse_odd_numbers
from trafficgen.models import Application, Model
from trafficgen.models.parameters import TableOf
from trafficgen.notebook import NotebookView
from trafficgen.option_names import name_options
from trafficgen.options import DataFrame, takes
from trafficgen.provenance import file_digest
from trafficgen.tables import PacketTable, RateCurve, compact_ip_bytes
from trafficgen.units import NS_PER_S, ns_from_s, s_from_ns

if TYPE_CHECKING:
    import pandas as pd

#: Sessions that are not fitted are named if they carry these shares of the bytes of the fitted one:
#: of several files, which may be of unrelated captures, and of one file,
_LIGHTEST_OF_SEVERAL, _LIGHTEST_OF_ONE = 0.05, 0.2
#: those that carry this share each.
_LIGHTEST_COUNTED = 0.01
#: An upload is named from this many times what is fitted on, and from this many bytes on, some
#: seven full packets: less is not a stream.
_LARGER_UPLOAD, _LEAST_UPLOAD_BYTES = 1.1, 10_000
#: What to do where little was uploaded.
_NO_UPLOAD = "leave [--upload] out to take what servers sent, or capture more of the stream"


@dataclass(frozen=True, eq=False)
class Fit(NotebookView):
    """A fitted model with its estimates and warnings.

    Attributes:
        calibration: The estimates.
        flow: The heaviest media flow, as `inspect` describes it.
        warnings: What is doubtful about the capture and the fit, one sentence each.
        rate: IP bytes of the media over time, s from the first media packet.
        exchanges: Requests of the session's client and the responses to them; None where several
            sessions are fitted.
        application: What the source did; None where ``absent`` says why.
        absent: What is not known of it, by its name in the summary -> why.

    Example:
        >>> import trafficgen
        >>> fitted = trafficgen.fit("examples/captures/rtsp_rtp_two_streams.pcap.gz")
        >>> summary = fitted.to_json()
        >>> print(f"{summary['phases']['playout']['rate_kbps']:.0f} kbit/s in the playout")
        247 kbit/s in the playout
        >>> summary["loss"]["rate"]
        0.0
    """

    calibration: Calibration
    flow: dict[str, object]
    warnings: tuple[str, ...]
    rate: RateCurve = field(repr=False, compare=False)
    exchanges: Exchanges | None = field(default=None, repr=False, compare=False)
    application: Application | None = field(default=None, repr=False, compare=False)
    absent: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

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
                {
                    "of": name,
                    "law": repr(fitted.law).strip("<>"),
                    "rejected": fitted.parametric.family if fitted.is_rejected else None,
                }
                for name, fitted in laws.items()
            ],
            "warnings": list(self.warnings),
        }

    @property
    def model(self) -> Model:
        """The model, ready to be saved or played."""
        return self.calibration.model

    def to_pandas(self, of: TableOf = "parameters") -> pd.DataFrame:
        """Return a table of the model, as :meth:`Model.to_pandas` does."""
        return self.model.to_pandas(of)

    def to_json(self) -> dict[str, object]:
        """Return the summary as JSON-compatible values, keys as published."""
        return {
            "flow": self.flow,
            **self.calibration.summary(),
            "application": None if self.application is None else self.application.to_json(),
            "absent": dict(self.absent),
            "warnings": list(self.warnings),
        }


@takes(SessionFitOptions)
def fit(paths: Paths | PacketTable | DataFrame, options: SessionFitOptions) -> Fit:
    """Fit a model to one session of captures (read as one) or of a packet table.

    A session with more packets than memory holds is refused: give more memory, or fit a window.

    Args:
        paths: One or several capture files, or one packet table, a file or in memory; ``-`` is
            standard input. A data frame too, as for :func:`~trafficgen.read_packets`.
        options: See :class:`~trafficgen.calibration.options.SessionFitOptions`; given as keywords.

    Raises:
        InputFileError: If an input cannot be read, the player log does not belong to the capture,
            or the session has more packets than memory holds.
        SelectionError: If there is no such flow or session, or nothing of it is in the window.
        CalibrationError: If the session does not have what a fit needs.
        ValueError: If options contradict each other.

    Example:
        >>> import trafficgen
        >>> fitted = trafficgen.fit("examples/captures/http_burst_then_paced.pcap.gz")
        >>> fitted
        <Fit of http_burst_then_paced (unknown): buffering 3.166 s, playout at 931.9 kbit/s, 1
        warning>
        >>> end_s = fitted.model.buffering.duration_s
        >>> print(f"buffering {end_s.value:.1f} s, 95%: {end_s.low:.0f} to {end_s.high:.0f} s")
        buffering 3.2 s, 95%: 2 to 4 s
        >>> trafficgen.save_model(fitted.model, "model.json")
    """
    if isinstance(paths, DataFrame):
        paths = read_frame(paths)
    names = input_names(paths)
    log = None if options.player_log is None else read_player_log(options.player_log)
    if log is None and options.player_log_offset_s is not None:
        problem = "[--player-log-offset] places a player log in time, and none is given"
        raise CalibrationError(f"{problem}; add [--player-log], or leave it out")
    in_memory = isinstance(paths, PacketTable)
    opened = open_session(
        paths if in_memory else names, options.choice, options, window=options.window
    )
    if log is not None:
        log = align_log(
            log,
            opened.view,
            capture_start_unix_s=s_from_ns(opened.inspection.start_time_ns),
            offset_s=options.player_log_offset_s,
        )
    is_chosen = options.choice != SessionChoice(upload=options.choice.upload)
    hints = []
    if options.window.is_whole and not options.upload:
        hints += _upload_hints(opened, is_chosen=is_chosen)
    if not is_chosen:
        hints += _other_session_hints(opened, several=len(names) > 1)
    inputs = SessionInputs(
        window=None if options.window.is_whole else options.window,
        receiver=_read_other_end(
            options, packets=count_pieces(compact_ip_bytes(opened.view.table))
        ),
        receiver_files=tuple(name_in_model(name) for name in as_paths(options.receiver or ())),
        player_log=log,
        buffering_end_s=options.buffering_end_s,
        remedy=_NO_UPLOAD if options.upload else CHOOSE_ANOTHER,
    )
    fitted = fit_open_session(
        opened, names, options, inputs=inputs, hints=hints, digests=() if in_memory else None
    )
    return recognise_source(fitted, opened, names, options, log)


def recognise_source(
    fitted: Fit,
    opened: OpenedSession,
    names: Sequence[str],
    options: SessionFitOptions,
    log: PlayerLog | None = None,
) -> Fit:
    """Return a fit with its session's exchanges and the application that they show.

    Args:
        fitted: The fit of the session.
        opened: The session.
        names: Its files, for errors.
        options: Options of the fit.
        log: The player's log, on the session's clock.

    Raises:
        CalibrationError: If an estimate is outside the range that a model allows.
    """
    exchanges = _exchanges(opened, options)
    application: Application | None = None
    absent = {"application": "RTP carries the media, not the responses"}
    if not _carries_rtp(opened):
        application, absent = _recognise(exchanges, opened, names, log)
    model = _add_application(fitted.model, application, absent)
    calibration = replace(fitted.calibration, model=model)
    return replace(
        fitted,
        calibration=calibration,
        exchanges=exchanges,
        application=application,
        absent=absent,
        warnings=(*fitted.warnings, *_doubt_transfer(calibration)),
    )


def _recognise(
    exchanges: Exchanges, opened: OpenedSession, names: Sequence[str], log: PlayerLog | None
) -> tuple[Application | None, dict[str, str]]:
    # A session of RTP does not need it, and loading it is a part of a short fit.
    from trafficgen.calibration.application import recognition  # noqa: PLC0415

    first_ns = opened.view.table.origin_ns + opened.view.first_media_ns
    with _refuse_odd_numbers(f"{', '.join(names)}: "):
        return recognition.recognise_application(
            exchanges, first_media_ns=first_ns, log=log, table=opened.view.table
        )


def _refuse_odd_numbers(place: str = "") -> AbstractContextManager[None]:
    """Raise CalibrationError where a session has numbers that no part of a model may have."""
    return refuse_odd_numbers(
        CalibrationError,
        f"{place}the session has a number that no model may have",
        "its times, or those of a player log, may be damaged: cut the capture to where they are"
        " right",
    )


def _doubt_transfer(calibration: Calibration) -> list[str]:
    """Say that one response at one rate may be a download, which is not a stream."""
    model = calibration.model
    if model.application is None or model.application.kind != "bulk":
        return []
    if model.buffering is not None or calibration.unsuited is not None:
        return []
    doubt = (
        "one response at one rate carries nearly all bytes: if nothing but the path limited it,"
        " this is a download and no stream, and packets repeat the rate of that path;"
        " [`trafficgen simulate --path`|simulate(model, path=...)] plays it over another"
    )
    return [name_options(doubt)]


def _add_application(
    model: Model, application: Application | None, absent: dict[str, str]
) -> Model:
    """Return a model that says what its source did, or, without RTP, why that is unknown."""
    if application is None and all(stream.transport.rtp for stream in model.streams):
        return model
    return model.model_copy(
        update={"application": application, "absent": {**model.absent, **absent}}
    )


def _carries_rtp(opened: OpenedSession) -> bool:
    """Return whether the heaviest flow of the session is RTP, by itself or within RTSP."""
    flows = opened.inspection.flows
    own = flows.filter(pc.equal(flows.column("session"), opened.view.session))
    heaviest = int(np.argmax(own.column("payload_bytes_to_client").to_numpy()))
    return bool(own.column("ssrc")[heaviest].is_valid)


def _exchanges(opened: OpenedSession, options: SessionFitOptions) -> Exchanges:
    """Return the exchanges of the session whose requests are in the window."""
    found = opened.inspection.session_exchanges(opened.view.session, flow=options.flow)
    start_ns, window = opened.inspection.start_time_ns, options.window
    return found.select_between(
        start_ns + ns_from_s(window.from_s), start_ns + window.to_s * NS_PER_S
    )


def fit_open_session(
    opened: OpenedSession,
    names: list[str],
    options: FitOptions,
    *,
    inputs: SessionInputs | None = None,
    hints: list[str] | None = None,
    digests: tuple[str, ...] | None = None,
) -> Fit:
    """Fit a model to a session that is open, read from the files ``names``.

    ``hints`` say what may be wrong with the choice of the session, one sentence each. ``digests``
    are those of the files, None to compute them here; packets in memory have none.

    Raises:
        CalibrationError: If the session does not have what a fit needs; it names the files.
    """
    inputs, hints = inputs or SessionInputs(), [name_options(hint) for hint in hints or []]
    inputs = replace(
        inputs,
        remedy=hints[0] if hints else inputs.remedy,
        files=tuple(name_in_model(name) for name in names),
        digests=digest_files(names) if digests is None else digests,
    )
    try:
        with _refuse_odd_numbers():
            calibration = fit_session(opened.view, inputs, options)
    except CalibrationError as error:
        if hints and hints[0] not in str(error):
            raise CalibrationError(f"{', '.join(names)}: {error}; {hints[0]}") from None
        raise error.prepend_place(", ".join(names)) from None
    return Fit(
        calibration=calibration,
        flow=opened.inspection.describe_flow(opened.view.heaviest_flow),
        # The warning of too few packets names the first of the hints as its remedy.
        warnings=(
            *opened.inspection.warnings,
            *hints[calibration.unsuited is not None :],
            *calibration.warnings,
        ),
        rate=rate_curve(opened.view.media_time_ns, opened.view.media_ip_bytes),
    )


def digest_files(names: Sequence[str]) -> tuple[str, ...]:
    """Return the digests of files; none where one of them is a stream."""
    if any(is_stream(name) for name in names):
        return ()
    return tuple(file_digest(Path(name)) for name in names)


def _read_other_end(options: SessionFitOptions, *, packets: int) -> PacketTable | None:
    """Read the second capture in order of time; its problems are not those of the fit.

    ``packets`` packets are in memory already.

    Raises:
        InputFileError: If its packets do not fit into what memory is left.
    """
    if options.receiver is None:
        return None
    left_bytes = Budget(options.memory_bytes, FIT_PACKET_BYTES).memory_after(packets)
    if left_bytes is not None:
        left_bytes = max(left_bytes, LEAST_MEMORY_BYTES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaptureWarning)
        table = read_packets(
            options.receiver,
            decapsulate=options.decapsulate,
            idle_timeout_s=options.idle_timeout_s,
            memory_bytes=left_bytes,
        ).sort_by_time()
    budget = Budget(left_bytes, FIT_PACKET_BYTES)
    if not budget.holds(pieces := count_pieces(compact_ip_bytes(table))):
        name = ", ".join(str(path) for path in as_paths(options.receiver))
        raise budget.refusal(name, pieces, remedy="or cut it (editcap does that for captures)")
    return swap_ends(table) if options.upload else table


def _other_session_hints(opened: OpenedSession, *, several: bool) -> list[str]:
    """Say how much of the media is in sessions that are not fitted, and name the heaviest one."""
    flows = opened.inspection.flows
    has_payload = pc.greater(flows.column("payload_bytes_to_client"), 0)
    is_media = pc.and_(has_payload, pc.not_equal(flows.column("media"), "control"))
    can_be_fitted = pc.is_in(flows.column("protocol"), value_set=pa.array(["udp", "tcp"]))
    media = flows.filter(pc.and_(is_media, can_be_fitted))
    if pc.all(pc.equal(media.column("session"), opened.view.session)).as_py():
        return []  # without the engine of group_by, which takes 30 ms to load
    by_session = media.group_by("session")
    sums = [("frame_bytes_to_client", "sum"), ("packets_to_client", "sum")]
    rows = by_session.aggregate(sums).to_pylist()
    found = {
        row["session"]: row["frame_bytes_to_client_sum"]
        for row in rows
        if row["packets_to_client_sum"] >= FEWEST_MODELLED or row["session"] == opened.view.session
    }
    fitted_bytes = found.pop(opened.view.session, None)
    if fitted_bytes is None:
        return []
    shown = {one: size for one, size in found.items() if size >= _LIGHTEST_COUNTED * fitted_bytes}
    left_bytes = sum(shown.values())
    if left_bytes < max(1, (_LIGHTEST_OF_SEVERAL if several else _LIGHTEST_OF_ONE) * fitted_bytes):
        return []
    session = max(shown, key=lambda one: (shown[one], -one))
    of_session = media.filter(pc.equal(media.column("session"), session))
    heaviest = of_session.sort_by([("frame_bytes_to_client", "descending")]).column("flow")[0]
    named = f"session {session} (flow {heaviest}, {size_text(shown[session])} to its client)"
    if len(shown) == 1:
        what = f"{named} is not in the model, which is"
    else:
        share = left_bytes / (left_bytes + fitted_bytes)
        what = (
            f"{len(shown)} other sessions ({size_text(left_bytes)} to their clients, {share:.0%} of"
            f" the media; the most in {named}) are not in the model, which is"
        )
    also = (
        ", [--population|fit_population(captures)] fits each capture by itself" if several else ""
    )
    return [
        f"{what} of session {opened.view.session} alone: [--session {session}] fits"
        f" {'it' if len(shown) == 1 else 'the largest of them'}{also}"
    ]


def _upload_hints(opened: OpenedSession, *, is_chosen: bool) -> list[str]:
    """Warn if more goes to a server than the session brings to its client.

    The upload of another session is not a remedy for one that is chosen by its number.
    """
    view, flows = opened.view, opened.inspection.flows
    fitted_bytes = int(view.table.values("payload_bytes")[view.media].sum())
    flow, sent_bytes = heaviest_upload(
        flows.filter(pc.is_in(flows.column("flow"), pa.array(view.flows))) if is_chosen else flows
    )
    if sent_bytes <= max(_LARGER_UPLOAD * fitted_bytes, _LEAST_UPLOAD_BYTES):
        return []
    return [
        f"flow {flow} carries {size_text(sent_bytes)} of payload to its server, more than the"
        f" {size_text(fitted_bytes)} that are fitted here: [--upload] fits that direction"
    ]
