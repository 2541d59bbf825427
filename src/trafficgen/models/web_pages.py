"""The pages that a client visited, as the models of web pages of standards describe them."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from trafficgen.formatting import format_count, format_duration, number, size_text
from trafficgen.model_parts.estimate import Estimate, ModelPart, NonNegativeEstimate


class WebPages(ModelPart):
    """Pages with objects: a main object, parsing, embedded objects one after the other, reading.

    Laws and names are those of the catalogue's ``web_3gpp2``: log-normal sizes within ends,
    exponential times, and as many embedded objects as a clipped Pareto law gives, less its low end.
    """

    #: Parameters that are whole numbers.
    WHOLE_NUMBERS: ClassVar = ("objects_low_count", "objects_high_count")

    pages: int = Field(ge=1)
    """Pages that were visited; of the last one it is not known whether all of it came."""
    objects: int = Field(ge=1)
    """Embedded objects of all of them."""
    parsed: int = Field(ge=0)
    """Pages that have embedded objects."""
    overlapping_share: float = Field(ge=0, le=1)
    """Share of the requests that were sent before the response to another had come; they are played
    one after the other."""
    request_bytes: NonNegativeEstimate
    """Payload of a request: the mean."""
    main_mu: Estimate
    """Mean of the logarithms of main objects' bytes, before they are cut off at the ends."""
    main_sigma: NonNegativeEstimate
    """Their standard deviation."""
    main_low_bytes: NonNegativeEstimate
    """Smallest main object, bytes: the smallest one that was captured, or less."""
    embedded_mu: Estimate
    """Mean of the logarithms of embedded objects' bytes, before they are cut off at the ends."""
    embedded_sigma: NonNegativeEstimate
    """Their standard deviation."""
    embedded_low_bytes: NonNegativeEstimate
    """Smallest embedded object, bytes."""
    high_bytes: NonNegativeEstimate
    """Largest object, bytes: the largest one that was captured, or more; without an upper end the
    capture shows none."""
    objects_shape: NonNegativeEstimate
    """Shape of the Pareto law of embedded objects of a page."""
    objects_low_count: NonNegativeEstimate
    """Its low end, which is taken off each draw: a whole number."""
    objects_high_count: NonNegativeEstimate
    """Its high end, which draws above it become; without an upper end the capture shows none."""
    parsing_s: NonNegativeEstimate
    """Mean time from a main object to the request for the first embedded one, s."""
    reading_s: NonNegativeEstimate
    """Mean time from the last object of a page to the next page, s."""
    ks: dict[str, float] = Field(default_factory=dict)
    """Largest distance of the captured quantity's distribution function to its law's, by quantity:
    ``main_bytes``, ``embedded_bytes``, ``objects_count``, ``parsing_s``, ``reading_s``."""

    @property
    def parameters(self) -> dict[str, Estimate]:
        """Parameters of ``web_3gpp2`` with their values."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: value for name, value in values.items() if isinstance(value, Estimate)}


def describe_pages(pages: WebPages) -> str:
    """Describe pages for people, on a line."""
    mean = pages.objects / pages.pages
    return (
        f"{format_count(pages.pages, 'page')} with {number(mean, digits=2)} embedded objects each,"
        f" from {size_text(round(pages.embedded_low_bytes.value))} to"
        f" {size_text(round(pages.high_bytes.value))}; read for"
        f" {format_duration(pages.reading_s.value)} on average"
    )
