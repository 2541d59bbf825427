"""What one session plays, and for how long: a clip, its length, and when the viewer leaves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Viewing:
    """One session as it is asked for.

    Attributes:
        session: Number of the session, from which its packets are drawn.
        clip: Number of what is drawn once for all its sessions; None: this session has its own.
        rate_factor: Rate of the clip / rate of the model.
        length_s: From the session's start to its end if the viewer stays, s; None: that of the
            model or the clip.
        leaves_at: Share of that length after which the viewer leaves; None: does not leave by
            share.
        leaves_after_s: Time after which the viewer leaves, s; None: does not leave by time.
    """

    session: int
    clip: int | None = None
    rate_factor: float = 1.0
    length_s: float | None = None
    leaves_at: float | None = None
    leaves_after_s: float | None = None

    @property
    def leaves(self) -> bool:
        """Whether the viewer may leave before the end."""
        return self.leaves_at is not None or self.leaves_after_s is not None

    def end_s(self, whole_s: float) -> float:
        """Return when the session ends after its start, s, if it would last ``whole_s`` with a
        viewer who stays.
        """
        end_s = whole_s if self.leaves_at is None else self.leaves_at * whole_s
        return end_s if self.leaves_after_s is None else min(end_s, self.leaves_after_s)
