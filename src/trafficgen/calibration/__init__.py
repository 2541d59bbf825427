"""Fit models to measured sessions: estimates with intervals and goodness of fit."""
