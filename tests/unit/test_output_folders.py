from __future__ import annotations

import os
from pathlib import Path

import pytest

from trafficgen.errors import OutputFileError
from trafficgen.output_folders import whole_directory, whole_folder


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


def test_what_an_earlier_output_left_is_removed_when_it_is_not_written_again(
    tmp_path: Path,
) -> None:
    for name in ("again", "gone", "other"):
        (tmp_path / name).write_text("old")
    with whole_folder(tmp_path, earlier=["again", "gone", "never there"]) as staging:
        (staging / "again").write_text("new")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "again": "new",
        "other": "old",
    }


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


def test_a_file_of_the_folder_that_cannot_be_written_is_told_of_as_the_folder(
    tmp_path: Path,
) -> None:
    with (
        pytest.raises(OutputFileError, match=r"/out: cannot be written \(No space") as caught,
        whole_folder(tmp_path / "out") as staging,
    ):
        raise OutputFileError(
            file=str(staging / "x"), problem="cannot be written (No space)", remedy="no"
        )
    assert ".part" not in str(caught.value)


def test_a_new_folder_gets_its_name_with_all_its_files(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "out") as staging:
        (staging / "file").write_text("new")
        assert not (tmp_path / "out").exists()
        assert staging.parent == tmp_path
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have outputs that exist kept, as commands do without ``--force``."""
    monkeypatch.setattr("trafficgen.output_folders.existing_kept", lambda: True)


@pytest.mark.usefixtures("kept")
def test_an_earlier_output_is_kept_unless_a_run_that_was_killed_left_it_half_moved(
    dead_process: str, tmp_path: Path
) -> None:
    def put() -> None:
        with whole_folder(tmp_path, earlier=["list", "file"], list_file="list") as staging:
            (staging / "list").write_text("new")
            (staging / "file").write_text("new")

    (tmp_path / "list").write_text("old")
    with pytest.raises(OutputFileError, match="has an earlier output in it; give --force"):
        put()
    moving = tmp_path / f".trafficgen.{dead_process}.moving"
    moving.mkdir()
    (moving / "file").write_text("old")
    put()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "list": "new",
        "file": "new",
    }


def test_the_list_of_the_files_is_moved_before_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = []
    replace = Path.replace

    def watch(part: Path, target: Path) -> Path:
        moved.append(target.name)
        return replace(part, target)

    monkeypatch.setattr(Path, "replace", watch)
    with whole_folder(tmp_path, list_file="list") as staging:
        for name in ("a", "list", "z"):
            (staging / name).write_text("new")
    assert moved == ["list", "a", "z"]


def _is_earlier(folder: Path) -> bool:
    return (folder / "mark").exists()


def test_a_directory_is_replaced_as_a_whole(tmp_path: Path) -> None:
    for text in ("old", "new"):
        with whole_directory(tmp_path / "out", is_earlier=_is_earlier) as staging:
            (staging / "mark").write_text(text)
            (staging / text).write_text(text)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"mark", "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.usefixtures("kept")
def test_a_directory_that_exists_is_kept_and_an_empty_one_filled(tmp_path: Path) -> None:
    def put() -> None:
        with whole_directory(tmp_path / "out", is_earlier=_is_earlier) as staging:
            (staging / "mark").write_text("new")

    (tmp_path / "out").mkdir()
    put()
    with pytest.raises(OutputFileError, match="out: exists already; give --force"):
        put()


def test_what_was_set_aside_by_a_run_that_was_killed_comes_back(
    dead_process: str, tmp_path: Path
) -> None:
    old = tmp_path / f".out.{dead_process}.old"
    old.mkdir()
    (old / "mark").write_text("old")

    def fail() -> None:
        with whole_directory(tmp_path / "out", is_earlier=_is_earlier):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert (tmp_path / "out" / "mark").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("name", ["two\nlines", os.fsdecode(b"\xff\xfe"), "x" * 255, "[a]*?"])
def test_a_folder_may_have_any_name_that_the_system_takes(name: str, tmp_path: Path) -> None:
    for _ in range(2):
        with whole_folder(tmp_path / name, earlier=["file"]) as staging:
            (staging / "file").write_text("new")
        with whole_directory(tmp_path / name / name, is_earlier=_is_earlier) as staging:
            (staging / "mark").write_text("new")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert {path.name for path in (tmp_path / name).iterdir()} == {"file", name}


def test_a_link_to_a_directory_stays(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to("far")
    with whole_directory(tmp_path / "link", is_earlier=_is_earlier) as staging:
        (staging / "mark").write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert [path.name for path in (tmp_path / "far").iterdir()] == ["mark"]
