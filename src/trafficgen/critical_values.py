"""Quantiles behind every 95% interval and 95% test of the project."""

from __future__ import annotations

#: 97.5% quantile of the standard normal law: half the width of a 95% interval in standard errors.
NORMAL_95 = 1.959963984540054
#: 95% quantile of Kolmogorov's distribution, rounded as in its tables: the largest distance that
#: chance explains is this over the square root of n, or times ``sqrt(1/n + 1/m)`` for two samples.
KOLMOGOROV_95 = 1.36
