"""Captures of one source over several paths: `trafficgen fit --same-source`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trafficgen.calibration.fit import Fit, fit_open_session
from trafficgen.calibration.options import FitOptions
from trafficgen.calibration.population.fit_population import nothing_fitted_error
from trafficgen.calibration.population.same_source import SourceCapture, combine_captures
from trafficgen.capture.inputs import Paths, as_paths, name_in_model
from trafficgen.capture.memory import share_memory
from trafficgen.capture.session import open_session
from trafficgen.errors import TrafficgenError
from trafficgen.formatting import count_warnings, format_count
from trafficgen.models import FittedProvenance, Model, PooledResponse
from trafficgen.notebook import NotebookView
from trafficgen.options import takes
from trafficgen.progress import report_each


@dataclass(frozen=True)
class SameSourceFit(NotebookView):
    """The model of a source that was captured over several paths.

    Attributes:
        model: The source, ready to be saved or played.
        calmest: Summary of the least congested capture's fit, as `trafficgen fit --json` prints it.
        left_out: What could not be fitted -> why.
        warnings: What is doubtful, one sentence each.

    Example:
        >>> import trafficgen
        >>> model, rates = "wmedia9_nichols2004", ("2Mbps", "300kbps")
        >>> for rate in rates:
        ...     path = f"rate={rate},delay=40ms,queue=20p"
        ...     _ = trafficgen.simulate(model, path=path, duration_s=60, out=f"{rate}.parquet")
        >>> fitted = trafficgen.fit_same_source([f"{rate}.parquet" for rate in rates])
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
        """Return the least congested capture's summary, and the response under ``same_source``."""
        response = {**self.response.model_dump(mode="json"), "left_out": self.left_out}
        return {**self.calmest, "same_source": response, "warnings": list(self.warnings)}


@takes(FitOptions)
def fit_same_source(paths: Paths, options: FitOptions) -> SameSourceFit:
    """Fit captures of one source over several paths together: one model, one congestion response.

    A capture that cannot be fitted is left out with a warning.

    Args:
        paths: Capture files or packet tables, each read by itself.
        options: See :class:`~trafficgen.calibration.options.FitOptions`; given as keywords. The
            captures share the memory.

    Raises:
        CalibrationError: If no capture can be fitted, or all are too short for a response.

    Example:
        >>> import trafficgen
        >>> model, rates = "wmedia9_nichols2004", ("2Mbps", "300kbps")
        >>> for rate in rates:
        ...     path = f"rate={rate},delay=40ms,queue=20p"
        ...     _ = trafficgen.simulate(model, path=path, duration_s=60, out=f"{rate}.parquet")
        >>> fitted = trafficgen.fit_same_source([f"{rate}.parquet" for rate in rates])
        >>> fitted
        <SameSourceFit over 2 paths: thinning, 3 warnings>
    """
    names = as_paths(paths)
    options = replace(options, memory_bytes=share_memory(options.memory_bytes, len(names)))
    captures: list[SourceCapture] = []
    fits: list[Fit] = []
    left_out: dict[str, str] = {}
    for name in report_each(names, "fitting", total=len(names), unit="captures"):
        try:
            opened = open_session(name, options.choice, options)
            fitted = fit_open_session(opened, [name], options)
        except TrafficgenError as error:
            left_out[name] = str(error)
            continue
        levels = fitted.calibration.summary()["levels"] is not None
        captures.append(SourceCapture(name_in_model(name), fitted.model, opened.view, levels))
        fits.append(fitted)
    if not captures:
        raise nothing_fitted_error(names, left_out)
    model = combine_captures(captures)
    calmest = next(fitted for fitted in fits if fitted.model.provenance is model.provenance)
    warnings = [f"{reason}; it is left out" for reason in left_out.values()]
    if len(captures) == 1:
        warnings.append(
            "one capture shows one path only: give captures of the same source over others"
        )
    return SameSourceFit(
        model=_name_captures(model, [fitted.model for fitted in fits]),
        calmest=calmest.to_json(),
        left_out=left_out,
        warnings=(*warnings, *calmest.warnings),
    )


def _name_captures(model: Model, models: list[Model]) -> Model:
    """Put all captures into the provenance of a model."""
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
