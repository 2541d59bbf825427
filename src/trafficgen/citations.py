"""A citation that says what it supports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Citation:
    """A published source of a method or a number.

    Attributes:
        authors: Family names, in the order of the title page.
        year: Year of publication.
        title: Title of the work.
        supports: What in trafficgen rests on it.
        doi: Digital object identifier, or None where there is none.
    """

    authors: tuple[str, ...]
    year: int
    title: str
    supports: tuple[str, ...]
    doi: str | None = None
