"""Many captures at once: `trafficgen fit --population`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from pathlib import Path

from trafficgen.api.fitting import Fit, fit_opened
from trafficgen.calibration.population.pooled_model import pool_sessions
from trafficgen.calibration.population.session_estimates import SessionEstimates, describe_session
from trafficgen.capture.inputs import Paths, as_paths, is_stream, name_in_model
from trafficgen.capture.memory import FIT_PACKET_BYTES, Budget, sessions_that_fit
from trafficgen.capture.options import DEFAULT_MEMORY_BYTES, ReadOptions, SessionChoice
from trafficgen.capture.session import OpenedSession, open_session
from trafficgen.errors import CalibrationError, TrafficgenError
from trafficgen.flows import choose_session
from trafficgen.formatting import count_warnings, format_count
from trafficgen.models import FittedProvenance, Model, Population
from trafficgen.notebook import NotebookView
from trafficgen.provenance import combined_digest, file_digest
from trafficgen.units import bps_from_kbps, s_from_ns
from trafficgen.worker_processes import interrupts_defer_signals, worker_pool

#: Without a choice, a session counts that carries at least this share of what the heaviest of its
#: capture carries: what is lighter is what a player fetches beside the media. Where the heaviest
#: has less than the second share of all bytes, the capture is of many sessions, and those count
#: that carry at least the third share of the heaviest.
SMALLEST_SHARE_OF_HEAVIEST = 0.5
LARGEST_SHARE_OF_MANY = 0.25
SMALLEST_SHARE_AMONG_MANY = 0.01
#: More files than this are not named one by one in the model.
MOST_NAMED_FILES = 48

#: Called with the captures done so far and in all.
CaptureProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class PopulationFit(NotebookView):
    """The model of a corpus, with the fit of its most typical session.

    Attributes:
        model: The typical session with the population beside it, ready to be saved or played.
        typical: Summary of the typical session's fit, as `trafficgen fit --json` prints it for one
            session.
        left_out: What could not be fitted -> why.
        warnings: What is doubtful about the population, one sentence each.
        session_warnings: What is doubtful about single sessions, each named.
        sessions: What each session contributed.

    Example:
        >>> import trafficgen
        >>> for rate in (300, 400, 600):
        ...     _ = trafficgen.generate("cbr", f"clip{rate}.parquet", duration_s=20, settings={"rate_kbps": rate})
        >>> fitted = trafficgen.fit_population(["clip300.parquet", "clip400.parquet", "clip600.parquet"], workers=1)
        >>> rate_bps = fitted.population.laws["playout_rate_bps"]
        >>> print(f"a typical session plays at {rate_bps.median.value:,.0f} bit/s, by {rate_bps.sessions} sessions")
        a typical session plays at 416,433 bit/s, by 3 sessions
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

    def to_json(self) -> dict[str, object]:
        """Return the typical session's summary and, under ``population``, what the corpus says."""
        population = self.population.model_dump(mode="json")
        for prototype in population["prototypes"]:
            del prototype["streams"]
        return {
            **self.typical,
            "population": {**population, "left_out": self.left_out},
            "warnings": [*self.warnings, *self.session_warnings],
        }


@dataclass(frozen=True)
class _Options:
    session: int | None
    upload: bool
    seed: int
    resegment: bool
    decapsulate: bool
    idle_timeout_s: float | None
    memory_bytes: int | None


@dataclass(frozen=True)
class _FittedCapture:
    """What a worker gives back for a capture."""

    sessions: tuple[SessionEstimates, ...] = ()
    summaries: tuple[dict[str, object], ...] = ()
    digest: str = ""
    left_out: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()


def fit_population(
    paths: Paths,
    *,
    session: int | None = None,
    upload: bool = False,
    seed: int = 0,
    resegment: bool = True,
    decapsulate: bool = False,
    idle_timeout_s: float | None = None,
    workers: int | None = None,
    memory_bytes: int | None = DEFAULT_MEMORY_BYTES,
    progress: CaptureProgress | None = None,
) -> PopulationFit:
    """Fit each capture by itself and pool the sessions: a model of which each session is drawn
    anew.

    Without a choice, a capture gives its heaviest session and every other that carries at least
    half as many bytes to a client; where none carries a quarter of all bytes, every one with 1% of
    the heaviest. A capture that cannot be fitted is left out with a warning. Where the sessions of
    a capture do not fit into the memory together, some are drawn at random, as many as fit; one
    that does not fit alone is left out.

    Args:
        paths: Capture files or packet tables, each read by itself.
        session: Number of the session to be taken from each.
        upload: Fit what goes to the servers.
        seed: Seed of the resampling behind intervals and p-values, >= 0.
        resegment: Whether segmentation-offload packets are cut back to MTU size first.
        decapsulate: Whether tunnels are looked into.
        idle_timeout_s: Silence after which a 5-tuple's packets are a new flow, s; None never
            splits.
        workers: Processes that share the captures; None for one a core. The result does not depend
            on them. A script that asks for more than one calls this under ``if __name__ ==
            "__main__":``, as for any new process.
        memory_bytes: Memory that the fit may take, bytes, shared by the workers; None takes what
            all packets need.
        progress: Called with the captures done so far and in all.

    Raises:
        CalibrationError: If no capture can be fitted.
        ValueError: If the number of workers is not positive.

    Example:
        >>> import trafficgen
        >>> for rate in (300, 400, 600):
        ...     _ = trafficgen.generate("cbr", f"clip{rate}.parquet", duration_s=20, settings={"rate_kbps": rate})
        >>> fitted = trafficgen.fit_population(["clip300.parquet", "clip400.parquet", "clip600.parquet"], workers=1)
        >>> fitted
        <PopulationFit of 3 sessions of 3 captures, typical: population (video): playout at 400.4
        kbit/s>
        >>> trafficgen.generate(fitted.model, sessions=5, seed=1)
        <PacketTable: 4,757 packets, 5 flows, 19.97 s, 4,757,000 IP bytes>
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    names = as_paths(paths)
    processes = workers or os.cpu_count() or 1
    shared = None if memory_bytes is None else memory_bytes // min(processes, len(names))
    options = _Options(session, upload, seed, resegment, decapsulate, idle_timeout_s, shared)
    fitted = []
    for done, capture in enumerate(_fitted_captures(names, options, processes), start=1):
        fitted.append(capture)
        if progress is not None:
            progress(done, len(names))
    left_out = {name: reason for capture in fitted for name, reason in capture.left_out}
    used = [
        (name, capture) for name, capture in zip(names, fitted, strict=True) if capture.sessions
    ]
    if not used:
        raise CalibrationError(
            f"none of the {len(names)} captures can be fitted; the first: {_first(left_out)}"
        )
    sessions = [each for _, capture in used for each in capture.sessions]
    summaries = [summary for _, capture in used for summary in capture.summaries]
    model = pool_sessions(sessions, captures=len(used), seed=seed)
    typical = next(
        row for row, each in enumerate(sessions) if each.model.provenance is model.provenance
    )
    warnings = [f"{reason}; it is left out" for reason in left_out.values()]
    if len(sessions) == 1:
        warnings.append("a population of one session has no spread: give more captures")
    return PopulationFit(
        model=_named(model, [name for name, _ in used], [capture.digest for _, capture in used]),
        typical=summaries[typical],
        left_out=left_out,
        warnings=tuple(warnings),
        session_warnings=tuple(text for capture in fitted for text in capture.warnings),
        sessions=tuple(sessions),
    )


def _first(left_out: dict[str, str]) -> str:
    return next(iter(left_out.values()), "nothing was given")


def _fitted_captures(
    names: Sequence[str], options: _Options, workers: int
) -> Iterator[_FittedCapture]:
    """Yield what each capture gives, in the order of the captures."""
    if workers == 1 or len(names) == 1 or any(is_stream(name) for name in names):
        for name in names:
            yield _fit_capture(name, options)
        return
    try:
        with worker_pool(min(workers, len(names))) as pool:
            with interrupts_defer_signals():
                futures = [pool.submit(_fit_capture, name, options) for name in names]
            for done in futures:
                yield done.result()
    except BrokenProcessPool as error:
        raise CalibrationError(
            "a process that fits captures has ended: ask for fewer workers where memory is short,"
            " and in a script call this under `if __name__ == '__main__':`"
        ) from error


def _fit_capture(name: str, options: _Options) -> _FittedCapture:
    """Return the fits of a capture's sessions, or why there are none."""
    try:
        opened, notes = _opened(name, options)
        digest = "" if is_stream(name) else file_digest(Path(name))
    except TrafficgenError as error:
        return _FittedCapture(left_out=((name, str(error)),))
    result = _FittedCapture(digest=digest, warnings=notes)
    for one in opened:
        place = f"{name}, session {one.view.session}"
        try:
            fitted = fit_opened(one, name, seed=options.seed, resegment=options.resegment)
        except CalibrationError as error:
            result = replace(result, left_out=(*result.left_out, (place, str(error))))
            continue
        result = replace(
            result,
            sessions=(*result.sessions, _estimates(one, name, fitted)),
            summaries=(*result.summaries, fitted.to_json()),
            warnings=(
                *result.warnings,
                *(f"{place}: {text.removeprefix(f'{name}: ')}" for text in fitted.warnings),
            ),
        )
    return result


def _opened(name: str, options: _Options) -> tuple[list[OpenedSession], tuple[str, ...]]:
    """Return the sessions of a capture that count, and what is to be said of them."""
    budget = Budget(options.memory_bytes, FIT_PACKET_BYTES)
    how = ReadOptions(
        decapsulate=options.decapsulate,
        idle_timeout_s=options.idle_timeout_s,
        memory_bytes=options.memory_bytes,
    )
    chosen = SessionChoice(session=options.session, upload=options.upload)
    heaviest = open_session(name, chosen, how)
    if options.session is not None:
        return [heaviest], ()
    numbers = _sessions_that_count(heaviest)
    if len(numbers) == 1 or is_stream(name):
        return [heaviest], ()
    drawn = sessions_that_fit(heaviest.inspection.flows, numbers, budget, options.seed)
    note = () if len(drawn) == len(numbers) else (_drawn_sentence(name, len(drawn), len(numbers)),)
    if len(drawn) == 1:
        if drawn[0] == heaviest.view.session:
            return [heaviest], note
        return [open_session(name, replace(chosen, session=drawn[0]), how)], note
    table = open_session(name, replace(chosen, together=drawn), how).view.table
    return [replace(heaviest, view=choose_session(table, session=number)) for number in drawn], note


def _drawn_sentence(name: str, drawn: int, present: int) -> str:
    return (
        f"{name}: {drawn:,} of {present:,} sessions were fitted, drawn at random, as many as the"
        " memory holds; give more --memory to fit all"
    )


def _sessions_that_count(opened: OpenedSession) -> list[int]:
    """Return the sessions that carry enough to a client, heaviest first."""
    columns = opened.inspection.flows.to_pydict()
    weight: dict[int, int] = {}
    media = set()
    for row, session in enumerate(columns["session"]):
        weight[session] = weight.get(session, 0) + columns["frame_bytes_to_client"][row]
        if columns["payload_bytes_to_client"][row] and columns["media"][row] != "control":
            media.add(session)
    heaviest = weight[opened.view.session]
    many = heaviest < LARGEST_SHARE_OF_MANY * sum(weight.values())
    least = (SMALLEST_SHARE_AMONG_MANY if many else SMALLEST_SHARE_OF_HEAVIEST) * heaviest
    return sorted(
        (number for number in media if weight[number] >= least),
        key=lambda number: (-weight[number], number),
    )


def _estimates(opened: OpenedSession, name: str, fitted: Fit) -> SessionEstimates:
    view, inspection = opened.view, opened.inspection
    levels = fitted.calibration.summary()["levels"]
    found = levels.get("kbps", []) if isinstance(levels, dict) else []
    return describe_session(
        view,
        fitted.model,
        name=f"{name_in_model(name)}, session {view.session}",
        media_start_s=s_from_ns(
            inspection.origin_ns + view.first_media_ns - inspection.start_time_ns
        ),
        levels_bps=tuple(bps_from_kbps(float(level)) for level in found),
    )


def _named(model: Model, names: list[str], digests: list[str]) -> Model:
    """Return the model with all captures in its provenance, or, when they are many, with one digest
    for all.
    """
    files = tuple(name_in_model(name) for name in names)
    absent = dict(model.absent)
    kept = tuple(digest for digest in digests if digest)
    if len(files) > MOST_NAMED_FILES:
        absent["provenance.files"] = (
            f"only {MOST_NAMED_FILES} of {len(files)} captures are named; one digest is of all"
        )
        files, kept = files[:MOST_NAMED_FILES], (combined_digest(kept),)
    assert isinstance(model.provenance, FittedProvenance)
    provenance = model.provenance.model_copy(update={"files": files, "digests": kept})
    assert model.population is not None
    count = model.population.sessions
    return model.model_copy(
        update={
            "name": "population" if len(names) > 1 else model.name,
            "description": (
                f"{count} sessions of {len(names)} captures; the typical one is {model.description}"
            ),
            "provenance": provenance,
            "absent": absent,
        }
    )
