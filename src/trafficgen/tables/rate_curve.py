"""Bytes over time in a fixed number of bins, for drawings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trafficgen.units import FloatArray, kbps_from_bytes, s_from_ns


@dataclass(frozen=True)
class RateCurve:
    """Bytes in successive bins of equal width; the last bin ends with the observation.

    Attributes:
        start_s: Start of the first bin, s.
        end_s: End of the observation, s.
        size_bytes: Bytes in each bin, shape (n,).
    """

    start_s: float
    end_s: float
    bin_s: float
    size_bytes: FloatArray

    def rate_kbps(
        self, bins: int, *, start_s: float | None = None, end_s: float | None = None
    ) -> FloatArray:
        """Return mean rates over equal parts of a time span, kbit/s, shape (bins,).

        Bytes are spread evenly over their bin, so that none is lost or counted twice within the
        span.

        Args:
            bins: Number of parts, >= 1.
            start_s: Start of the span, s; default: that of the curve.
            end_s: Its end, s; default: that of the curve.
        """
        start_s = self.start_s if start_s is None else start_s
        end_s = self.end_s if end_s is None else end_s
        if not end_s > start_s:
            return np.zeros(bins)
        edges = self.start_s + self.bin_s * np.arange(self.size_bytes.size + 1)
        edges[-1] = (
            max(min(edges[-1], self.end_s), edges[-2]) if self.size_bytes.size else edges[-1]
        )
        until = np.concatenate(([0.0], np.cumsum(self.size_bytes)))
        # Just after the last edge all bytes are there, even those of a last bin without width.
        wanted = np.linspace(start_s, end_s, bins + 1)
        found = np.interp(wanted, edges, until)
        found[wanted >= edges[-1]] = until[-1]
        return np.diff(found) * kbps_from_bytes(1.0, (end_s - start_s) / bins)


@dataclass(frozen=True)
class FlowRates:
    """Rates of a flow's two directions over the same bins."""

    to_client: RateCurve
    to_server: RateCurve

    @classmethod
    def from_bins(
        cls,
        pair: npt.NDArray[np.uint64],
        *,
        start_ns: int,
        end_ns: int,
        bin_ns: int,
        client_first: bool,
    ) -> FlowRates:
        """Return the rates that the core counted.

        ``pair`` has the bytes from the initiator and to it in each bin, shape (2, n). With
        ``client_first`` the initiator is the client: what it sends goes to the server.
        """
        from_initiator, to_initiator = (
            RateCurve(
                start_s=s_from_ns(start_ns),
                end_s=s_from_ns(max(end_ns, start_ns)),
                bin_s=s_from_ns(bin_ns),
                size_bytes=way.astype(np.float64),
            )
            for way in pair
        )
        return (
            cls(to_initiator, from_initiator) if client_first else cls(from_initiator, to_initiator)
        )

    def swap_ends(self) -> FlowRates:
        """Return the same with client and server exchanged."""
        return FlowRates(self.to_server, self.to_client)


def average_parts(values: FloatArray, parts: int) -> FloatArray:
    """Return means over equal parts of a series, each value for an equal time; shape (parts,).

    NaN is where nothing is known, which is left out of the means.
    """
    known = ~np.isnan(values)
    at = np.linspace(0.0, values.size, parts + 1)
    edges = np.arange(values.size + 1)
    sums = np.diff(
        np.interp(at, edges, np.concatenate(([0.0], np.cumsum(np.where(known, values, 0.0)))))
    )
    weights = np.diff(np.interp(at, edges, np.concatenate(([0.0], np.cumsum(known)))))
    # Differences of sums are off by rounding where nothing is known.
    some = weights > 1e-9 * max(1, values.size)
    return np.where(some, sums / np.where(some, weights, 1.0), np.nan)
