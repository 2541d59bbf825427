from os import PathLike
from typing import final

import numpy as np
import numpy.typing as npt

__all__ = ["CaptureWriter", "__version__"]

__version__: str

@final
class CaptureWriter:
    def __new__(
        cls,
        path: str | PathLike[str],
        flows: list[tuple[int | None, str, int, str, int, int, int]],
        *,
        pcapng: bool,
        origin_ns: int,
        snaplen_bytes: int,
        raise_small: bool,
    ) -> CaptureWriter: ...
    def write(
        self,
        *,
        time_ns: npt.NDArray[np.int64],
        flow: npt.NDArray[np.uint32],
        to_client: npt.NDArray[np.bool_],
        ip_bytes: npt.NDArray[np.uint32],
        payload_bytes: npt.NDArray[np.uint32],
        rtp_ssrc: tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_] | None] | None = None,
        rtp_sequence: tuple[npt.NDArray[np.uint16], npt.NDArray[np.bool_] | None] | None = None,
        rtp_timestamp: tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_] | None] | None = None,
        rtp_marker: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_] | None] | None = None,
        tcp_sequence: tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_] | None] | None = None,
        tcp_acknowledgement: tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_] | None] | None = None,
        tcp_flags: tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_] | None] | None = None,
        tcp_window: tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_] | None] | None = None,
    ) -> None: ...
    def finish(self) -> dict[str, int]: ...
