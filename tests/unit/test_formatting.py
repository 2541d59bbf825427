"""Numbers and counts as people read them."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest

from trafficgen.formatting import (
    cut_middle,
    day_and_time,
    endpoint,
    find_name,
    format_count,
    format_duration,
    format_quantity,
    interval,
    number,
    one_line,
    rate_text,
    shorten_figures,
    size_text,
    suggest_file,
    suggest_name,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1234567, "1,234,567"),
        (0.000123456, "0.0001235"),
        (1234.6, "1235"),
        (12345.6, "12,346"),
        (1e15, "1e+15"),
        (2.5, "2.5"),
        (9999.6, "10,000"),
    ],
)
def test_numbers_have_few_digits_and_no_exponent_where_people_have_names(
    value: float, text: str
) -> None:
    assert number(value) == text


@pytest.mark.parametrize("value", [None, math.nan, math.inf, True, "text"])
def test_what_is_no_number_is_a_dash(value: object) -> None:
    assert number(value) == "-"


def test_counts_agree_with_their_nouns() -> None:
    assert [
        format_count(1, "flow"),
        format_count(0, "flow"),
        format_count(2000, "quantity", "quantities"),
    ] == ["1 flow", "0 flows", "2,000 quantities"]


@pytest.mark.parametrize(
    ("rate_kbps", "text"),
    [
        (386_300.0, "386 Mbit/s"),
        (64.23, "64.2 kbit/s"),
        (999.7, "1 Mbit/s"),
        (2.5e6, "2.5 Gbit/s"),
        (0.0, "0 kbit/s"),
        (0.0123, "12.3 bit/s"),
        (7.11e-05, "0.0711 bit/s"),
        (math.nan, "-"),
        (None, "-"),
    ],
)
def test_rates_have_the_unit_that_people_use(rate_kbps: float | None, text: str) -> None:
    assert rate_text(rate_kbps) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(1_234_567_890, "1.23 GB"), (340_000, "340 kB"), (12, "12 B"), (0, "0 B"), (999_999, "1 MB")],
)
def test_sizes_have_the_unit_that_people_use(size_bytes: int, text: str) -> None:
    assert size_text(size_bytes) == text


@pytest.mark.parametrize(
    ("time_s", "text"),
    [
        (0.0, "0 s"),
        (0.00000586, "5.86 µs"),
        (0.000502, "0.502 ms"),
        (0.0485, "48.5 ms"),
        (3.1658, "3.17 s"),
        (59.96, "1 min 0 s"),
        (3757.533 - 3600, "2 min 38 s"),
        (3599.7, "1 h 0 min"),
        (10_955.0, "3 h 3 min"),
        (341_296_282.24, "3,950 days"),
        (-5.051, "-5.05 s"),
        (-61.2, "-1 min 1 s"),
        (math.inf, "-"),
        (None, "-"),
    ],
)
def test_times_are_read_at_a_glance(time_s: float | None, text: str) -> None:
    assert format_duration(time_s) == text


def test_the_name_of_a_quantity_says_its_unit() -> None:
    values = {"rate_bps": 5e6, "top_kbps": 5.0, "ip_bytes": 1500, "gap_s": 0.02, "packets": 2000}
    texts = [format_quantity(name, value) for name, value in values.items()]
    assert texts == ["5 Mbit/s", "5 kbit/s", "1.5 kB", "20 ms", "2,000"]
    assert format_quantity("gap_s", None) == "-"


def test_line_is_one_line_that_cannot_move_the_cursor() -> None:
    assert one_line("a\r\nb\tc \x1b[2J\u202e") == "a b c �[2J�"


def test_interval_of_an_estimate_without_one_is_empty() -> None:
    assert interval(None, None) == ""
    assert interval(1.0, 2.0) == "[1, 2]"
    assert interval(0.5, 2.0, format_duration) == "[500 ms, 2 s]"


def test_ipv6_addresses_stand_in_brackets() -> None:
    assert endpoint("2001:db8::1", 80) == "[2001:db8::1]:80"
    assert endpoint("192.0.2.1", 0) == "192.0.2.1"


def test_times_that_no_calendar_has_are_shown_all_the_same() -> None:
    assert day_and_time(0) == "1970-01-01 00:00:00 UTC"
    assert day_and_time(2**63 - 1) == "2262-04-11 23:47:16 UTC"
    assert day_and_time(-(2**70)).endswith(" ns since 1970")


@pytest.mark.parametrize(
    ("wanted", "name"),
    [("ns3", "ns3"), ("NS-3", "ns3"), ("iperf", "iperf3"), ("I perf_2", "iperf2"), ("ns4", None)],
)
def test_a_name_is_found_however_it_is_written(wanted: str, name: str | None) -> None:
    assert find_name(wanted, ["iperf2", "iperf3", "ns3"]) == name


@pytest.mark.parametrize(
    ("wanted", "guess"),
    [
        ("dealy", " (did you mean delay?)"),
        ("real", " (did you mean realplayer or realvideo?)"),
        ("", ""),
        ("xyz", ""),
    ],
)
def test_a_wrong_name_comes_with_the_closest_ones(wanted: str, guess: str) -> None:
    assert suggest_name(wanted, ["rate", "delay", "realplayer", "realvideo"]) == guess


@pytest.mark.parametrize(
    ("line", "cut"),
    [
        ("short", "short"),
        ("Invalid size '" + "9" * 90 + "'. Use 1GB.", "Invalid size '99999999…999999'. Use 1GB."),
        ("a " * 50, "a " * 10 + "… " + "a " * 9),
        ("x" * 90, "xxxxxxxxxxxxxxxxxxxx…xxxxxxxxxxxxxxxxxxx"),
    ],
)
def test_a_long_line_keeps_both_ends_and_the_sentence_around_a_value(line: str, cut: str) -> None:
    found = cut_middle(line, longest=40)
    assert len(found) <= 40
    assert found == cut


def test_a_text_of_millions_of_long_words_is_cut_in_a_moment() -> None:
    began_s = time.process_time()
    found = cut_middle("begin " + ("y" * 500 + " ") * 20_000 + "end", longest=300)
    assert time.process_time() - began_s < 1
    assert len(found) <= 300
    assert found.startswith("begin")
    assert found.endswith("end")


@pytest.mark.parametrize(
    ("line", "short"),
    [
        (f"at most 2, not {10**300}", "at most 2, not 1e+300"),
        (f"{10**30}: is large", "1e+30: is large"),
        ("not 0." + "0" * 30 + "25", "not 2.5e-31"),
        (f"seed {2**64 - 1} of {2**63}", f"seed {2**64 - 1} of {2**63}"),
        (f"{10**30}.pcap: x", f"{10**30}.pcap: x"),
        (f"run-{10**30}/a: x", f"run-{10**30}/a: x"),
        ("9" * 400, "9" * 400),
    ],
)
def test_long_figures_get_an_exponent_and_names_stay(line: str, short: str) -> None:
    assert shorten_figures(line) == short


@pytest.mark.parametrize(
    ("missing", "guess"),
    [("ramp.pcp", "ramp.pcap"), ("ramp.txt", "ramp.html"), ("rmap.html", "ramp.html"), ("x", "")],
)
def test_a_missing_file_is_taken_for_one_with_a_similar_ending_or_stem(
    tmp_path: Path, missing: str, guess: str
) -> None:
    for name in ("ramp.html", "ramp.pcap"):
        (tmp_path / name).touch()
    assert suggest_file(tmp_path / missing) == (f" (did you mean {guess}?)" if guess else "")


def test_a_link_to_nothing_is_not_what_was_meant(tmp_path: Path) -> None:
    (tmp_path / "a.pcap").symlink_to("nothing.pcap")
    assert suggest_file(tmp_path / "a.pcap") == ""
