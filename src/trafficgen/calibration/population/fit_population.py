"""Many captures at once: `trafficgen fit --population`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, get_args

from trafficgen.calibration.fit import Fit, digest_files, fit_open_session
from trafficgen.calibration.options import PopulationFitOptions
from trafficgen.calibration.population.across_sessions import WIDEST_INTERVAL, is_too_wide
from trafficgen.calibration.population.cut_sessions import describe_ends
from trafficgen.calibration.population.pooled_model import pool_sessions
from trafficgen.calibration.population.session_estimates import SessionEstimates, describe_session
from trafficgen.capture.inputs import Paths, as_paths, is_stream, name_in_model
from trafficgen.capture.memory import FIT_PACKET_BYTES, Budget, sessions_that_fit
from trafficgen.capture.session import OpenedSession, open_session
from trafficgen.data_frames import frame_rows
from trafficgen.errors import CalibrationError, CaptureWarning, TrafficgenError, warn
from trafficgen.flows import choose_sessions
from trafficgen.formatting import count_warnings, format_count, list_first
from trafficgen.models import (
    FittedProvenance,
    Model,
    Population,
    PopulationQuantity,
    describe_failed_checks,
)
from trafficgen.notebook import NotebookView
from trafficgen.option_names import name_options
from trafficgen.options import takes
from trafficgen.progress import report_each
from trafficgen.provenance import combine_digests
from trafficgen.units import bps_from_kbps, s_from_ns
from trafficgen.worker_processes import defer_interrupts, report_results, worker_pool

if TYPE_CHECKING:
    import pandas as pd


class CorpusLimits:
    """Which sessions of a capture are fitted, and how many files a model names."""

    #: A session is fitted if it carries this share of the heaviest of its capture: lighter ones
    #: are what a player fetches apart from the media.
    share_of_heaviest: float = 0.5
    #: A capture whose heaviest session carries less than this share of all bytes has many clients,
    share_of_many: float = 0.25
    #: and there a session is fitted if it carries this share of the heaviest.
    share_among_many: float = 0.01
    #: Further files are not named in the model, which has to stay small.
    most_named_files: int = 48
    #: With this many sessions the factor of Student's law no longer makes intervals wide.
    fewest_sessions: int = 5


_LIMITS = CorpusLimits()


@dataclass(frozen=True, eq=False)
class PopulationFit(NotebookView):
    """The model of a corpus, with the fit of its most typical session.

    Attributes:
        model: The typical session with the population, ready to be saved or played.
        typical: Summary of the typical session's fit, as `trafficgen fit --json` prints it.
        left_out: What could not be fitted -> why.
        warnings: What is doubtful about the population, one sentence each.
        session_warnings: What is doubtful about single sessions, each named.
        sessions: What each session contributed.

    Example:
        >>> import trafficgen
        >>> clips = {f"clip{rate}.parquet": rate for rate in (300, 400, 600)}
        >>> for name, rate in clips.items():
        ...     _ = trafficgen.generate("cbr", name, duration_s=20, settings={"rate_kbps": rate})
        >>> fitted = trafficgen.fit_population(list(clips), workers=1)
        >>> rate_bps = fitted.population.laws["playout_rate_bps"]
        >>> print(f"{rate_bps.sessions} sessions, median {rate_bps.median.value:,.0f} bit/s")
        3 sessions, median 416,437 bit/s
        >>> fitted.left_out
        {}
    """

    model: Model
    typical: dict[str, object]
    left_out: dict[str, str]
    warnings: tuple[str, ...]
    session_warnings: tuple[str, ...]
    sessions: tuple[SessionEstimates, ...] = field(default=(), repr=False, compare=False)

    def __repr__(self) -> str:
        sizes = (
            f"{format_count(self.population.sessions, 'session')} of"
            f" {format_count(self.population.captures, 'capture')}"
        )
        typical = self.model.summary_line()
        return f"<PopulationFit of {sizes}, typical: {typical}{count_warnings(self.warnings)}>"

    def count_failed_checks(self) -> int:
        """Return how many sessions have a model that fails its self-check."""
        return sum(describe_failed_checks(one.model) is not None for one in self.sessions)

    def _notebook_data(self) -> dict[str, object]:
        laws = self.population.laws.items()
        return {
            "quantities": [
                {
                    "quantity": name,
                    "median": law.median.model_dump(),
                    "sd of the logarithm": law.log_deviation.value,
                    "sessions": law.sessions,
                    "law": law.law.family,
                }
                for name, law in laws
            ],
            "prototypes": [
                one.model_dump(include={"name", "weight", "group_rate_bps"})
                for one in self.population.prototypes
            ],
            "left_out": [f"{name}: {reason}" for name, reason in self.left_out.items()],
            "warnings": self.warnings,
        }

    @property
    def population(self) -> Population:
        """How sessions differ."""
        assert self.model.population is not None
        return self.model.population

    def to_pandas(self) -> pd.DataFrame:
        """Return a row a fitted session: its name and its quantities, units in their names.

        What it does not have is ``pd.NA``. The laws across sessions are in ``model.to_pandas()``.
        """
        quantities = get_args(PopulationQuantity)
        rows = []
        for one in self.sessions:
            row: dict[str, object] = {"session": one.name}
            row |= {name: found.value for name, found in one.observed.items()}
            origin = one.model.provenance
            # Laws need a loss above 0, the middle of its interval: a row has the estimate.
            if isinstance(origin, FittedProvenance) and origin.conditions.loss_rate is not None:
                row["loss_rate"] = origin.conditions.loss_rate.value
            rows.append(row)
        return frame_rows(rows, {"session": str, **dict.fromkeys(quantities, float)})

    def to_json(self) -> dict[str, object]:
        """Return the typical session's summary and, under ``population``, how sessions differ."""
        population = self.population.model_dump(mode="json")
        for prototype in population["prototypes"]:
            del prototype["streams"]
        return {
            **self.typical,
            "population": {**population, "left_out": self.left_out},
            "warnings": [*self.warnings, *self.session_warnings],
        }


@dataclass(frozen=True)
class _FittedCapture:
    """The sessions of one capture, as a worker returns them.

    Attributes:
        digest: Digest of the file; empty for a stream.
        sessions: What each fitted session contributes, and the summary of its fit.
        left_out: Capture or session that could not be fitted -> why.
        warnings: What is doubtful, each with the session's name.
        unsuited: The sessions that are too small for a model.
    """

    name: str
    digest: str = ""
    sessions: list[tuple[SessionEstimates, dict[str, object]]] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    unsuited: list[str] = field(default_factory=list)


@takes(PopulationFitOptions)
def fit_population(paths: Paths, options: PopulationFitOptions) -> PopulationFit:
    """Fit each capture by itself and pool the sessions into one model of a population.

    By default a capture contributes its heaviest session and every other that carries at least half
    as many bytes to a client; if none carries a quarter of all bytes, every session with 1% of the
    heaviest. A capture that cannot be fitted is left out with a warning. If the sessions of a
    capture do not fit into memory together, some are drawn at random, as many as fit; one that does
    not fit alone is left out. The result does not depend on the number of workers, which share the
    memory; a script with more than one calls this under ``if __name__ == "__main__":``, as for any
    new process.

    Args:
        paths: Files of captures or packet tables, each read by itself.
        options: See :class:`~trafficgen.calibration.options.PopulationFitOptions`; given as
            keywords.

    Warns:
        CaptureWarning: For each capture or session that is left out.

    Raises:
        CalibrationError: If no capture can be fitted.
        ValueError: If the number of workers is not positive.

    Example:
        >>> import trafficgen
        >>> clips = {f"clip{rate}.parquet": rate for rate in (300, 400, 600)}
        >>> for name, rate in clips.items():
        ...     _ = trafficgen.generate("cbr", name, duration_s=20, settings={"rate_kbps": rate})
        >>> fitted = trafficgen.fit_population(list(clips), workers=1)
        >>> fitted
        <PopulationFit of 3 sessions of 3 captures, typical: population (video): playout at 400.4
        kbit/s>
        >>> trafficgen.generate(fitted.model, sessions=5, seed=1)
        <PacketTable: 5,403 packets, 5 flows, 19.99 s, 5,403,000 IP bytes>
    """
    names = as_paths(paths)
    workers = min(options.workers or os.cpu_count() or 1, len(names))
    if options.memory_bytes is not None:
        options = replace(options, memory_bytes=options.memory_bytes // max(1, workers))
    fitted = list(_fit_captures(names, options, workers))
    left_out = {name: why for capture in fitted for name, why in capture.left_out.items()}
    used = [capture for capture in fitted if capture.sessions]
    if not used:
        raise nothing_fitted_error(names, left_out)
    found = [each for capture in used for each in capture.sessions]
    sessions = tuple(session for session, _ in found)
    model = pool_sessions(sessions, captures=len(used), seed=options.seed)
    origin = model.provenance
    typical = next(summary for session, summary in found if session.model.provenance is origin)
    warnings = warn_of_left_out(left_out)
    if len(sessions) == 1:
        warnings.append("a population of one session has no spread: give more captures")
    if unsuited := sum(len(capture.unsuited) for capture in used):
        warnings.append(
            f"{unsuited} of {format_count(len(sessions), 'session')} are too short, too slow or of"
            " too few packets for a model: do not rely on this one; give captures of streams"
        )
    warnings += warn_of_copies([one.name for one in used], [one.digest for one in used])
    warnings += _warn_of_wide_intervals(model)
    return PopulationFit(
        model=_name_captures(model, used),
        typical=typical,
        left_out=left_out,
        warnings=tuple(warnings),
        session_warnings=tuple(text for capture in fitted for text in capture.warnings),
        sessions=sessions,
    )


def warn_of_copies(names: Sequence[str], digests: Sequence[str]) -> list[str]:
    """Return a warning for the captures with the contents of another: each counts as one more.

    Those without a digest are streams.
    """
    alike: dict[str, list[str]] = {}
    for name, digest in zip(names, digests, strict=True):
        alike.setdefault(digest, []).append(name)
    return [
        f"{list_first(names)} have the same contents and count {len(names)} times: give one"
        for digest, names in alike.items()
        if digest and len(names) > 1
    ]


def _warn_of_wide_intervals(model: Model) -> list[str]:
    """Return a warning that names the quantities whose median is hardly known, if there are any."""
    assert model.population is not None
    wide = [
        f"{name.rpartition('_')[0].replace('_', ' ')} ({law.sessions})"
        for name, law in model.population.laws.items()
        if is_too_wide(law.median)
    ]
    if not wide:
        return []
    return [
        f"too few or too different sessions for {', '.join(wide)}: the interval of the median"
        f" spans a factor above {WIDEST_INTERVAL:g}; give"
        f" {_LIMITS.fewest_sessions} or more captures of like sessions"
    ]


def warn_of_left_out(left_out: Mapping[str, str]) -> list[str]:
    """Warn of what could not be fitted: what else is doubtful is for the result to list."""
    texts = [f"{reason}; it is left out" for reason in dict.fromkeys(left_out.values())]
    for text in texts:
        warn(text, CaptureWarning)
    return texts


def nothing_fitted_error(names: Sequence[str], left_out: dict[str, str]) -> CalibrationError:
    """Return the error for captures of which none can be fitted."""
    if not names:
        return CalibrationError("no captures were given; give at least one")
    first = next(iter(left_out.values()))
    return CalibrationError(
        f"none of the {len(names):,} captures can be fitted; the first: {first}"
    )


def _fit_captures(
    names: Sequence[str], options: PopulationFitOptions, workers: int
) -> Iterator[_FittedCapture]:
    """Yield the fits of each capture, in the order of the captures."""
    if workers <= 1 or any(is_stream(name) for name in names):
        for name in report_each(names, "fitting", total=len(names), unit="captures"):
            yield _fit_capture(name, options)
        return
    try:
        with worker_pool(workers) as pool:
            with defer_interrupts():
                futures = [pool.submit(_fit_capture, name, options) for name in names]
            yield from report_results(futures, "fitting", unit="captures")
    except BrokenProcessPool as error:
        raise CalibrationError(
            "a process that fits captures has ended: use fewer workers where memory is short, and"
            " in a script call this under `if __name__ == '__main__':`"
        ) from error


def _fit_capture(name: str, options: PopulationFitOptions) -> _FittedCapture:
    """Fit the sessions of one capture."""
    try:
        opened, notes = _open_sessions(name, options)
    except TrafficgenError as error:
        return _FittedCapture(name, left_out={name: str(error)})
    digests, capture = digest_files([name]), _FittedCapture(name, warnings=notes)
    for one in opened:
        session = f"{name}, session {one.view.session}"
        try:
            fitted = fit_open_session(one, [name], options, digests=digests)
        except CalibrationError as error:
            capture.left_out[session] = str(error)
            continue
        texts = (text.removeprefix(f"{name}: ") for text in fitted.warnings)
        capture.warnings.extend(f"{session}: {text}" for text in texts)
        if fitted.calibration.unsuited is not None:
            capture.unsuited.append(session)
        capture.sessions.append((_estimate_session(one, name, fitted), fitted.to_json()))
    return replace(capture, digest=digests[0] if digests and capture.sessions else "")


def _open_sessions(
    name: str, options: PopulationFitOptions
) -> tuple[list[OpenedSession], list[str]]:
    """Open the sessions of a capture that are fitted, with a note if they are a sample."""
    choice = options.choice
    heaviest = open_session(name, choice, options)
    if choice.session is not None:
        return [heaviest], []
    numbers = _choose_sessions(heaviest)
    if len(numbers) == 1 or is_stream(name):
        return [heaviest], []
    budget = Budget(options.memory_bytes, FIT_PACKET_BYTES)
    drawn = sessions_that_fit(heaviest.inspection.flows, numbers, budget, options.seed)
    notes = []
    if len(drawn) < len(numbers):
        why = "drawn at random, as many as memory holds; give more [--memory] to fit all"
        notes.append(
            f"{name}: {len(drawn):,} of {len(numbers):,} sessions were fitted, {name_options(why)}"
        )
    if drawn == [heaviest.view.session]:
        return [heaviest], notes
    if len(drawn) == 1:
        return [open_session(name, replace(choice, session=drawn[0]), options)], notes
    table = open_session(name, replace(choice, together=drawn), options).view.table
    return [replace(heaviest, view=view) for view in choose_sessions(table, drawn)], notes


def _choose_sessions(opened: OpenedSession) -> list[int]:
    """Return the sessions that carry enough to a client, heaviest first."""
    columns = opened.inspection.flows.to_pydict()
    weight: dict[int, int] = {}
    media = set()
    for row, session in enumerate(columns["session"]):
        weight[session] = weight.get(session, 0) + columns["frame_bytes_to_client"][row]
        if columns["payload_bytes_to_client"][row] and columns["media"][row] != "control":
            media.add(session)
    heaviest = weight[opened.view.session]
    many = heaviest < _LIMITS.share_of_many * sum(weight.values())
    least = (_LIMITS.share_among_many if many else _LIMITS.share_of_heaviest) * heaviest
    return sorted(
        (number for number in media if weight[number] >= least),
        key=lambda number: (-weight[number], number),
    )


def _estimate_session(opened: OpenedSession, name: str, fitted: Fit) -> SessionEstimates:
    view, inspection = opened.view, opened.inspection
    levels = fitted.calibration.summary()["levels"]
    found = levels.get("kbps", []) if isinstance(levels, dict) else []
    media_start_ns = inspection.origin_ns + view.first_media_ns - inspection.start_time_ns
    return describe_session(
        view,
        fitted.model,
        name=f"{name_in_model(name)}, session {view.session}",
        media_start_s=s_from_ns(media_start_ns),
        levels_bps=tuple(bps_from_kbps(float(level)) for level in found),
        ends=describe_ends(name, view, inspection),
    )


def _name_captures(model: Model, captures: Sequence[_FittedCapture]) -> Model:
    """Put all captures into a model's provenance; if they are many, one digest covers all."""
    files = tuple(name_in_model(capture.name) for capture in captures)
    digests = tuple(capture.digest for capture in captures if capture.digest)
    absent, most = dict(model.absent), _LIMITS.most_named_files
    if len(files) > most:
        absent["provenance.files"] = (
            f"only {most} of {len(files)} captures are named; one digest is of all"
        )
        files, digests = files[:most], (combine_digests(digests),)
    assert model.population is not None
    return model.model_copy(
        update={
            "name": "population" if len(captures) > 1 else model.name,
            "description": (
                f"{format_count(model.population.sessions, 'session')} of"
                f" {format_count(len(captures), 'capture')}; the typical one is {model.description}"
            ),
            "provenance": model.provenance.model_copy(update={"files": files, "digests": digests}),
            "absent": absent,
        }
    )
