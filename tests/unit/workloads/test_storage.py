"""Places of blocks: files that are whole or not there, and places that are refused in a line."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from tests.cluster.played import Deadly

from trafficgen.errors import OutputFileError, SettingError
from trafficgen.generation.session import FlowRow
from trafficgen.workloads.blocks import RUN, Block, check_wanted, make_block
from trafficgen.workloads.delivery import delivered
from trafficgen.workloads.making import work_folder
from trafficgen.workloads.storage import Bucket, Folder, check_reachable, storage_at


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
        ("s3://bucket/blocks/", Bucket("s3://bucket/blocks")),
    ],
)
def test_a_url_names_a_place(url: str, storage: object) -> None:
    found = storage_at(url)
    assert found == storage
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://host/folder", "not a place that is known; use file://, s3://, gs:// or a folder"),
        ("s3:///folder", "lacks the name of a bucket; write s3://BUCKET/FOLDER"),
        ("file://host/folder", "a file has no machine in its URL"),
    ],
)
def test_a_url_that_names_none_is_refused(url: str, said: str) -> None:
    with pytest.raises(SettingError, match=said) as error:
        storage_at(url)
    assert str(error.value).startswith(url)


def test_a_library_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(
        SettingError, match=r"s3fs is not installed \(fsspec\); pip install 'trafficgen-streaming"
    ):
        storage_at("s3://bucket")


def test_a_server_that_does_not_answer_is_said_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "tests")
    import s3fs  # noqa: PLC0415

    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(OutputFileError, match=r"s3://bucket/out\.csv: cannot be reached") as error:
        check_reachable("s3://bucket/out.csv")
    assert "\n" not in str(error.value)
    s3fs.S3FileSystem.clear_instance_cache()


def test_who_works_for_a_run_that_is_over_leaves_nothing(tmp_path: Path) -> None:
    storage = Folder(tmp_path / "blocks")
    storage.begin()
    storage.write(RUN, lambda file: file.write(b"run"))

    class Ending(Deadly):
        def block(self, first: int, count: int) -> tuple[list[pa.Table], list[FlowRow]]:
            storage.remove_all()
            return super().block(first, count)

    with pytest.raises(OutputFileError, match="is not there"):
        make_block(Ending(), Block(0, 0, 1), storage, run="run")
    assert not list(tmp_path.iterdir())


def test_a_worker_that_does_not_see_the_place_says_so(tmp_path: Path) -> None:
    storage = Folder(tmp_path / "of another machine")
    with pytest.raises(OutputFileError, match=r"is not there, seen from .*--storage"):
        check_wanted(storage, "run")


def test_an_output_elsewhere_has_its_work_folder_among_temporary_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    one, other = work_folder("s3://bucket/day.parquet"), work_folder("s3://other/day.parquet")
    assert one.parent == other.parent == tmp_path
    assert one != other
    assert work_folder("file:///data/day.parquet") == Path("/data/.day.parquet.work")


def test_an_output_here_is_written_where_it_is_to_be(tmp_path: Path) -> None:
    with delivered(f"file://{tmp_path}/day.csv") as path:
        assert path == tmp_path / "day.csv"
