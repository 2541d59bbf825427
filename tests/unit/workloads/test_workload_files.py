"""A workload file is read as it is meant, and what is wrong with it is told with the key and a
remedy.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest
from tests.unit.workloads.conftest import Load

from trafficgen.errors import GenerationError, ModelFileError, SettingError, WorkloadFileError
from trafficgen.generation.arrivals import ListedArrivals, PoissonArrivals
from trafficgen.generation.intensities import FlashCrowd, HourlyIntensity, ListedIntensity
from trafficgen.models import Model, read_model
from trafficgen.models.published import load_entry
from trafficgen.workloads.description import WorkloadDescription
from trafficgen.workloads.files import (
    description_of,
    is_workload_file,
    load_playable,
    load_workload,
)
from trafficgen.workloads.options import WorkloadOptions
from trafficgen.workloads.sessions import (
    choose_sessions,
    parse_arrivals,
    parse_popularity,
    plan_model,
    sessions_of_workload,
)

GROUP = "groups: [{model: udp.json}]\n"
HOURS = [2, 1, 1, 1, 1, 1, 2, 4, 6, 6, 5, 5, 6, 6, 5, 5, 6, 8, 10, 12, 13, 11, 8, 4]


def intensity_of(load: Load, arrivals: object) -> Any:
    found = load(f"sessions: 1\narrivals: {arrivals}\n{GROUP}").arrivals
    assert isinstance(found, PoissonArrivals)
    return found.intensity


def test_a_flash_crowd_is_read_from_its_short_and_its_long_form(load: Load) -> None:
    wanted = FlashCrowd(base_per_s=0.5, start_s=600.0, rise_s=60.0, peak_factor=20.0, decay_s=300.0)
    short = "flash:base=30/min,start=10min,rise=1min,peak=20,decay=5min"
    long = "{flash: {base: 0.5/s, start: 600s, rise: 60s, peak: 20, decay: 300s}}"
    assert intensity_of(load, short) == intensity_of(load, long) == wanted


def test_hours_are_read_as_rates_or_in_proportion(load: Load, folder: Path) -> None:
    rates = [f"{hour}/h" for hour in HOURS]
    wanted = HourlyIntensity(tuple(hour / 3600 for hour in HOURS), begins_s=18 * 3600.0)
    assert intensity_of(load, {"hourly": {"hours": rates, "begins": "18h"}}) == wanted
    mean = f"{sum(HOURS) / 24}/h"
    (folder / "hours.txt").write_text("# share\n" + "\n".join(map(str, HOURS)), encoding="utf-8")
    for hours in (HOURS, "hours.txt"):
        found = intensity_of(load, {"hourly": {"hours": hours, "rate": mean, "begins": "18h"}})
        np.testing.assert_allclose(found.rates_per_s, wanted.rates_per_s)
    assert intensity_of(load, f"hourly:hours.txt,rate={mean},begins=18h").begins_s == 18 * 3600.0


def test_rates_are_read_from_a_file_with_times(load: Load, folder: Path) -> None:
    (folder / "ramp.csv").write_text("time_s,rate_per_s\n0,0\n60,12\n", encoding="utf-8")
    assert intensity_of(load, "rates:ramp.csv") == ListedIntensity((0.0, 60.0), (0.0, 12.0))
    found = intensity_of(load, {"rates": {"name": "ramp.csv", "scale": 0.5}})
    assert found == ListedIntensity((0.0, 60.0), (0.0, 6.0))
    (folder / "wrong.csv").write_text("time_s,rate\n0,0\n", encoding="utf-8")
    with pytest.raises(WorkloadFileError, match="no column 'rate_per_s'"):
        intensity_of(load, "rates:wrong.csv")


@pytest.mark.parametrize(
    ("name", "column", "write"),
    [
        ("starts.txt", None, lambda path: path.write_text("2.5\n\n# noon\n0.5\n1e1\n")),
        ("starts.csv", None, lambda path: path.write_text("who,start_s\na,2.5\nb,0.5\nc,10\n")),
        (
            "starts.csv",
            "begin",
            lambda path: path.write_text("begin,start_s\n2.5,0\n0.5,0\n10,0\n"),
        ),
        ("starts.csv", None, lambda path: path.write_text("seconds\n2.5\n0.5\n10\n")),
        (
            "starts.parquet",
            None,
            lambda path: pq.write_table(
                pa.table({"who": [1, 2, 3], "time_s": [2.5, 0.5, 10]}), path
            ),
        ),
        (
            "starts.parquet",
            "t",
            lambda path: pq.write_table(pa.table({"t": [2.5, 0.5, 10], "time_s": [1, 2, 3]}), path),
        ),
    ],
)
def test_starts_are_read_from_a_file_and_put_in_order(
    load: Load, folder: Path, name: str, column: str | None, write: Callable[[Path], object]
) -> None:
    write(folder / name)
    short = f"file:{name}" + ("" if column is None else f",column={column}")
    arrivals = load(f"arrivals: {short}\n{GROUP}").arrivals
    assert isinstance(arrivals, ListedArrivals)
    assert list(arrivals.times_s) == [0.5, 2.5, 10.0]


@pytest.mark.parametrize(
    ("text", "mean", "probability_below"),
    [
        ("180s", 180.0, (179.0, 0.0)),
        ("{fixed: 3min}", 180.0, (179.0, 0.0)),
        ("exponential:3min", 180.0, (180.0, 1 - np.exp(-1))),
        ("{lognormal: {median: 180s, sigma: 0.5}}", 180 * np.exp(0.125), (180.0, 0.5)),
        ("uniform:1min,high=3min", 120.0, (90.0, 0.25)),
        ("{table: {values: [1min, 3min], weights: [3, 1]}}", 90.0, (100.0, 0.75)),
        ("{table: {file: lengths.txt}}", 3.0, (2.0, 0.5)),
        ("{table: {file: lengths.txt}, most: 3s}", 2.0, (2.0, 2 / 3)),
        ("{uniform: {low: 0s, high: 10s}, least: 5s}", 7.5, (7.5, 0.5)),
    ],
)
def test_laws_are_those_that_the_file_names(
    load: Load, folder: Path, text: str, mean: float, probability_below: tuple[float, float]
) -> None:
    (folder / "lengths.txt").write_text("1\n2\n3\n6\n", encoding="utf-8")
    (group,) = load(f"sessions: 1\nduration: {text}\n{GROUP}").groups
    assert group.duration is not None
    assert group.duration.mean == pytest.approx(mean)
    value, probability = probability_below
    assert float(group.duration.cdf(value)) == pytest.approx(probability)


def test_what_the_workload_says_holds_for_groups_that_say_nothing(load: Load) -> None:
    text = """
sessions: 1
duration: 10s
departures: {share: 20%}
clips: {popularity: "zipf:0.8,clips=7"}
groups:
- {model: realplayer8_chung2002, share: 0.2}
- model: realplayer8_chung2002(clip=12)
  share: 0.2
  duration: 20s
  departures: {share: 0.5, watched: 0.5}
- {model: realvideo10_boyden2005(encoding_rate_kbps=256), clips: {count: 3, length: 1min}}
"""
    first, second, third = load(text).groups
    assert first.duration is not None
    assert second.duration is not None
    assert (first.duration.mean, second.duration.mean) == (10.0, 20.0)
    assert first.departures is not None
    assert second.departures is not None
    assert (first.departures.share, second.departures.share) == (0.2, 0.5)
    assert first.clips is not None
    assert first.clips.popularity.weights.size == 7
    assert second.clips is None  # its clip is chosen
    assert third.clips is not None
    assert third.clips.popularity.weights.size == 3
    assert [group.share for group in (first, second, third)] == pytest.approx([0.2, 0.2, 0.6])


REFUSED = [
    ("{}", "groups: it is missing"),
    ("[1]", "holds no keys"),
    ("groups: []", "at least 1 item"),
    ("groups: [{}]", r"groups\.0\.model: it is missing"),
    (
        "groups: [{model: cbr, shar: 0.1}]",
        r"groups\.0\.shar: unknown key \(did you mean share\?\); keys there are name, model, share",
    ),
    (
        "groups: [{name: a, model: cbr}, {name: radio, model: cbr, shar: 0.1}]",
        r"groups\.radio\.shar: unknown key \(did you mean share\?\)",
    ),
    (
        "session: 5\n" + GROUP,
        r"session: unknown key \(did you mean sessions\?\); keys there are .*sessions, for",
    ),
    (
        "groups: [{model: cbr, duration: {exponential: {median: 3s}}}]",
        r"exponential\.median: unknown key \(did you mean mean\?\); missing: .*\.mean",
    ),
    ("schema_version: '2'\n" + GROUP, "schema_version is '2'"),
    ("for: 24\n" + GROUP, "for: '24' is not understood; write a time"),
    ("for: -1h\n" + GROUP, "negative"),
    ("sessions: 0\n" + GROUP, "sessions: .*greater than or equal to 1"),
    ("sessions: 1000000000\n" + GROUP, "sessions: .*less than or equal to 100000000"),
    (
        "arrivals: poisson:0.5\n" + GROUP,
        "arrivals.*'0.5' is not understood; write sessions in a time",
    ),
    ("arrivals: poisson:0/s\n" + GROUP, "arrivals.poisson: the arrival rate must be positive"),
    (
        "arrivals: poissn:0.5/s\n" + GROUP,
        "unknown arrival process 'poissn' .did you mean poisson.*use together, poisson",
    ),
    ("arrivals: {poisson: 1/s, together: {}}\n" + GROUP, "exclude each other"),
    ("arrivals: {}\n" + GROUP, "no kind is given"),
    ("arrivals: {hourly: [1, 2]}\n" + GROUP, "a day has 24 hours, and there are 2"),
    (f"arrivals: {{hourly: {[0] * 24}}}\n" + GROUP, "no hour has a session"),
    (f"arrivals: {{hourly: {{hours: {['1/h'] * 24}, rate: 3/h}}}}\n" + GROUP, "leave rate out"),
    (
        f"arrivals: {{hourly: {{hours: {[1] * 24}, rate: 3/h, begins: 25h}}}}\n" + GROUP,
        "within a day",
    ),
    (
        "arrivals: flash:1/s,start=1s,peak=0.5,decay=1s\n" + GROUP,
        "peak: .*greater than or equal to 1",
    ),
    ("arrivals: flash:1/s,start=1s,start=2s\n" + GROUP, "start is given twice"),
    ("arrivals: file:none.csv\n" + GROUP, r"none\.csv: cannot be read \(No such file"),
    ("arrivals: file:bad.csv\n" + GROUP, r"bad\.csv: line 3: no number"),
    ("arrivals: file:two.csv\n" + GROUP, "but no start_s or time_s; name one with column"),
    ("arrivals: 'file:two.csv,column=c'\n" + GROUP, "has no column 'c', but the columns a, b"),
    ("arrivals: {file: {name: two.csv, column: c}}\n" + GROUP, "has no column 'c'"),
    ("arrivals: file:empty.csv\n" + GROUP, "holds no number"),
    ("arrivals: file:nan.csv\n" + GROUP, "value 2 is not a finite number"),
    ("arrivals: file:bad.parquet\n" + GROUP, "cannot be read"),
    (
        "duration: 180\n" + GROUP,
        "duration: a time with its unit is needed; write for example 20min",
    ),
    ("duration: 50%\n" + GROUP, "a time with its unit is needed"),
    ("duration: {uniform: {low: 3s, high: 2s}}\n" + GROUP, "low 3s is not below high 2s"),
    ("duration: {uniform: {low: 1, high: 2s}}\n" + GROUP, "times and plain numbers are mixed"),
    ("duration: {exponential: 3s, least: 5s, most: 4s}\n" + GROUP, "least 5s is above most 4s"),
    ("duration: {exponential: 0s}\n" + GROUP, "scale of expon must be positive"),
    ("duration: {table: {values: [1s, 2s], weights: [1]}}\n" + GROUP, "2 values have 1 weights"),
    ("duration: {table: {values: [1s], file: a.txt}}\n" + GROUP, "either values or a file"),
    ("duration: {table: {file: negative.csv}}\n" + GROUP, "negative values"),
    ("departures: {share: 1.5}\n" + GROUP, "invalid share"),
    ("departures: {share: 0.5, watched: 0.5, after: 3s}\n" + GROUP, "keep one"),
    (
        "departures: {share: 0.5, watched: 'uniform:0,high=2'}\n" + GROUP,
        "more than the whole session",
    ),
    ("departures: {share: 0.5, watched: 20s}\n" + GROUP, "a plain number is needed"),
    ("groups: [{model: udp.json, share: 0.5}]", "the shares add up to 0.5, not 1"),
    ("groups: [{model: udp.json, share: 0.7}, {model: cbr, share: 0.7}]", "more than 1"),
    ("groups: [{model: udp.json}, {model: cbr}]", "give all but one of them a share"),
    ("groups: [{model: udp.json, share: 1, arrivals: poisson:1/s}]", "leave one out"),
    ("groups: [{model: udp.json, sessions: 4}]", "sessions without arrivals"),
    ("sessions: 5\ngroups: [{model: udp.json, arrivals: poisson:1/s}]", "leave it out"),
    (
        "groups: [{model: udp.json, name: a, share: 0.5}, {model: cbr, name: a}]",
        "two are named 'a'",
    ),
    ("groups: [{model: udp.json, clients: 10.0.0.1/8}]", "host bits set"),
    ("groups: [{model: udp.json, clients: [10.0.0.0/8, 10.1.0.0/16]}]", "overlap; leave one out"),
    (
        "groups: [{model: six.json, clients: 10.0.0.0/8}]",
        "plays over IPv6, and no range has that version",
    ),
    ("groups: [{model: cbr, clients: '2001:db8::/64'}]", "plays over IPv4"),
    ("groups: [{model: udp.json(rate=3)}]", "has no options"),
    ("groups: [{model: cbr(rate)}]", "not key=value"),
    ("groups: [{model: udp.json, clips: {count: 4}}]", "all be the same; give length or rate"),
    ("groups: [{model: udp.json, clips: {length: 3s}}]", "give count"),
    (
        "groups: [{model: udp.json, clips: {length: 3s, count: 4, popularity: 'zipf:1,clips=5'}}]",
        "4 clips by one key",
    ),
    ("groups: [{model: udp.json, clips: {option: clip, count: 4}}]", "leave option and values out"),
    ("groups: [{model: cbr, clips: {popularity: zipf:1}}]", "cbr has no option 'clip'"),
    ("groups: [{model: cbr, clips: {option: rate_kbps}}]", "does not list what rate_kbps may be"),
    (
        "groups: [{model: cbr, clips: {option: colour}}]",
        "has no option 'colour'; its options are rate_kbps",
    ),
    ("groups: [{model: cbr, clips: {values: [1]}}]", "values without an option"),
    ("groups: [{model: cbr, clips: {rate: 2, count: 3, length: 2s}}]", "vary one of its options"),
    (
        "groups: [{model: realplayer8_chung2002, clips: {count: 80}}]",
        "80 clips are requested, the model has 79",
    ),
    ("groups: [{model: realplayer8_chung2002(clip=3), clips: {}}]", "leave one of both out"),
    (
        (
            "groups: [{model: udp.json, clips: {count: 3, length: 2s, popularity:"
            " counted:negative.csv}}]"
        ),
        "not negative",
    ),
    ("groups: &a [{model: udp.json}]\nname: *a", "aliases"),
    ("name: a\nname: b\n" + GROUP, "line 2: 'name' is given twice"),
    ("groups: [", "line"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_is_wrong_is_told_on_one_line_with_the_key(
    load: Load, folder: Path, text: str, message: str
) -> None:
    contents = {
        "bad.csv": "1\n2\nx\n",
        "two.csv": "a,b\n1,2\n",
        "empty.csv": "# nothing\n",
        "nan.csv": "1\nnan\n",
        "bad.parquet": "no parquet",
        "negative.csv": "1\n-2\n",
    }
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(WorkloadFileError, match=message) as caught:
        load(text)
    assert "\n" not in str(caught.value)
    assert caught.value.remedy


def test_errors_of_models_keep_their_kind_and_say_where(load: Load) -> None:
    with pytest.raises(ModelFileError, match="no such file and no such catalogue entry"):
        load("groups: [{model: nothing}]")
    with pytest.raises(ModelFileError, match="missing"):
        load("groups: [{model: missing.json}]")
    with pytest.raises(SettingError, match=r"groups\.0\.model: cbr has no 'colour'"):
        load("groups: [{model: cbr(colour=red)}]")
    with pytest.raises(SettingError, match=r"groups\.0\.clips\.values: wmedia9_nichols2004"):
        load(
            "groups: [{model: wmedia9_nichols2004, clips: {option: encoding_rate_kbps, values:"
            " [341]}}]"
        )


def test_missing_files_are_named_with_their_place_and_similar_ones(
    load: Load, folder: Path
) -> None:
    (folder / "udp.json").rename(folder / "zoom_call2.json")
    (folder / "ramp.csv").write_text("time,rate\n0,1\n", encoding="utf-8")
    place = r"workload\.yaml: groups\.1\.model: .*"
    groups = "groups: [{{model: tcp.json, share: 50%}}, {{model: {}}}]"
    with pytest.raises(ModelFileError, match=place + r"did you mean zoom_call2\.json\?"):
        load(groups.format("zoom_call.json"))
    with pytest.raises(ModelFileError, match=place + r"no such catalogue entry \(did you mean cbr"):
        load(groups.format("cbrr"))
    tcp = "groups: [{model: tcp.json}]"
    with pytest.raises(WorkloadFileError, match=r"yaml: arrivals\.rates: .*did you mean ramp\.csv"):
        load(f"for: 1h\narrivals: rates:rmp.csv\n{tcp}")
    with pytest.raises(WorkloadFileError, match=r"the columns time, rate; .*time_s .* rate_per_s"):
        load(f"for: 1h\narrivals: rates:ramp.csv\n{tcp}")
    with pytest.raises(WorkloadFileError, match=r"yaml: groups\.0\.duration: .*did you mean ramp"):
        load("sessions: 1\nduration: {table: {file: rmp.csv}}\n" + tcp)
    for name in ("workloud.yaml", "empty.yaml"):
        (folder / "empty.yaml").touch()
        with pytest.raises(ModelFileError, match=r"or a workload file, such as .*evening\.yaml"):
            load_playable(folder / name)
    with pytest.raises(ModelFileError, match=r"did you mean workload\.yaml\?"):
        load_playable(folder / "workloud.yaml")


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(WorkloadFileError, match="No such file"):
        load_workload(tmp_path / "none.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00groups")
    with pytest.raises(WorkloadFileError, match="not a text file"):
        load_workload(tmp_path / "bytes.yaml")
    (tmp_path / "large.yaml").write_text("# " + "x" * 1_000_000, encoding="utf-8")
    with pytest.raises(WorkloadFileError, match="larger than 1,000,000 bytes"):
        load_workload(tmp_path / "large.yaml")


def test_a_workload_file_is_told_from_a_model_file(load: Load, folder: Path) -> None:
    load("# a workload\nsessions: 2\n" + GROUP)
    assert is_workload_file(folder / "workload.yaml")
    assert not is_workload_file(folder / "udp.json")
    assert not is_workload_file(folder / "none.yaml")
    assert not is_workload_file("cbr")
    (folder / "broken.yaml").write_text("name: x\ngroups: [", encoding="utf-8")
    assert is_workload_file(
        folder / "broken.yaml"
    )  # and what is wrong with it is told as of a workload
    (folder / "workload.json").write_text(
        '{"sessions": 2, "groups": [{"model": "udp.json"}]}', encoding="utf-8"
    )
    assert load_workload(folder / "workload.json").sessions == 2


def test_a_description_is_read_back_from_what_it_writes(load: Load) -> None:
    described = load(
        "for: 2h\narrivals: poisson:2/s\nduration: exponential:3s\n" + GROUP
    ).description
    content = described.model_dump(mode="json", by_alias=True)
    assert WorkloadDescription.model_validate(content) == described


#: Values that make sense for one key or another, and some that make none anywhere.
_VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    3,
    0.5,
    1e400,
    "",
    "3s",
    "zipf:1",
    "poisson:1/s",
    "10.0.0.0/8",
    [],
    ["3s"],
    {},
]
_VALUES += [
    {"fixed": "3s"},
    {"share": 0.5},
    {"table": {"values": ["3s"]}},
    {"model": "cbr"},
    [{"model": "cbr"}],
    [[]],
]
_KEYS = [
    "sessions",
    "for",
    "arrivals",
    "clips",
    "duration",
    "departures",
    "groups",
    "name",
    "schema_version",
    "odd",
]
_GROUP_KEYS = [
    "name",
    "share",
    "arrivals",
    "sessions",
    "clips",
    "duration",
    "departures",
    "clients",
    "servers",
]


@given(
    top=st.dictionaries(st.sampled_from(_KEYS), st.sampled_from(_VALUES), max_size=3),
    group=st.dictionaries(st.sampled_from(_GROUP_KEYS), st.sampled_from(_VALUES), max_size=2),
)
def test_anything_is_read_or_refused_with_one_line(
    top: dict[str, Any], group: dict[str, Any]
) -> None:
    refusal = ""
    try:
        assert description_of(
            {"groups": [{"model": "cbr", **group}], **top}, file="any.yaml"
        ).groups
    except WorkloadFileError as error:
        refusal = str(error)
    assert refusal == "" or refusal.startswith("any.yaml: ")
    assert "\n" not in refusal


def test_options_of_the_command_line_describe_a_workload(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = read_model(folder / "udp.json")
    assert isinstance(model, Model)
    monkeypatch.chdir(folder)
    Path("starts.txt").write_text("3\n1\n", encoding="utf-8")
    starts_ns = sessions_of_workload(
        plan_model(model, WorkloadOptions(arrivals="file:starts.txt")), seed=1
    ).starts_ns
    assert starts_ns.tolist() == [1_000_000_000, 3_000_000_000]
    listed = choose_sessions(model, WorkloadOptions(arrivals="file:starts.txt"))
    one = choose_sessions(model, WorkloadOptions(arrivals="poisson:0.5/s"))
    assert listed is not None
    assert one is not None
    assert (listed.count, one.count) == (2, 1)
    entry = plan_model(
        load_entry("realplayer8_chung2002"),
        WorkloadOptions(sessions=3, popularity="zipf:0.8", duration_s=5.0),
    )
    assert sessions_of_workload(entry, seed=1).count == 3
    crowd = plan_model(
        load_entry("cbr"),
        WorkloadOptions(window_s=50.0, arrivals="poisson:1/s", settings={"rate_kbps": 100}),
    )
    assert sessions_of_workload(crowd, seed=1).starts_ns[-1] < 50e9
    spread = plan_model(load_entry("cbr"), WorkloadOptions(sessions=400, window_s=60.0))
    starts_s = sessions_of_workload(spread, seed=1).starts_ns / 1e9
    assert kstest(starts_s, "uniform", args=(0, 60)).pvalue > 0.001


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (
            parse_arrivals,
            "poisson:fast",
            "arrivals='poisson:fast': poisson.rate: 'fast' is not understood",
        ),
        (
            parse_arrivals,
            "often",
            "arrivals='often': unknown arrival process 'often'; use together, poisson:0.5/s",
        ),
        (
            parse_popularity,
            "zipf:-1",
            "popularity='zipf:-1': zipf.exponent: it must be greater than",
        ),
        (
            parse_popularity,
            "zipf",
            "popularity='zipf': zipf.exponent: it is missing; keys there are exponent, clips",
        ),
        (
            parse_arrivals,
            "poisson:x=3",
            "arrivals='poisson:x=3': poisson.x: unknown key; keys there are rate",
        ),
        (parse_arrivals, "poisson:rat=3", r"poisson.rat: unknown key .did you mean rate"),
    ],
)
def test_short_forms_without_sense_are_refused(
    parse: Callable[[str], object], text: str, message: str
) -> None:
    with pytest.raises(GenerationError, match=message):
        parse(text)


def test_broken_yaml_names_the_keys_of_models_and_of_workloads(tmp_path: Path) -> None:
    file = tmp_path / "evening.yaml"
    file.write_text("name: evening\nsession 5\n - groups\n", encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"models_schema\(\).*docs/reference/workload-file.md"):
        load_playable(file)


def test_a_file_with_wrong_keys_is_still_taken_for_a_workload(tmp_path: Path) -> None:
    file = tmp_path / "evening.yaml"
    file.write_text("sessions: 50\nfor: 1h\nmix:\n  - model: cbr\n", encoding="utf-8")
    assert is_workload_file(file)
    with pytest.raises(WorkloadFileError, match=r"mix: unknown key; missing: groups"):
        load_workload(file)


@pytest.mark.parametrize("item", [1, "::1", None, {}, [], "no network"])
@pytest.mark.parametrize("key", ["groups", "clients", "servers"])
def test_a_list_that_is_too_long_is_refused_before_its_items(key: str, item: object) -> None:
    """Half a million wrong clients were half a million problems: 9 s and 1 GB."""
    items = [item] * 100_000
    group = {"model": "cbr"} | ({} if key == "groups" else {key: items})
    content = {"sessions": 1, "groups": items if key == "groups" else [group]}
    with pytest.raises(WorkloadFileError, match=f"{key}: .*at most 1000 items, not 100000"):
        description_of(content, file="long.yaml")


@pytest.mark.parametrize("name", ["workload.json", "workload.yaml"])
def test_a_workload_as_json_on_one_line_is_no_model(tmp_path: Path, name: str) -> None:
    keys = {"description": "one line", "sessions": 1, "groups": [{"model": "cbr"}]}
    (tmp_path / name).write_text(json.dumps(keys))
    assert is_workload_file(tmp_path / name)
    assert not is_workload_file("cbr")
