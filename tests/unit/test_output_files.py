"""Outputs appear whole or not at all, and devices and links are left what they are."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from trafficgen.errors import OutputFileError
from trafficgen.output_files import whole_files


def test_a_failure_leaves_the_old_file_and_no_part(tmp_path: Path) -> None:
    path = tmp_path / "out.bin"
    path.write_text("old")

    def fail_half_way() -> None:
        with whole_files([path]) as [part]:
            part.write_text("half")
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["out.bin"]


def test_a_link_stays_a_link_and_its_target_is_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with whole_files([link]) as [part]:
        part.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_pipe_is_written_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    with whole_files([pipe]) as [part]:
        part.write_text("through")
    reader.join(timeout=10)
    assert read == ["through"]
    assert pipe.is_fifo()


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputFileError, match="it is a folder"), whole_files([tmp_path]):
        pass
    assert list(tmp_path.iterdir()) == []
