from __future__ import annotations

from pathlib import Path

import pytest

from trafficgen.errors import OutputFileError
from trafficgen.output_files import whole_files, whole_folder


def test_a_failure_before_the_end_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_text("old")

    def fail_half_way() -> None:
        with whole_files([path]) as [part]:
            part.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_half_way()
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["kept"]


def test_a_folder_is_made_with_what_was_put_into_it_and_keeps_what_it_had(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    for text in ("first", "second"):
        with whole_folder(folder, earlier=["both"]) as staging:
            (staging / text).write_text(text)
            (staging / "both").write_text(text)
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "first": "first",
        "second": "second",
        "both": "second",
    }


def test_what_an_earlier_output_left_is_removed_when_it_is_not_written_again(tmp_path: Path) -> None:
    for name in ("again", "gone", "other"):
        (tmp_path / name).write_text("old")
    with whole_folder(tmp_path, earlier=["again", "gone", "never there"]) as staging:
        (staging / "again").write_text("new")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"again": "new", "other": "old"}


def test_files_of_others_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("old")

    def put() -> None:
        with whole_folder(tmp_path, earlier=["a"]) as staging:
            (staging / "a").write_text("new")
            (staging / "b").write_text("new")

    with pytest.raises(OutputFileError, match=r"/b: would be overwritten"):
        put()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"b": "old"}


def test_a_failure_leaves_neither_files_nor_new_folders(tmp_path: Path) -> None:
    def fail_half_way() -> None:
        with whole_folder(tmp_path / "a" / "b") as staging:
            (staging / "half").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_half_way()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(OutputFileError, match=r"file/out: cannot be written \(Not a directory\)"),
        whole_folder(tmp_path / "file" / "out"),
    ):
        pass


def test_a_folder_with_too_long_a_name_leaves_none_of_those_above_it(tmp_path: Path) -> None:
    with (
        pytest.raises(OutputFileError, match="File name too long"),
        whole_folder(tmp_path / "a" / "b" / ("x" * 300)),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_the_place_of_a_file_is_named_and_nothing_is_moved(tmp_path: Path) -> None:
    (tmp_path / "out" / "second").mkdir(parents=True)
    (tmp_path / "out" / "first").write_text("old")

    def put() -> None:
        with whole_folder(tmp_path / "out", earlier=["first"]) as staging:
            for name in ("a", "first", "second"):
                (staging / name).write_text("new")

    with pytest.raises(OutputFileError, match=r"out/second: cannot be written \(it is a folder\)"):
        put()
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"first", "second"}
    assert (tmp_path / "out" / "first").read_text() == "old"


def test_a_file_of_the_folder_that_cannot_be_written_is_told_of_as_the_folder(tmp_path: Path) -> None:
    with (
        pytest.raises(OutputFileError, match=r"/out: cannot be written \(No space") as caught,
        whole_folder(tmp_path / "out") as staging,
    ):
        raise OutputFileError(file=str(staging / "x"), problem="cannot be written (No space)", remedy="no")
    assert ".part" not in str(caught.value)
