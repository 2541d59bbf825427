"""Places of blocks: files that are whole or not there, and places that are refused in a line."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from tests.cluster.played import Deadly

from trafficgen.errors import OutputFileError, SettingError, TrafficgenError
from trafficgen.generation.session import FlowRow
from trafficgen.workloads.blocks import RUN, Block, check_run, make_block
from trafficgen.workloads.run import work_folder
from trafficgen.workloads.storage import (
    Folder,
    RemoteFolder,
    Storage,
    check_deliverable,
    deliver,
    storage_at,
)


def wrote(content: bytes, *, then: Exception | None = None) -> object:
    def fill(file: pa.NativeFile) -> None:
        file.write(content)
        if then is not None:
            raise then

    return fill


def test_a_file_is_there_when_it_is_whole(tmp_path: Path) -> None:
    storage = Folder(tmp_path / "new")
    assert storage.sizes_bytes() == {}
    storage.begin()
    assert storage.write("one", wrote(b"abc")) == 3  # type: ignore[arg-type]
    with pytest.raises(RuntimeError):
        storage.write("two", wrote(b"abc", then=RuntimeError()))  # type: ignore[arg-type]
    assert storage.sizes_bytes() == {"one": 3}
    assert storage.read_all(["one", "two"]) == {"one": b"abc"}


def test_a_file_that_cannot_be_replaced_keeps_what_was_there(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    storage.write("one", wrote(b"abc"))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError):
        storage.write("one", wrote(b"other", then=RuntimeError()))  # type: ignore[arg-type]
    assert storage.read("one") == b"abc"


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    storage.write("one", wrote(b"abc"))  # type: ignore[arg-type]
    (tmp_path / ".two.0123.part").write_bytes(b"ab")
    storage.begin()
    assert storage.sizes_bytes() == {"one": 3}


@pytest.mark.parametrize(
    ("url", "storage"),
    [
        ("/folder/blocks", Folder(Path("/folder/blocks"))),
        ("file:///folder/my%20blocks", Folder(Path("/folder/my blocks"))),
        ("memory://bucket/blocks/", RemoteFolder("memory://bucket/blocks")),
    ],
)
def test_a_url_names_a_place(url: str, storage: object) -> None:
    found = storage_at(url)
    assert found == storage
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nowhere://host/folder", "Protocol not known: nowhere; use file://, s3://"),
        ("file://host/folder", "a file URL names no machine"),
    ],
)
def test_a_url_that_names_none_is_refused(url: str, said: str) -> None:
    with pytest.raises(SettingError, match=said) as error:
        storage_at(url)
    assert str(error.value).startswith(url)


def test_a_missing_library_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(
        TrafficgenError, match=r"fsspec is not installed; run: pip install .*cluster"
    ):
        storage_at("s3://bucket")


def test_a_missing_package_of_a_protocol_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(SettingError, match=r"s3://bucket: .*s3fs"):
        storage_at("s3://bucket")


def test_a_place_that_cannot_be_reached_is_reported_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputFileError, match=r"blocks: cannot be reached") as error:
        storage_at(f"local://{tmp_path}/file/blocks").begin()
    assert "\n" not in str(error.value)


def test_a_bucket_that_does_not_exist_is_refused() -> None:
    with pytest.raises(OutputFileError, match="'missing' does not exist; make it first"):
        check_deliverable("memory://missing/out.csv")


@pytest.mark.parametrize("kind", ["folder", "remote"])
def test_files_are_written_listed_read_and_removed(kind: str, tmp_path: Path) -> None:
    url = str(tmp_path / "blocks") if kind == "folder" else f"memory://{tmp_path}"
    storage: Storage = storage_at(url)
    assert storage.sizes_bytes() == {}
    storage.begin()
    storage.begin()
    for name in ("one", "two"):
        assert storage.write(name, wrote(name.encode())) == 3  # type: ignore[arg-type]
    assert storage.sizes_bytes() == {"one": 3, "two": 3}
    assert storage.read("one") == b"one"
    assert storage.read_all(["two", "three"]) == {"two": b"two"}
    with storage.fetch("two", tmp_path) as path:
        assert path.read_bytes() == b"two"
    storage.remove("two")
    storage.remove("two")
    with pytest.raises(FileNotFoundError):
        storage.read("two")
    storage.remove_all()
    assert storage.sizes_bytes() == {}
    storage.remove_all()


def test_who_works_for_a_run_that_is_over_leaves_nothing(tmp_path: Path) -> None:
    storage = Folder(tmp_path / "blocks")
    storage.begin()
    storage.write(RUN, lambda file: file.write(b"run"))

    class Ending(Deadly):
        def block(self, first: int, count: int) -> tuple[list[pa.Table], list[FlowRow]]:
            storage.remove_all()
            return super().block(first, count)

    with pytest.raises(OutputFileError, match="does not exist, seen from"):
        make_block(Ending(), Block(0, 0, 1), storage, run="run")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_a_worker_that_does_not_see_the_place_says_so(tmp_path: Path) -> None:
    storage = Folder(tmp_path / "of another machine")
    with pytest.raises(OutputFileError, match=r"does not exist, seen from .*storage="):
        check_run(storage, "run")


def test_an_output_elsewhere_has_its_work_folder_among_temporary_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    one, other = work_folder("s3://bucket/day.parquet"), work_folder("s3://other/day.parquet")
    assert one.parent == other.parent == tmp_path
    assert one != other
    assert work_folder("file:///data/day.parquet") == Path("/data/.day.parquet.work")


def test_an_output_here_is_written_where_it_is_to_be(tmp_path: Path) -> None:
    with deliver(f"file://{tmp_path}/day.csv") as path:
        assert path == tmp_path / "day.csv"
