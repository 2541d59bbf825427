"""Fractional Gaussian noise: long-range dependence."""
