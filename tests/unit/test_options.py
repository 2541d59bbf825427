"""Options are declared once and reach Python and the command line."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import trafficgen
from trafficgen.calibration.options import SessionFitOptions
from trafficgen.capture.options import ReadOptions, TimeWindow
from trafficgen.cli._options import expand_options
from trafficgen.options import list_options, option, takes
from trafficgen.simulation.options import SimulateOptions
from trafficgen.units import bytes_from_text
from trafficgen.workloads.options import WorkloadOptions, parse_rate_per_s


def parse_size(text: str) -> float:
    size_bytes = bytes_from_text(text)
    if size_bytes is None:
        raise ValueError(f"Invalid size {text!r}. Use 500MB or 4GB.")
    return size_bytes


@dataclass(frozen=True, kw_only=True)
class Reading:
    memory_bytes: float = option(
        1e9, "--memory", help="Memory.", metavar="SIZE", parse=parse_size, text="1GB"
    )
    whole: bool = option(False, help="For Python alone.")


@dataclass(frozen=True, kw_only=True)
class Fitting(Reading):
    flow: int | None = option(None, "--flow", help="Take this flow.", low=0)


@takes(Fitting)
def fit(capture: str, options: Fitting) -> tuple[str, Fitting]:
    return capture, options


@takes(Fitting)
def compare(reference: str, candidate: str, options: Fitting) -> tuple[str, str, int | None]:
    return reference, candidate, options.flow


def test_keywords_arrive_as_one_object() -> None:
    assert fit("a.pcap", flow=3) == ("a.pcap", Fitting(flow=3))
    assert compare("a.pcap", "b.pcap", flow=2) == ("a.pcap", "b.pcap", 2)


def test_signature_shows_each_option() -> None:
    shown = inspect.signature(fit).parameters
    assert list(shown) == ["capture", "memory_bytes", "whole", "flow"]
    assert shown["flow"].default is None


def test_unknown_keyword_is_refused() -> None:
    with pytest.raises(TypeError, match=r"no option 'flwo' \(did you mean flow\?\)"):
        fit("a.pcap", flwo=3)  # type: ignore[call-arg]


@pytest.fixture
def app() -> typer.Typer:
    table = typer.Typer()

    @table.command()
    @expand_options
    def command(capture: str, options: Fitting) -> None:
        typer.echo(f"{capture} {options.flow} {options.memory_bytes:.0f} {options.whole}")

    return table


def test_command_line_offers_fields_with_flags(app: typer.Typer) -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["a.pcap"]).output == "a.pcap None 1000000000 False\n"
    given = runner.invoke(app, ["a.pcap", "--flow", "3", "--memory", "2MB"])
    assert given.output == "a.pcap 3 2000000 False\n"
    assert runner.invoke(app, ["a.pcap", "--whole"]).exit_code == 2


def test_message_of_a_parser_reaches_the_user(app: typer.Typer) -> None:
    refused = CliRunner().invoke(app, ["a.pcap", "--memory", "big"])
    assert refused.exit_code == 2
    assert "Invalid size 'big'. Use 500MB or 4GB." in refused.output


def test_until_is_to_on_the_command_line_and_errors_name_it_to() -> None:
    windows = {}
    for flag in ("--to", "--until"):
        app = typer.Typer()

        @app.command()
        @expand_options
        def fit_window(options: SessionFitOptions) -> None:
            windows[flag] = options.window  # noqa: B023 - called in this turn

        refused = CliRunner().invoke(app, [flag, "5s", "--from", "9s"])
        assert refused.exit_code == 2
        assert "end after the start" in refused.output
        assert CliRunner().invoke(app, [flag, "20s", "--from", "9s"]).exit_code == 0
    assert windows["--to"] == windows["--until"] == TimeWindow(9.0, 20.0)


TIMES = {
    declared.flags[0]: declared.parse
    for options in (ReadOptions, SessionFitOptions, SimulateOptions, WorkloadOptions)
    for one, declared in list_options(options)
    if one.name.endswith("_s") and not one.name.endswith("_per_s")
}


@pytest.mark.parametrize("flag", sorted(TIMES.keys() - {"--jitter"}))
def test_every_time_takes_the_same_forms(flag: str) -> None:
    parse = TIMES[flag]
    assert parse is not None
    forms = ("90", "90s", "1.5min", "20min", "1h", "250ms")
    assert [parse(text) for text in forms] == [90, 90, 90, 1200, 3600, 0.25]
    for text in ("soon", "5x", "nan", "", "1e999"):
        with pytest.raises(ValueError, match=r"Invalid time .* 20min"):
            parse(text)


def test_an_arrival_rate_may_have_a_unit() -> None:
    texts = ("2", "0.5", "2/s", "30/min", "300/h")
    assert [parse_rate_per_s(text) for text in texts] == [2, 0.5, 2, 0.5, pytest.approx(1 / 12)]
    for text in ("", "0", "-1", "5/fortnight", "2s", "inf"):
        with pytest.raises(ValueError, match=r"Use a rate above 0, such as 2/s, 30/min or 300/h"):
            parse_rate_per_s(text)


def test_a_delay_needs_a_unit() -> None:
    parse = TIMES["--jitter"]
    assert parse is not None
    assert [parse(text) for text in ("5ms", "0.25s", "1min")] == [0.005, 0.25, 60]
    with pytest.raises(ValueError, match=r"'5' has no unit. Write 5ms, or 5s for seconds"):
        parse("5")
    with pytest.raises(ValueError, match=r"Invalid time 'soon'"):
        parse("soon")


def test_times_of_commands_are_all_known() -> None:
    assert set(TIMES) == {
        "--idle-timeout",
        "--player-log-offset",
        "--from",
        "--to",
        "--duration",
        "--for",
        "--buffering-end",
        "--jitter",
    }


@pytest.mark.parametrize(("flag", "text"), [("--duration", "0s"), ("--from", "-1s")])
def test_times_out_of_range_are_refused(flag: str, text: str) -> None:
    parse = TIMES[flag]
    assert parse is not None
    with pytest.raises(ValueError, match=f"Invalid time '{text}'"):
        parse(text)


def test_a_keyword_may_have_the_name_of_its_flag() -> None:
    capture = "examples/captures/http_burst_then_paced.pcap.gz"
    options: dict[str, Any] = {"idle_timeout": "60s", "memory": "500MB"}
    found = trafficgen.inspect(capture, **options)
    same = trafficgen.inspect(capture, idle_timeout_s=60, memory_bytes=500_000_000)
    assert found.to_json() == same.to_json()
    with pytest.raises(TypeError, match="idle_timeout is idle_timeout_s; leave one out"):
        trafficgen.inspect(capture, idle_timeout_s=60, **options)


def test_numbers_are_taken_where_the_command_line_wants_a_unit() -> None:
    def parse_rate(text: str) -> float:
        if not text.endswith("bps"):
            raise ValueError(f"Invalid rate {text!r}.")
        return float(text.removesuffix("bps"))

    @dataclass(frozen=True, kw_only=True)
    class Speed:
        rate_bps: float = option(1.0, "--rate", help="Rate.", parse=parse_rate)

    @takes(Speed)
    def send(size_bytes: int, speed: Speed) -> float:
        return size_bytes / speed.rate_bps

    assert send(10, rate_bps=2.0) == send(10, rate=2) == send(10, rate="2bps") == 5.0  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"send: rate_bps: Invalid rate '2'\."):
        send(10, rate_bps="2")  # type: ignore[arg-type]
