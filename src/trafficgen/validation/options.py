"""Options of `trafficgen compare`."""

from __future__ import annotations

from dataclasses import dataclass

from trafficgen.capture.options import (
    SessionChoice,
    TimeWindow,
    from_option,
    memory_option,
    to_option,
)
from trafficgen.options import option


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """Which packets are compared, and how.

    Attributes:
        flow: Number of the flow to compare, on both sides.
        session: Number of the session to compare, on both sides; None takes the one `fit` takes.
        candidate_upload: Whether to take the candidate's packets to its servers. None, with
            ``upload``, takes the direction with more payload: a capture of an upload is turned like
            the reference, generated traffic is not, since its sender is the server.

    Raises:
        ValueError: If the part is empty.
    """

    flow: int | None = option(None, "--flow", help="Compare this flow alone.", low=0)
    session: int | None = option(
        None,
        "--session",
        help="Compare this session; default: the one that carries most bytes to a client.",
        low=0,
    )
    every: bool = option(False, "--all", help="Compare all sessions as one.")
    upload: bool = option(
        False, "--upload", help="Take the packets to the servers of the reference: an upload."
    )
    candidate_flow: int | None = option(
        None,
        "--candidate-flow",
        help="Take this flow of the candidate; default: the same as of the reference.",
        low=0,
    )
    candidate_session: int | None = option(
        None,
        "--candidate-session",
        help="Take this session of the candidate; default: the same as of the reference.",
        low=0,
    )
    candidate_upload: bool | None = option(
        None,
        "--candidate-upload/--candidate-download",
        help="Direction of the candidate; default: to the clients, with --upload the heavier one.",
    )
    from_s: float = from_option(
        "Compare a window of both sides that starts at this time after the first packet of each,"
        " such as 90s: the part that a fit until then did not see."
    )
    to_s: float | None = to_option()
    seed: int = option(0, "--seed", help="Seed of the baselines and of the classifier.", low=0)
    undo_offload: bool = option(
        True,
        "--resegment/--keep-offload",
        help="Cut segmentation-offload packets back to MTU size first.",
    )
    memory_bytes: int | None = memory_option()

    def __post_init__(self) -> None:
        _ = self.window  # refuses an empty one

    @property
    def window(self) -> TimeWindow:
        """The part of both sides that is compared."""
        return TimeWindow.from_options(self.from_s, self.to_s)

    def choose_reference(self) -> SessionChoice:
        """Return which packets of the reference are compared."""
        return SessionChoice(
            flow=self.flow, session=self.session, every=self.every, upload=self.upload
        )

    def choose_candidate(self) -> SessionChoice:
        """Return which packets of the candidate are compared.

        Raises:
            ValueError: If a side has both a flow and a session, or one of them with ``every``.
        """
        if self.every and (self.flow is not None or self.session is not None):
            raise ValueError("give one of flow, session and every")
        own = self.candidate_flow is not None or self.candidate_session is not None
        if (self.candidate_flow is not None and self.candidate_session is not None) or (
            own and self.every
        ):
            raise ValueError("give one of candidate_flow, candidate_session and every")
        upload = self.candidate_upload
        return SessionChoice(
            flow=self.candidate_flow if own else self.flow,
            session=self.candidate_session if own else self.session,
            every=self.every,
            upload=(None if self.upload else False) if upload is None else upload,
        )


@dataclass(frozen=True, kw_only=True)
class RankOptions:
    """Which packets the models of the catalogue are compared with.

    Attributes:
        every: Whether to take all sessions as one.
        undo_offload: Whether to cut segmentation-offload packets to MTU size first, as `fit` does.
    """

    flow: int | None = option(None, help="Compare this flow alone.", low=0)
    session: int | None = option(None, help="Compare this session.", low=0)
    every: bool = False
    seed: int = option(0, help="Seed of the models' runs.", low=0)
    undo_offload: bool = True
    memory_bytes: int | None = memory_option()
