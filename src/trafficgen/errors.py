"""Every exception and warning class of trafficgen.

The tree::

    TrafficgenError                  anything the user can put right; the command line prints one line, exit code 2
    ├── InputFileError               a file that cannot be used: which, where in it, what to do
    │   ├── CaptureError             a capture file
    │   ├── PacketTableError         a packet table (Parquet or CSV), or a trace of another tool
    │   ├── PlayerLogError           a player log
    │   └── ModelFileError           a model file
    ├── OutputFileError              a file that cannot be written
    ├── SelectionError               a flow or session that is not there
    ├── CalibrationError             a fit that the data do not allow
    │   └── TooFewObservationsError
    ├── SettingError                 an option or parameter that a model has not, or a value it cannot take
    ├── GenerationError              a model that cannot be played as asked
    ├── SimulationError              a path, a competitor or a parameter that cannot be simulated
    ├── ExportError                  a target that cannot express the traffic
    └── ExploreError                 a local page that cannot be served, or something asked of it that it does not do
    TrafficgenWarning                a doubtful but usable result
    ├── CaptureWarning
    ├── CalibrationWarning
    └── SimulationWarning

A wrong argument to a function is a plain ``ValueError``.
"""

from __future__ import annotations

from typing import Self


class TrafficgenError(Exception):
    """Base of all errors that the user can put right."""

    def at(self, place: str) -> Self:
        """Return the same error with a place before its message, such as the name of the input it came from."""
        self.args = (f"{place}: {self}",)
        return self


class InputFileError(TrafficgenError):
    """A file that cannot be used.

    Attributes:
        file: Name of the file as the user gave it.
        problem: What is wrong, and where in the file.
        remedy: What the user can do about it.
    """

    def __init__(self, *, file: str, problem: str, remedy: str) -> None:
        self.file, self.problem, self.remedy = file, problem, remedy
        super().__init__(f"{file}: {problem}; {remedy}")


class CaptureError(InputFileError):
    """A capture file that cannot be read at all."""


class PacketTableError(InputFileError):
    """A packet table or trace of another tool that lacks columns, holds impossible values or has nothing readable."""


class PlayerLogError(InputFileError):
    """A player log that is not one, or holds impossible values."""


class ModelFileError(InputFileError):
    """A model file that is not valid JSON, has unknown keys or values out of range."""


class OutputFileError(InputFileError):
    """A file or folder that cannot be written."""


class SelectionError(TrafficgenError):
    """A flow or session was asked for that the capture does not have.

    Attributes:
        what: What was asked for, such as ``"flow 7"``.
        available: What there is.
    """

    def __init__(self, *, what: str, available: str) -> None:
        self.what, self.available = what, available
        super().__init__(f"there is no {what}; {available}")


class CalibrationError(TrafficgenError):
    """The data do not allow the fit."""


class TooFewObservationsError(CalibrationError):
    """Fewer observations than the estimator needs.

    Attributes:
        what: What was to be estimated.
        required: Smallest number of observations.
        available: Number of observations there are.
    """

    def __init__(self, *, what: str, required: int, available: int) -> None:
        self.what, self.required, self.available = what, required, available
        super().__init__(f"{what}: {required} observations needed, {available} available")


class SettingError(TrafficgenError):
    """An option or parameter that a published model does not have, or a value that it cannot take."""


class GenerationError(TrafficgenError):
    """The model cannot be played as asked."""


class SimulationError(TrafficgenError):
    """A path, a competing flow or a parameter of a source that cannot be simulated."""


class ExportError(TrafficgenError):
    """The target cannot express the traffic."""


class ExploreError(TrafficgenError):
    """The local page cannot be served, or does not do what was asked of it.

    Attributes:
        control: Name of the control that it is about; None where it is about none.
    """

    def __init__(self, message: str, *, control: str | None = None) -> None:
        self.control = control
        super().__init__(message)


class TrafficgenWarning(UserWarning):
    """Base of all warnings: a doubtful but usable result."""


class CaptureWarning(TrafficgenWarning):
    """A capture that is damaged, cut short, out of order or otherwise odd, and was read as far as possible."""


class CalibrationWarning(TrafficgenWarning):
    """An estimate that should be looked at before it is used."""


class SimulationWarning(TrafficgenWarning):
    """A simulation that rests on an assumption which should be known before it is used."""
