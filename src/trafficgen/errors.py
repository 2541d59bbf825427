"""Every exception and warning class of trafficgen.

The tree::

    TrafficgenError                  the user can put it right: one line, exit code 2
    ├── InputFileError               a file that cannot be used: which, where, what to do
    │   ├── CaptureError             a capture file
    │   ├── PacketTableError         a packet table (Parquet, CSV) or a trace of another tool
    │   ├── PlayerLogError           a player log
    │   ├── ModelFileError           a model file
    │   ├── WorkloadFileError        a workload file, or a file of numbers that it names
    │   └── OutputFileError          a file or folder that cannot be written
    ├── SelectionError               a flow or session that does not exist
    ├── CalibrationError             data that do not allow the fit
    │   └── TooFewObservationsError
    ├── SettingError                 an unknown option of a model, or a value out of range
    ├── GenerationError              a model that cannot be played this way
    ├── SimulationError              a path, competing flow or parameter that cannot be simulated
    ├── ExportError                  traffic that the target cannot express
    └── ExploreError                 a local page that cannot be served
    TrafficgenWarning                a doubtful but usable result
    ├── CaptureWarning
    └── SimulationWarning

A wrong argument to a function is a plain ``ValueError``, a ``TypeError`` where its type or name is
wrong.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from typing import Self

from trafficgen.formatting import clean_text, cut_middle, shorten_figures
from trafficgen.option_names import name_options

#: What the system says of a process, or a machine, that may open no more files.
TOO_MANY_FILES = (errno.EMFILE, errno.ENFILE)
_MORE_FILES = "let the command open more files (ulimit -n 1024)"
#: Letters of a message that is shown.
_LONGEST_MESSAGE = 1000


class TrafficgenError(Exception):
    """Base of all errors that the user can put right.

    Example:
        >>> import trafficgen
        >>> try:
        ...     trafficgen.inspect("missing.pcap")
        ... except trafficgen.TrafficgenError as error:
        ...     print(type(error).__name__, "|", error)
        CaptureError | missing.pcap: cannot be opened (No such file or directory...); check the name
        and the permissions
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(name_options(message))

    def __str__(self) -> str:
        """Return the message on one line; names and numbers in it may be of any length."""
        line = shorten_figures(clean_text(super().__str__()))
        return cut_middle(line, longest=_LONGEST_MESSAGE)

    def prepend_place(self, place: str) -> Self:
        """Put a place, such as the name of an input, before the message; return the error."""
        self.args = (f"{place}: {self}",)
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the message and attributes: another process may not have the arguments."""
        return _restore_error, (type(self), self.args, self.__dict__)


def _restore_error(
    kind: type[TrafficgenError], args: tuple[object, ...], attributes: dict[str, object]
) -> TrafficgenError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


def find_remedy(problem: str, *, usual: str) -> str:
    """Return what to do about a problem with a file; too many open ones are not its fault."""
    is_full = any(os.strerror(number) in problem for number in TOO_MANY_FILES)
    return _MORE_FILES if is_full else usual


class InputFileError(TrafficgenError):
    """A file that cannot be used.

    Attributes:
        file: Name of the file as the user gave it.
        problem: What is wrong, and where in the file.
        remedy: What the user can do about it.

    Example:
        >>> import trafficgen
        >>> try:
        ...     trafficgen.load_model("no-such-model.json")
        ... except trafficgen.InputFileError as error:
        ...     print(error.file, "|", error.problem)
        ...     print(error.remedy)
        no-such-model.json | cannot be read (No such file or directory)
        give a file made by save_model(), or a name of models_list()
    """

    def __init__(self, *, file: str, problem: str, remedy: str) -> None:
        self.file, self.problem = file, name_options(problem)
        self.remedy = name_options(find_remedy(problem, usual=remedy))
        shown = file if file.isprintable() else repr(file)  # a name may have several lines
        place = "standard input" if file == "-" else shown
        super().__init__(f"{place}: {problem}; {self.remedy}")


class CaptureError(InputFileError):
    """A capture file that cannot be read at all.

    Example:
        >>> import pathlib, trafficgen
        >>> _ = pathlib.Path("photo.pcap").write_bytes(bytes(100))
        >>> try:
        ...     trafficgen.inspect("photo.pcap")
        ... except trafficgen.CaptureError as error:
        ...     print(error.problem)
        is not a pcap or pcapng file: it begins with the bytes 00 00 00 00
    """


class PacketTableError(InputFileError):
    r"""A packet table, or trace of another tool, that lacks columns or has impossible values.

    Example:
        >>> import pathlib, trafficgen
        >>> _ = pathlib.Path("odd.csv").write_text("colour,shape\nred,round\n")
        >>> try:
        ...     trafficgen.read_packets("odd.csv")
        ... except trafficgen.PacketTableError as error:
        ...     print(error.problem)
        line 1: no columns of a time and a size among colour, shape
    """


class PlayerLogError(InputFileError):
    """A player log without entries or with impossible values.

    Example:
        >>> import pathlib, trafficgen
        >>> _ = pathlib.Path("player.json").write_text("[]")
        >>> capture = "examples/captures/rtsp_rtp_two_streams.pcap.gz"
        >>> try:
        ...     trafficgen.fit(capture, player_log="player.json")
        ... except trafficgen.PlayerLogError as error:
        ...     print(error.problem, "|", error.remedy)
        has no entries | give a CSV or JSON with time_s or unix_time_s and any of buffer_s,
        position_s, level_kbps, ...
    """


class ModelFileError(InputFileError):
    """A model file that is not valid JSON, has unknown keys or values out of range.

    Example:
        >>> import pathlib, trafficgen
        >>> _ = pathlib.Path("model.json").write_text('{"name": "unfinished"}')
        >>> try:
        ...     trafficgen.load_model("model.json")
        ... except trafficgen.ModelFileError as error:
        ...     print(error.problem, "|", error.remedy)
        provenance: it is missing (and 3 more: startup, playout, streams) | see models_schema() for
            what a model file may hold
    """


class WorkloadFileError(InputFileError):
    """A workload file, or a file it names: invalid YAML, unknown keys, values out of range.

    Example:
        >>> import pathlib, trafficgen
        >>> _ = pathlib.Path("evening.yaml").write_text("groups: [{model: cbr, duration: 180}]")
        >>> try:
        ...     trafficgen.load_workload("evening.yaml")
        ... except trafficgen.WorkloadFileError as error:
        ...     print(error.problem, "|", error.remedy)
        groups.0.duration: a time with its unit is needed | write for example 20min or
            exponential:20min
    """


class OutputFileError(InputFileError):
    """A file or folder that cannot be written.

    Example:
        >>> import trafficgen
        >>> try:
        ...     trafficgen.generate("cbr", "no-such-folder/cbr.pcap")
        ... except trafficgen.OutputFileError as error:
        ...     print(error.file, "|", error.remedy)
        no-such-folder/cbr.pcap | choose a folder that exists, is writable and has room
    """


class SelectionError(TrafficgenError):
    """A flow or session that the capture does not have.

    Attributes:
        what: The request, such as ``"flow 7"``.
        available: The flows or sessions that exist.

    Example:
        >>> import trafficgen
        >>> try:
        ...     trafficgen.fit("examples/captures/rtsp_rtp_two_streams.pcap.gz", flow=7)
        ... except trafficgen.SelectionError as error:
        ...     print(error.what, "|", error.available)
        flow 7 | there are flows 0, 1, 2
    """

    def __init__(self, *, what: str, available: str) -> None:
        self.what, self.available = what, name_options(available)
        super().__init__(f"there is no {what}; {available}")


class CalibrationError(TrafficgenError):
    """The data do not allow the fit.

    Example:
        >>> import trafficgen
        >>> _ = trafficgen.generate("cbr", "short.parquet", duration_s=0.02)
        >>> try:
        ...     trafficgen.fit("short.parquet")
        ... except trafficgen.CalibrationError as error:
        ...     print(str(error).partition(";")[0])
        short.parquet: too little media traffic for a model: 1 media packet
    """


class TooFewObservationsError(CalibrationError):
    """Fewer observations than the estimator needs.

    Attributes:
        what: What was to be estimated.
        required: Smallest number of observations.
        available: Number of observations found.

    ``message`` takes the place of the sentence made of them.

    Example:
        >>> import trafficgen
        >>> _ = trafficgen.generate("cbr", "short.parquet", duration_s=0.02)
        >>> try:
        ...     trafficgen.fit("short.parquet")
        ... except trafficgen.TooFewObservationsError as error:
        ...     print(error.what, "|", error.required, "needed,", error.available, "there")
        media packets at different times | 3 needed, 1 there
    """

    def __init__(
        self, *, what: str, required: int, available: int, message: str | None = None
    ) -> None:
        self.what, self.required, self.available = what, required, available
        super().__init__(
            message or f"{what}: {required} observations needed, {available} available"
        )


class SettingError(TrafficgenError):
    """An unknown option of a published model, or a value out of its range.

    Example:
        >>> import trafficgen
        >>> try:
        ...     trafficgen.generate("cbr", settings={"fps": 25})
        ... except trafficgen.SettingError as error:
        ...     print(error)
        cbr has no 'fps' to set; its options are rate_kbps, packet_bytes, duration_s
    """


class GenerationError(TrafficgenError):
    """The model cannot be played with these options.

    Example:
        >>> import trafficgen
        >>> try:
        ...     trafficgen.generate("cbr", compete="tcp@-10s")
        ... except trafficgen.GenerationError as error:
        ...     print(error)
        competing flows need a path to compete on; add path=...
    """


class SimulationError(TrafficgenError):
    """A path, a competing flow or a parameter of a source that cannot be simulated.

    Example:
        >>> import trafficgen
        >>> try:
        ...     trafficgen.simulate("cbr", path="rate=fast")
        ... except trafficgen.SimulationError as error:
        ...     print(error)
        path: rate=fast: not understood; write a number with its unit, such as 725kbps or 10Mbps
    """


class ExportError(TrafficgenError):
    """The target cannot express the traffic.

    Example:
        >>> import trafficgen
        >>> try:
        ...     trafficgen.generate("cbr", "packets.docx")
        ... except trafficgen.ExportError as error:
        ...     print(error)
        packets.docx: unknown ending '.docx'; use one of ...
    """


class ExploreError(TrafficgenError):
    """The local page cannot be served, or cannot do what was requested.

    Attributes:
        control: Name of the control concerned, if any.

    Example:
        >>> import trafficgen
        >>> try:
        ...     trafficgen.explore("cbr", port=70_000)
        ... except trafficgen.ExploreError as error:
        ...     print(error)
        invalid port 70000; use 0 (any free one) to 65535
    """

    def __init__(self, message: str, *, control: str | None = None) -> None:
        self.control = control
        super().__init__(message)


class TrafficgenWarning(UserWarning):
    """Base of all warnings: a doubtful but usable result.

    Example:
        >>> import warnings, trafficgen
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always", trafficgen.TrafficgenWarning)
        ...     table = trafficgen.read_packets("examples/captures/rtsp_rtp_two_streams.pcap.gz")
        >>> [type(warning.message).__name__ for warning in caught]
        ['CaptureWarning']
    """


def warn(text: str, kind: type[TrafficgenWarning]) -> None:
    """Warn at the line of the user that called trafficgen, however deep the reason lies."""
    level, frame = 1, sys._getframe()
    while frame.f_globals.get("__name__", "").startswith("trafficgen.") and frame.f_back:
        level, frame = level + 1, frame.f_back
    warnings.warn(name_options(text), kind, stacklevel=level)


class CaptureWarning(TrafficgenWarning):
    """A damaged, truncated or otherwise odd capture, read as far as possible.

    Example:
        >>> import warnings, trafficgen
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", trafficgen.CaptureWarning)
        ...     trafficgen.read_packets("examples/captures/rtsp_rtp_two_streams.pcap.gz")
        Traceback (most recent call last):
        trafficgen.errors.CaptureWarning: ...: 1,984 packets captured in part ...
    """


class SimulationWarning(TrafficgenWarning):
    """A simulation whose result rests on an assumption that the user should know.

    Example:
        >>> import warnings, trafficgen
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     result = trafficgen.simulate("cbr", path="rate=1Mbps,loss=100%", duration_s=5)
        >>> print(caught[0].message)
        no media packet reached the client, so that rates and delays are unknown
    """
