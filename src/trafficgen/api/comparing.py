"""Whether what came out is like what went in: `trafficgen compare`."""

from __future__ import annotations

from dataclasses import replace

from trafficgen.capture.inputs import Paths, as_paths, file_text
from trafficgen.capture.memory import COMPARE_PACKET_BYTES, Budget
from trafficgen.capture.options import DEFAULT_MEMORY_BYTES, ReadOptions, SessionChoice
from trafficgen.capture.session import open_session
from trafficgen.validation import Comparison, compare_tables


def compare(
    reference: Paths,
    candidate: Paths,
    *,
    flow: int | None = None,
    session: int | None = None,
    every: bool = False,
    upload: bool = False,
    candidate_flow: int | None = None,
    candidate_session: int | None = None,
    candidate_upload: bool | None = None,
    seed: int = 0,
    undo_offload: bool = True,
    memory_bytes: int | None = DEFAULT_MEMORY_BYTES,
) -> Comparison:
    """Compare two captures or packet tables on the direction to the client, both measured by the
    same code.

    Args:
        reference: What was measured: one or several capture files, or one packet table.
        candidate: What is judged.
        flow: Number of the flow that is compared, on both sides.
        session: Number of the session that is compared, on both sides; without a choice, the one
            that `fit` would take.
        every: Compare all sessions as one.
        upload: Take the reference's packets to its servers, as `fit` with ``upload`` does.
        candidate_flow: Number of the candidate's flow, where it differs: a log or a capture of what
            was sent numbers its flows anew.
        candidate_session: Number of the candidate's session, where it differs.
        candidate_upload: Whether the candidate's packets to its servers are taken. None takes them
            with ``upload``, where more payload goes to its servers than to its clients: a capture
            of an upload is turned as the reference is, traffic from a model of one is not, since
            there the sender is the server.
        seed: Seed of the baselines, >= 0.
        undo_offload: Whether segmentation-offload packets are cut back to MTU size first, as `fit`
            does.
        memory_bytes: Memory that it may take, bytes; None takes what it needs.

    Raises:
        InputFileError: If an input cannot be read at all, or does not fit into the memory.
        SelectionError: If there is no such flow or session.
        ValueError: If the candidate is given both a flow and a session, or one of them beside
            ``every``.

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
    own = candidate_flow is not None or candidate_session is not None
    if (candidate_flow is not None and candidate_session is not None) or (own and every):
        raise ValueError("give one of candidate_flow, candidate_session and every")
    # Both sides are in memory together.
    budget = Budget(memory_bytes, COMPARE_PACKET_BYTES)
    choice = SessionChoice(flow=flow, session=session, every=every, upload=upload)
    how = ReadOptions(memory_bytes=memory_bytes)
    measured = open_session(reference, choice, how, packet_bytes=COMPARE_PACKET_BYTES)
    if own:
        choice = replace(choice, flow=candidate_flow, session=candidate_session)
    turned = (None if upload else False) if candidate_upload is None else candidate_upload
    judged = open_session(
        candidate,
        replace(choice, upload=turned),
        replace(how, memory_bytes=budget.left_after(len(measured.view.table))),
        packet_bytes=COMPARE_PACKET_BYTES,
    )
    comparison = compare_tables(measured.view, judged.view, seed=seed, undo_offload=undo_offload)
    return replace(comparison, names=(_called(reference), _called(candidate)))


def _called(paths: Paths) -> str:
    return ", ".join(file_text(name) for name in as_paths(paths))
