"""The law of one quantity: likelihood, choice of a family, intervals and goodness of fit."""
