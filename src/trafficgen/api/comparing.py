"""Whether what came out is like what went in: `trafficgen compare`."""

from __future__ import annotations

from dataclasses import replace

from trafficgen.api.reading import Paths, as_paths, file_text, open_session
from trafficgen.capture import Progress
from trafficgen.validation import Comparison, compare_tables


def compare(
    reference: Paths,
    candidate: Paths,
    *,
    flow: int | None = None,
    session: int | None = None,
    every: bool = False,
    upload: bool = False,
    seed: int = 0,
    undo_offload: bool = True,
    progress: Progress | None = None,
) -> Comparison:
    """Compare two captures or packet tables on the direction to the client, both measured by the same code.

    Args:
        reference: What was measured: one or several capture files, or one packet table.
        candidate: What is judged.
        flow: Number of the flow that is compared, on both sides.
        session: Number of the session that is compared, on both sides; without a choice, the one that `fit` would take.
        every: Compare all sessions as one.
        upload: Take the reference's packets to its servers, as `fit` with ``upload`` does.
        seed: Seed of the baselines, >= 0.
        undo_offload: Whether segmentation-offload packets are cut back to MTU size first, as `fit` does.
        progress: Called with bytes read so far and in all.

    Raises:
        InputFileError: If an input cannot be read at all.
        SelectionError: If there is no such flow or session.

    Example:
        >>> import trafficgen
        >>> capture = "examples/captures/http_burst_then_paced.pcap.gz"
        >>> _ = trafficgen.generate(trafficgen.fit(capture).model, "synthetic.parquet", seed=1)
        >>> comparison = trafficgen.compare(capture, "synthetic.parquet")
        >>> for metric in ("gap_s.ks", "rate.0.1.ks", "variance_time.max_abs_log10_ratio"):
        ...     print(metric, "closer than", comparison.wins[metric])
        gap_s.ks closer than ['cbr', 'poisson']
        rate.0.1.ks closer than ['cbr', 'poisson']
        variance_time.max_abs_log10_ratio closer than ['cbr', 'poisson']
    """
    views = [
        open_session(paths, flow=flow, session=session, every=every, upload=turn, progress=progress).view
        for paths, turn in ((reference, upload), (candidate, False))
    ]
    comparison = compare_tables(views[0], views[1], seed=seed, undo_offload=undo_offload)
    return replace(comparison, names=(_called(reference), _called(candidate)))


def _called(paths: Paths) -> str:
    return ", ".join(file_text(name) for name in as_paths(paths))
