"""Captures of one source over several paths: `trafficgen fit --same-source`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trafficgen.api.fitting import Fit, fit_opened
from trafficgen.calibration.population.same_source import SourceCapture, combine_captures
from trafficgen.capture.inputs import Paths, as_paths, name_in_model
from trafficgen.capture.memory import share_memory
from trafficgen.capture.options import DEFAULT_MEMORY_BYTES, ReadOptions, SessionChoice
from trafficgen.capture.session import open_session
from trafficgen.errors import CalibrationError, TrafficgenError
from trafficgen.formatting import count_warnings, format_count
from trafficgen.models import FittedProvenance, Model, PooledResponse
from trafficgen.notebook import NotebookView


@dataclass(frozen=True)
class SameSourceFit(NotebookView):
    """The model of a source that was captured over several paths.

    Attributes:
        model: The source, ready to be saved or played.
        calmest: Summary of the least congested capture's fit, as `trafficgen fit --json` prints it
            for one session.
        left_out: What could not be fitted -> why.
        warnings: What is doubtful, one sentence each.

    Example:
        >>> import trafficgen
        >>> for name, path in {"wide": "rate=2Mbps,delay=40ms", "narrow": "rate=300kbps,delay=40ms,queue=20p"}.items():
        ...     _ = trafficgen.simulate("wmedia9_nichols2004", path=path, duration_s=60, out=f"{name}.parquet")
        >>> fitted = trafficgen.fit_same_source(["wide.parquet", "narrow.parquet"])
        >>> fitted.response.kind
        'thinning'
        >>> fitted.response.evidence[-1]
        'fewer frames make up 100% of the changes of the rate'
    """

    model: Model
    calmest: dict[str, object]
    left_out: dict[str, str]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        paths = format_count(len(self.response.captures), "path")
        kind = self.response.kind.replace("_", " ")
        return f"<SameSourceFit over {paths}: {kind}{count_warnings(self.warnings)}>"

    def _notebook_data(self) -> dict[str, object]:
        response = self.response
        return {
            "uncongested_rate_bps": response.uncongested_rate_bps,
            "processes from": response.source,
            "evidence": response.evidence,
            "response": [
                {"to": curve.condition, **point.model_dump()}
                for curve in response.curves
                for point in curve.points
            ],
            "without a curve": [f"{name}: {reason}" for name, reason in response.absent.items()],
            "left_out": [f"{name}: {reason}" for name, reason in self.left_out.items()],
            "warnings": self.warnings,
        }

    @property
    def response(self) -> PooledResponse:
        """The source's answer to congestion."""
        assert self.model.same_source is not None
        return self.model.same_source

    def to_json(self) -> dict[str, object]:
        """Return the least congested capture's summary and, under ``same_source``, the answer to
        congestion.
        """
        response = {**self.response.model_dump(mode="json"), "left_out": self.left_out}
        return {**self.calmest, "same_source": response, "warnings": list(self.warnings)}


def fit_same_source(
    paths: Paths,
    *,
    session: int | None = None,
    upload: bool = False,
    seed: int = 0,
    resegment: bool = True,
    decapsulate: bool = False,
    idle_timeout_s: float | None = None,
    memory_bytes: int | None = DEFAULT_MEMORY_BYTES,
    progress: Callable[[int, int], None] | None = None,
) -> SameSourceFit:
    """Fit captures of one source over several paths together: one model, one answer to congestion.

    A capture that cannot be fitted is left out with a warning.

    Args:
        paths: Capture files or packet tables, each read by itself.
        session: Number of the session to be taken from each; default: the heaviest.
        upload: Fit what goes to the servers.
        seed: Seed of the resampling behind intervals and p-values, >= 0.
        resegment: Whether segmentation-offload packets are cut back to MTU size first.
        decapsulate: Whether tunnels are looked into.
        idle_timeout_s: Silence after which a 5-tuple's packets are a new flow, s; None never
            splits.
        memory_bytes: Memory that the fit may take, bytes, shared by the captures: a session that
            needs more is left out. None takes what all packets need.
        progress: Called with the captures done so far and in all.

    Raises:
        CalibrationError: If no capture can be fitted, or all are too short for a response.

    Example:
        >>> import trafficgen
        >>> for name, path in {"wide": "rate=2Mbps,delay=40ms", "narrow": "rate=300kbps,delay=40ms,queue=20p"}.items():
        ...     _ = trafficgen.simulate("wmedia9_nichols2004", path=path, duration_s=60, out=f"{name}.parquet")
        >>> fitted = trafficgen.fit_same_source(["wide.parquet", "narrow.parquet"])
        >>> fitted
        <SameSourceFit over 2 paths: thinning, 3 warnings>
    """
    names = as_paths(paths)
    choice = SessionChoice(session=session, upload=upload)
    how = ReadOptions(
        decapsulate=decapsulate,
        idle_timeout_s=idle_timeout_s,
        memory_bytes=share_memory(memory_bytes, len(names)),
    )
    captures: list[SourceCapture] = []
    fits: list[Fit] = []
    left_out: dict[str, str] = {}
    for done, name in enumerate(names, start=1):
        try:
            opened = open_session(name, choice, how)
            fits.append(fit_opened(opened, name, seed=seed, resegment=resegment))
            levels = fits[-1].calibration.summary()["levels"] is not None
            captures.append(
                SourceCapture(name_in_model(name), fits[-1].model, opened.view, has_levels=levels)
            )
        except TrafficgenError as error:
            left_out[name] = str(error)
        if progress is not None:
            progress(done, len(names))
    if not captures:
        reason = next(iter(left_out.values()), "nothing was given")
        raise CalibrationError(
            f"none of the {len(names)} captures can be fitted; the first: {reason}"
        )
    model = combine_captures(captures)
    calmest = next(fitted for fitted in fits if fitted.model.provenance is model.provenance)
    warnings = [f"{reason}; it is left out" for reason in left_out.values()]
    if len(captures) == 1:
        warnings.append(
            "one capture shows one path only: give captures of the same source over others"
        )
    return SameSourceFit(
        model=_named(model, [fitted.model for fitted in fits]),
        calmest=calmest.to_json(),
        left_out=left_out,
        warnings=(*warnings, *calmest.warnings),
    )


def _named(model: Model, models: list[Model]) -> Model:
    """Return the model with all captures in its provenance."""
    origins = [each.provenance for each in models if isinstance(each.provenance, FittedProvenance)]
    provenance = model.provenance.model_copy(
        update={
            "files": tuple(name for origin in origins for name in origin.files),
            "digests": tuple(digest for origin in origins for digest in origin.digests),
        }
    )
    description = (
        f"One source over {len(models)} paths; its processes are those of {model.description}"
    )
    return model.model_copy(update={"provenance": provenance, "description": description})
