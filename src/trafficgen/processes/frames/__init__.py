"""Frames on a clock, such as those of video."""
