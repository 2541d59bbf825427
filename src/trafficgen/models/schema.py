"""The model file of a fitted source: phases, streams, response, and where numbers come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, Self

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from trafficgen.data_frames import frame_rows
from trafficgen.errors import ModelFileError
from trafficgen.formatting import format_count, list_first, number, one_line, printable, rate_text
from trafficgen.model_parts.estimate import ModelPart, NonNegativeEstimate
from trafficgen.model_parts.problems import describe_problem
from trafficgen.models.application import Application
from trafficgen.models.parameters import (
    TABLES,
    TableOf,
    list_alternatives,
    list_checks,
    list_parameters,
)
from trafficgen.models.population import Population
from trafficgen.models.provenance import Provenance
from trafficgen.models.response import CongestionResponse, PooledResponse
from trafficgen.models.stream import Phase, Stream
from trafficgen.notebook import NotebookView
from trafficgen.option_names import name_options
from trafficgen.processes.process import TriedProcess
from trafficgen.units import kbps_from_bps

if TYPE_CHECKING:
    import pandas as pd


#: Parts that the line names; the others are counted.
_MOST_NAMED = 2
_RATE = "rate."
#: A longer part without this statistic has a rate so constant that it was not judged.
_AUTOCORRELATION, _LONG_ENOUGH_S = "rate_acf", 11.0


def list_judged_parts(model: Model) -> list[tuple[str, TriedProcess]]:
    """Return the chosen process of each part whose rates were checked, with the part's name."""
    found = [
        (f"{stream.name}, {phase.name}", phase.choice.tried[phase.choice.chosen])
        for stream in model.streams
        for phase in stream.phases
        if phase.choice is not None
    ]
    return [(name, tried) for name, tried in found if any("rate" in one for one in tried.distances)]


def describe_judged_parts(model: Model) -> str | None:
    """Say how many of the checked parts passed, and which were not checked; None without any."""
    parts = list_judged_parts(model)
    if not parts:
        return None
    checked = {name for name, _ in parts}
    short = [
        f"{printable(stream.name)} in the {phase.name}"
        for stream in model.streams
        for phase in stream.phases
        if f"{stream.name}, {phase.name}" not in checked
    ]
    constant = [
        f"{printable(stream.name)} in the {phase.name}"
        for stream in model.streams
        for phase in stream.phases
        if _has_constant_rate(phase)
    ]
    passed = sum(tried.passed for _, tried in parts)
    verdict = "passed" if passed == len(parts) else "failed"
    rest = f"; too short to check: {list_first(short)}" if short else ""
    if constant:
        rest += f"; constant rate, without an autocorrelation to judge: {list_first(constant)}"
    return (
        f"self-check {verdict}: played rates match in {passed} of"
        f" {format_count(len(parts), 'checked part')} (stream, phase){rest}"
    )


def describe_failed_checks(model: Model) -> str | None:
    """Describe in one line what differs, and by how much; None if every checked part passed."""
    parts = list_judged_parts(model)
    failed = [(name, tried) for name, tried in parts if not tried.passed]
    if not failed:
        return None
    named = "; ".join(f"{name}: {_worst(tried)}" for name, tried in failed[:_MOST_NAMED])
    more = f"; and {len(failed) - _MOST_NAMED} more" if len(failed) > _MOST_NAMED else ""
    return name_options(
        f"in {len(failed)} of {len(parts)} part{'s' if len(parts) > 1 else ''} the played rate"
        f" differs from the capture ({named}{more}); see with [trafficgen compare|compare()]"
        " whether that matters to you before you rely on the model"
    )


def _has_constant_rate(phase: Phase) -> bool:
    """Return whether the rates of a part were checked, but not their autocorrelation."""
    judged = {} if phase.choice is None else phase.choice.tried[phase.choice.chosen].distances
    is_checked = any(name.startswith(_RATE) for name in judged)
    return is_checked and _AUTOCORRELATION not in judged and phase.duration_s > _LONG_ENOUGH_S


def _worst(tried: TriedProcess) -> str:
    """Describe the statistic that is farthest beyond what chance explains."""
    if not tried.beyond_chance:
        return tried.kind.replace("_", " ")
    name = max(tried.beyond_chance, key=lambda one: tried.distances[one] - tried.beyond_chance[one])
    apart, chance = tried.distances[name], tried.beyond_chance[name]
    if not name.startswith(_RATE):
        # The distance is half the largest difference of the autocorrelations.
        return f"autocorrelation of the rate off by {2 * apart:.2f}, chance {2 * chance:.2f}"
    bins = f"{name.removeprefix(_RATE)} s bins"
    if (seen := tried.differs_at.get(name)) is None:
        return f"rate in {bins} off by KS {apart:.2f}, chance {chance:.2f}"
    rate = f"at most {rate_text(kbps_from_bps(seen.rate_bps))}" if seen.rate_bps else "silent"
    return f"{rate} in {seen.played:.0%} of the {bins}, measured {seen.measured:.0%}"


#: Version of model files, fitted and published.
SCHEMA_VERSION: Final = "1"
SCHEMA_REMEDY = "see [`trafficgen models schema`|models_schema()] for what a model file may hold"


class FactsAtScale(ModelPart):
    """Variability at one time scale."""

    bin_s: float = Field(gt=0)
    """Width of a bin, s."""
    dispersion_of_counts: float = Field(ge=0)
    """Index of dispersion for counts: variance / mean of the packets in a bin; 1 is Poisson."""
    relative_variance: float = Field(ge=0)
    """Variance of the mean byte rate in a bin / its squared mean: a point of the variance-time
    curve."""


class DispersionOfIntervals(ModelPart):
    """Index of dispersion for intervals at one number of gaps."""

    gaps: int = Field(ge=1)
    """Successive gaps that are added up."""
    value: float = Field(ge=0)
    """Variance of the sum / (gaps * squared mean gap); 1 is Poisson."""


class Facts(ModelPart):
    """Second-order facts of the playout (Gusella, IEEE JSAC 9 (1991) 203; Leland et al. 1994)."""

    scales: tuple[FactsAtScale, ...] = Field(default=(), max_length=24)
    """Variability by time scale."""
    dispersion_of_intervals: tuple[DispersionOfIntervals, ...] = Field(default=(), max_length=24)
    """Index of dispersion for intervals, by number of gaps."""
    gap_autocorrelation: tuple[float, ...] = Field(default=(), max_length=20)
    """Autocorrelation of the gaps of all media packets, from lag 1."""
    rate_autocorrelation: tuple[float, ...] = Field(default=(), max_length=20)
    """Autocorrelation of the bytes in bins of 0.5 s, from lag 1."""


class Startup(ModelPart):
    """What comes before the first media packet."""

    silence_s: NonNegativeEstimate
    """From the session's first packet to its first media packet, s."""


class Buffering(ModelPart):
    """The part in which the source sends faster than it plays."""

    duration_s: NonNegativeEstimate
    """Length after the first media packet, s."""
    rate_bps: NonNegativeEstimate
    """Mean IP rate to the client, bit/s."""
    ratio: NonNegativeEstimate
    """Buffering rate / playout rate."""


class Playout(ModelPart):
    """The part in which the source sends as it plays."""

    duration_s: NonNegativeEstimate
    """Length, s."""
    rate_bps: NonNegativeEstimate
    """Mean IP rate to the client, bit/s."""


class ModelRoot(ModelPart):
    """What every model file begins with."""

    schema_version: Literal["1"] = SCHEMA_VERSION
    """Version of this schema."""
    name: str = Field(min_length=1)
    """Name of the model."""
    description: str = ""
    """One or two sentences for people."""

    if not TYPE_CHECKING:  # which know the arguments

        @classmethod
        def _refuse(cls, error: ValidationError, context: object) -> ModelFileError:
            return ModelFileError(
                file=context["file"] if isinstance(context, dict) else cls.__name__,
                problem="; ".join(filter(None, describe_problem(error, cls))),
                remedy=SCHEMA_REMEDY,
            )


class Model(NotebookView, ModelRoot):
    """A source, as data: everything that generation and simulation need, and where it comes from.

    Example:
        >>> import trafficgen
        >>> model = trafficgen.fit("examples/captures/http_burst_then_paced.pcap.gz").model
        >>> start = model.buffering
        >>> duration_s, ratio = start.duration_s.value, start.ratio.value
        >>> print(f"{duration_s:.1f} s of buffering at {ratio:.1f} times the playout rate")
        3.2 s of buffering at 2.5 times the playout rate
        >>> for phase in model.streams[0].phases:
        ...     print(phase.name, phase.process.kind)
        buffering renewal
        playout bursts
    """

    provenance: Provenance
    """Where the numbers come from."""
    startup: Startup
    """Start of the session."""
    buffering: Buffering | None = None
    """Null where the start is not faster than the rest."""
    playout: Playout
    """Steady part."""
    streams: tuple[Stream, ...] = Field(min_length=1)
    """Media streams of the session, heaviest first."""
    facts: Facts | None = None
    """Measured facts of the playout; they are not played."""
    response: CongestionResponse | None = None
    """What the source does when the path is congested; null where it was not looked at."""
    absent: dict[str, str] = Field(default_factory=dict)
    """What could not be estimated -> why."""
    population: Population | None = None
    """How sessions differ; the rest of the model is then the most typical one. Null for one
    session."""
    same_source: PooledResponse | None = None
    """Answer to congestion from captures over several paths; null for one capture."""
    application: Application | None = None
    """What the source did by its requests, which is played over a path if it is chunked or has
    pages; left out where it is not known."""

    @model_serializer(mode="wrap")
    def _leave_out_unknown(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        if written.get("application", 0) is None:
            del written["application"]
        return written

    def __repr__(self) -> str:
        rate = number(kbps_from_bps(self.playout.rate_bps.value))
        names = ", ".join(one_line(stream.name) for stream in self.streams)
        parts = [f"{format_count(len(self.streams), 'stream')} ({names})"]
        if self.buffering is not None:
            start = number(kbps_from_bps(self.buffering.rate_bps.value))
            length = number(self.buffering.duration_s.value)
            parts.append(f"buffering {length} s at {start} kbit/s")
        parts.append(f"playout {number(self.playout.duration_s.value)} s at {rate} kbit/s")
        if self.population is not None:
            parts.append(f"a population of {format_count(self.population.sessions, 'session')}")
        if self.same_source is not None:
            parts.append(f"one source over {format_count(len(self.same_source.captures), 'path')}")
        return f"<Model {one_line(self.name)}: {', '.join(parts)}>"

    def summary_line(self) -> str:
        """Name the model, its streams and its rate on part of a line."""
        names = ", ".join(one_line(stream.name) for stream in self.streams)
        length_s = self.buffering.duration_s.value if self.buffering else None
        start = f"buffering {number(length_s)} s, " if self.buffering else ""
        rate = number(kbps_from_bps(self.playout.rate_bps.value))
        return f"{one_line(self.name)} ({names}): {start}playout at {rate} kbit/s"

    def to_pandas(self, of: TableOf = "parameters") -> pd.DataFrame:
        """Return a table of the model: its parameters, what was rejected, or its self-check.

        ``stream``, ``phase`` and ``process`` say where a row belongs, ``parameter`` what it is, as
        in the model file. Missing values are ``pd.NA``.

        Args:
            of: ``parameters`` are the numbers of the source: ``estimate``, ends of the 95% interval
                (``lower``, ``upper``) and ``unit``; ``gap_s.scale`` is a parameter of the law of
                gaps, ``gap_s.median`` its median. ``alternatives`` are the families rejected for
                the ``chosen`` one: ``delta_bic`` above 0 and ``held_out`` below 0 are worse than
                it, or than the first of them where ``quantiles`` were chosen.
                ``self_check`` are the processes tried for a phase, chosen or not, each with its
                number (``candidate``): the ``distance`` of a statistic of their packets to the
                capture's, and the distance that chance explains (``by_chance``) where it is less.

        Example:
            >>> import trafficgen
            >>> fitted = trafficgen.fit("examples/captures/http_burst_then_paced.pcap.gz")
            >>> checks = fitted.to_pandas("self_check")
            >>> bool(checks[checks["chosen"]]["passed"].all())
            True
            >>> fitted.to_pandas("alternatives")["chosen"].iloc[0]
            'quantiles'
        """
        lists = {"parameters": list_parameters, "alternatives": list_alternatives}
        if of not in [*TABLES]:
            raise ValueError(f"there is no table of {of!r}; choose {', '.join(TABLES)}")
        return frame_rows(lists.get(of, list_checks)(self), TABLES[of])

    def _notebook_data(self) -> dict[str, object]:
        published = self.provenance.kind == "published"
        return {
            "description": self.description,
            "startup": self.startup.model_dump(),
            "buffering": self.buffering.model_dump() if self.buffering else None,
            "playout": self.playout.model_dump(),
            "phases": [
                {
                    "stream": stream.name,
                    "transport": stream.transport.protocol,
                    "phase": phase.name,
                    "start_s": phase.start_s,
                    "duration_s": phase.duration_s,
                    "rate_bps": phase.rate_bps,
                    "process": phase.process.kind,
                }
                for stream in self.streams
                for phase in stream.phases
            ],
            "fitted to": None if published else getattr(self.provenance, "files", None),
            "not estimated": [f"{name}: {reason}" for name, reason in self.absent.items()],
        }

    @model_validator(mode="after")
    def _unique_names(self) -> Self:
        names = [stream.name for stream in self.streams]
        if len(set(names)) != len(names):
            raise ValueError(f"stream names must be unique, got {', '.join(names)}")
        return self
