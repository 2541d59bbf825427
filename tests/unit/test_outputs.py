from __future__ import annotations

import errno
import os
import shutil
import signal
import threading
from collections.abc import Callable
from contextvars import copy_context
from pathlib import Path

import pytest

from trafficgen.errors import OutputFileError
from trafficgen.interruptions import clean_up
from trafficgen.outputs import check_files, keep_existing, whole_files, whole_folder


def put(*paths: Path, text: str = "new", then: Callable[[], object] = lambda: None) -> None:
    """Write files, and have something happen before they get their names."""
    with whole_files(paths) as parts:
        for part in parts:
            part.write_text(text)
        then()


def interrupted() -> None:
    raise KeyboardInterrupt


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have outputs that exist kept, as commands do without ``--force``."""
    monkeypatch.setattr("trafficgen.outputs.existing_kept", lambda: True)


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
    assert names(tmp_path) == ["kept"]


def test_existing_files_are_replaced_unless_they_are_to_be_kept(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")

    def refuse() -> None:
        keep_existing()
        with pytest.raises(OutputFileError, match="out: exists already; give another name"):
            put(path)

    copy_context().run(refuse)
    assert path.read_text() == "old"
    put(path)
    assert path.read_text() == "new"
    assert names(tmp_path) == ["out"]


@pytest.mark.usefixtures("kept")
def test_a_file_that_comes_meanwhile_is_kept_too(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(OutputFileError, match="exists already"):
        put(path, then=lambda: path.write_text("of someone else"))
    assert path.read_text() == "of someone else"
    assert names(tmp_path) == ["out"]


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    put(link)
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert names(tmp_path / "far") == ["target"]


@pytest.mark.usefixtures("kept")
def test_a_link_to_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(OutputFileError, match="link: exists already"):
        put(tmp_path / "link")
    assert names(tmp_path) == ["link"]


def test_a_link_to_nothing_has_its_target_made(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    put(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


@pytest.mark.usefixtures("kept")
def test_a_link_to_a_kept_file_is_refused_as_the_file_is(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    with pytest.raises(OutputFileError, match="link: exists already"):
        put(tmp_path / "link")


@pytest.mark.parametrize("targets", [["a"], ["b", "a"]])
def test_links_that_lead_to_themselves_are_refused(targets: list[str], tmp_path: Path) -> None:
    for name, target in zip(("a", "b"), targets, strict=False):
        (tmp_path / name).symlink_to(target)
    with pytest.raises(
        OutputFileError, match=r"a: cannot be written \(Too many levels of symbolic links"
    ):
        put(tmp_path / "a")


def test_folders_and_links_to_them_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    for name in ("folder", "link"):
        with pytest.raises(OutputFileError, match=rf"{name}: cannot be written \(it is a folder\)"):
            put(tmp_path / name)


def test_other_names_of_a_file_keep_the_old_content(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("old")
    (tmp_path / "other").hardlink_to(tmp_path / "out")
    put(tmp_path / "out")
    assert ((tmp_path / "out").read_text(), (tmp_path / "other").read_text()) == ("new", "old")


def test_the_permissions_of_a_file_that_is_replaced_stay(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("old")
    path.chmod(0o600)
    put(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_nobody_may_write_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "protected"
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(
        OutputFileError, match=r"protected: is read-only; make it writable \(chmod u\+w\)"
    ):
        put(path)
    assert path.read_text() == "old"


@pytest.mark.usefixtures("kept")
def test_a_pipe_is_written_as_it_is_and_never_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to("pipe")
    got: list[str] = []
    for path in (pipe, tmp_path / "link"):
        reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
        reader.start()
        put(path)
        reader.join()
    assert got == ["new", "new"]
    assert names(tmp_path) == ["link", "pipe"]
    assert pipe.is_fifo()


@pytest.mark.usefixtures("kept")
def test_devices_and_descriptors_are_written_as_they_are(tmp_path: Path) -> None:
    put(Path("/dev/null"))
    with (tmp_path / "redirected").open("w") as file:
        link = tmp_path / "link"
        link.symlink_to(f"/dev/fd/{file.fileno()}")
        given = [Path(f"/dev/fd/{file.fileno()}"), Path(f"/proc/self/fd/{file.fileno()}")]
        for path in (*given, link):
            put(path, text=f"{path}\n")
    lines = (tmp_path / "redirected").read_text().splitlines()
    assert lines == [str(path) for path in (*given, link)]
    assert names(tmp_path) == ["link", "redirected"]


def test_a_descriptor_gets_the_output_at_its_position(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("kept\n")
    with log.open("a") as file:
        path, link = Path(f"/dev/fd/{file.fileno()}"), tmp_path / "link"
        (tmp_path / "first").symlink_to(path)
        link.symlink_to("first")
        put(path, text="first\n")
        with pytest.raises(KeyboardInterrupt):
            put(path, text="half", then=interrupted)
        put(link, text="second\n")
    assert log.read_text() == "kept\nfirst\nsecond\n"
    assert names(tmp_path) == ["first", "link", "log"]


def test_a_reader_that_goes_away_is_told_in_the_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        with pytest.raises(OutputFileError, match=rf"/dev/fd/{writing}: cannot be written"):
            put(Path(f"/dev/fd/{writing}"), then=lambda: os.write(writing, b"nobody reads it"))
    finally:
        os.close(writing)


@pytest.mark.parametrize(
    "name", ["two\nlines", os.fsdecode(b"\xff\xfe"), "x" * 255, "ü" * 127, "[a]*?", " ", "-"]
)
def test_any_name_that_the_system_takes_can_be_written(
    name: str, dead_process: str, tmp_path: Path
) -> None:
    with whole_files([tmp_path / name]) as [part]:
        part.write_text("new")
        beginning = part.name.removesuffix(f"{os.getpid()}.part")
        (tmp_path / f"{beginning}{dead_process}.part").write_text("of a run that was killed")
    assert names(tmp_path) == [name]
    put(tmp_path / name, text="newer")
    assert names(tmp_path) == [name]
    assert (tmp_path / name).read_text() == "newer"


def test_a_name_that_is_too_long_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(OutputFileError, match="File name too long"):
        check_files([tmp_path / ("x" * 256)])


def test_a_folder_that_vanishes_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    with pytest.raises(OutputFileError, match=r"gone/out: cannot be written \(No such file"):
        put(folder / "out", then=lambda: shutil.rmtree(folder))
    assert names(tmp_path) == []


def test_an_output_never_stands_without_the_file_that_belongs_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, beside = tmp_path / "out", tmp_path / "out.beside"
    put(out, beside, text="old")
    seen = []
    replace = Path.replace

    def watch(part: Path, target: Path) -> Path:
        seen.append((out.exists(), beside.read_text()))
        return replace(part, target)

    monkeypatch.setattr(Path, "replace", watch)
    put(out, beside)
    assert seen == [(False, "old"), (False, "new")]
    assert (out.read_text(), beside.read_text()) == ("new", "new")


def test_data_is_on_the_disk_before_it_has_its_name_and_the_name_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []

    def sync(number: int) -> None:
        synced.append((Path(f"/proc/self/fd/{number}").readlink().name, names(tmp_path)))

    monkeypatch.setattr(os, "fsync", sync)
    put(tmp_path / "out")
    part = f".out.{os.getpid()}.part"
    assert synced == [(part, [part]), (tmp_path.name, ["out"])]


@pytest.mark.parametrize(
    ("number", "refused"), [(errno.EINVAL, False), (errno.EIO, True), (errno.ENOSPC, True)]
)
def test_a_disk_that_cannot_sync_is_used_and_one_that_fails_is_told_of(
    number: int, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sync(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", sync)
    if refused:
        with pytest.raises(OutputFileError, match=os.strerror(number)):
            put(tmp_path / "out")
    else:
        put(tmp_path / "out")
    assert names(tmp_path) == ([] if refused else ["out"])


def test_an_interrupt_that_comes_while_names_change_waits_for_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupted(part: Path, target: Path) -> Path:
        signal.raise_signal(signal.SIGINT)
        return replace(part, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            put(tmp_path / "out", tmp_path / "out.beside")
    finally:
        signal.signal(signal.SIGINT, before)
    assert names(tmp_path) == ["out", "out.beside"]


def test_what_an_interrupted_cleaning_leaves_is_cleaned_at_the_end(tmp_path: Path) -> None:
    opened = whole_files([tmp_path / "out"])
    [part] = opened.__enter__()
    part.write_text("half")
    clean_up()
    assert names(tmp_path) == []
    assert opened.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None) is False


def test_a_folder_is_made_with_what_was_put_into_it_and_keeps_what_it_had(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    for text in ("first", "second"):
        with whole_folder(folder, earlier={"both": None}) as staging:
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
    with whole_folder(tmp_path, earlier=dict.fromkeys(["again", "gone", "never there"])) as staging:
        (staging / "again").write_text("new")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "again": "new",
        "other": "old",
    }


def test_files_of_others_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("old")

    def put() -> None:
        with whole_folder(tmp_path, earlier={"a": None}) as staging:
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
        with whole_folder(tmp_path / "out", earlier={"first": None}) as staging:
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
        with whole_folder(tmp_path / "out", is_earlier=_is_earlier) as staging:
            (staging / "mark").write_text(text)
            (staging / text).write_text(text)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"mark", "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.usefixtures("kept")
def test_a_directory_that_exists_is_kept_and_an_empty_one_filled(tmp_path: Path) -> None:
    def put() -> None:
        with whole_folder(tmp_path / "out", is_earlier=_is_earlier) as staging:
            (staging / "mark").write_text("new")

    (tmp_path / "out").mkdir()
    put()
    with pytest.raises(OutputFileError, match="out: exists already; give another name"):
        put()


@pytest.mark.parametrize("name", ["two\nlines", os.fsdecode(b"\xff\xfe"), "x" * 255, "[a]*?"])
def test_a_folder_may_have_any_name_that_the_system_takes(name: str, tmp_path: Path) -> None:
    for _ in range(2):
        with whole_folder(tmp_path / name, earlier={"file": None}) as staging:
            (staging / "file").write_text("new")
        with whole_folder(tmp_path / name / name, is_earlier=_is_earlier) as staging:
            (staging / "mark").write_text("new")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert {path.name for path in (tmp_path / name).iterdir()} == {"file", name}


def test_a_link_to_a_directory_stays(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to("far")
    with whole_folder(tmp_path / "link", is_earlier=_is_earlier) as staging:
        (staging / "mark").write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert [path.name for path in (tmp_path / "far").iterdir()] == ["mark"]
