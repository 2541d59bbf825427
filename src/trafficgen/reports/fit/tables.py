"""Tables of a fit: estimates, laws, alternatives, processes, conditions of the capture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from trafficgen.formatting import format_share, interval, list_first, number
from trafficgen.models import Estimate, Law, ModelPart, Phase
from trafficgen.models.response import CapacityStep
from trafficgen.processes.kinds import PROCESSES
from trafficgen.reports.fit.subject import FitSubject
from trafficgen.reports.page import Block, Mark, Table, Text, tabulate
from trafficgen.units import kbps_from_bps

#: Longer tables of laws are folded.
_LONGEST_OPEN_TABLE = 12
_CAPACITY = "Rate of the narrow link over time"
#: Ends of field names with their units.
_UNITS = {
    "_per_s": "1/s",
    "_kbps": "kbit/s",
    "_bps": "kbit/s",
    "_hz": "Hz",
    "_bytes": "bytes",
    "_packets": "packets",
    "_s": "s",
}
#: Fields whose names are unclear without their unit.
_NAMES = {
    "rtt_s": "round-trip time",
    "one_way_delay_s": "one-way delay",
    "packet_bytes": "packet size",
    "last_packet_bytes": "size of the last packet of a burst",
    "frame_bytes": "frame size",
    "bin_bytes": "bytes of a bin",
    "burst_packets": "packets in a burst",
    "gap_within_s": "gap within a burst or frame",
    "types": "frames of the type",
    "classes": "class of rates",
    "states": "state",
}
#: Digits of quantities that differ from 1 by little.
_DIGITS = {"clock_ratio": 8}
_PROCESSES = {one.model_fields["kind"].default: one.title for one in PROCESSES}


def process_name(kind: str) -> str:
    """Return a kind of packet process for people."""
    return _PROCESSES.get(kind, kind)


def _values_in(part: ModelPart, place: str) -> Iterator[tuple[str, str, Estimate | Law]]:
    """Yield place, field name and value of every estimate and law in a part of a model."""
    for name in type(part).model_fields:
        value = getattr(part, name)
        inner = f"{place}, {_field_name(name)}" if place else _field_name(name)
        if isinstance(value, Estimate | Law):
            yield inner, name, value
        elif isinstance(value, ModelPart):
            yield from _values_in(value, inner if name != "process" else place)
        elif isinstance(value, tuple):
            for count, each in enumerate(value, start=1):
                if isinstance(each, ModelPart):
                    label = getattr(each, "state", getattr(each, "name", count))
                    yield from _values_in(each, f"{inner} {label}")


def tabulate_estimates(subject: FitSubject) -> Table | None:
    """Tabulate all estimates apart from laws and conditions, with intervals and methods."""
    model, hurst = subject.model, subject.session.hurst
    records = [
        *_estimates_in(model.startup, "start"),
        *(_estimates_in(model.buffering, "buffering") if model.buffering else ()),
        *_estimates_in(model.playout, "playout"),
    ]
    if hurst is not None:
        method = "wavelets, bytes in bins of 0.1 s of the playout (Abry and Veitch 1998)"
        ends = (hurst.value, hurst.low, hurst.high)
        records.append(_estimate_record("Hurst parameter", ends, method=method))
    for label, phase in _phases(subject):
        records += _estimates_in(phase.process, label)
    return tabulate("Estimates", records)


def _phases(subject: FitSubject) -> list[tuple[str, Phase]]:
    """Return every phase with the names of its stream and itself."""
    return [
        (f"{stream.name}, {phase.name}", phase)
        for stream in subject.model.streams
        for phase in stream.phases
    ]


def _estimate_record(
    name: str, ends: Sequence[object], unit: str = "", method: str = "", *, label: str = "quantity"
) -> dict[str, object]:
    value, low, high = ends
    ends_of = {"value": value, "95% from": low, "95% to": high}
    return {label: name, **ends_of, "unit": unit, "method": method}


def _estimates_in(part: ModelPart, place: str) -> Iterator[dict[str, object]]:
    return _estimate_records(
        (inner, name, one)
        for inner, name, one in _values_in(part, place)
        if isinstance(one, Estimate)
    )


def _estimate_records(
    found: Iterator[tuple[str, str, Estimate]], *, label: str = "quantity"
) -> Iterator[dict[str, object]]:
    for place, name, estimate in found:
        factor = kbps_from_bps(1.0) if name.endswith("_bps") else 1.0
        ends = [
            number(None if end is None else end * factor, digits=_DIGITS.get(name, 4))
            for end in (estimate.value, estimate.low, estimate.high)
        ]
        yield _estimate_record(place, ends, _unit(name), estimate.method, label=label)


def tabulate_measures(subject: FitSubject) -> Table | None:
    """Tabulate the measures that papers define, as far as the session has them."""
    measures, found = subject.session.measures, subject.session.response.response.friendliness
    play_s = None if measures.play_s is None else -measures.play_s
    rows: dict[str, tuple[float | None, str]] = {
        "buffering data rate (largest 10 s mean of the first 80 s)": (
            measures.buffering_data_rate_kbps,
            "kbit/s",
        ),
        "steady playout rate (from 100 s on)": (measures.steady_playout_rate_kbps, "kbit/s"),
        "buffering data rate / steady playout rate": (measures.ratio, ""),
        "TCP-friendly rate of the path when it is empty": (measures.tcp_friendly_kbps, "kbit/s"),
        "RTSP PLAY before the first media packet": (play_s, "s"),
        "buffering period from PLAY to a full buffer": (measures.buffering_period_s, "s"),
        "start of the playback after the first media packet": (measures.playback_delay_s, "s"),
    }
    if found is not None:
        bound_kbps = kbps_from_bps(found.overall_bound_bps)
        padhye_kbps = kbps_from_bps(found.overall_padhye_bps)
        rows |= {
            f"share of {found.intervals} intervals with loss above the TCP-friendly bound": (
                found.above_bound.value,
                "",
            ),
            "the same above Padhye's model of TCP": (found.above_padhye.value, ""),
            "median of rate / Padhye's rate": (found.median_ratio, ""),
            "TCP-friendly bound of the session, queueing included": (bound_kbps, "kbit/s"),
            "Padhye's rate over the whole session": (padhye_kbps, "kbit/s"),
        }
    records = (
        {"measure": name, "value": value, "unit": unit}
        for name, (value, unit) in rows.items()
        if value is not None
    )
    return tabulate("Measures of the papers", records)


def tabulate_laws(subject: FitSubject) -> Iterator[Block | None]:
    """Tabulate the laws with their goodness of fit, and the other families that were tried."""
    laws: list[tuple[str, Law]] = []
    for place, fitted in (
        ("packet sizes of the playout", subject.session.packet_bytes),
        ("gaps of the playout", subject.session.gap_s),
    ):
        laws.append((place, fitted.law))
        if fitted.is_rejected:
            laws.append((f"{place}, rejected", fitted.parametric))
    for label, phase in _phases(subject):
        found = _values_in(phase.process, label)
        laws += ((inner, law) for inner, _, law in found if isinstance(law, Law))
    records = (_law_record(place, law) for place, law in laws)
    yield tabulate("Laws and how well they fit", records, folded=len(laws) > _LONGEST_OPEN_TABLE)
    yield Text(subject.fitted.calibration.details, kind="list")
    others = (_alternatives_record(place, law) for place, law in laws if law.alternatives)
    yield tabulate("Other families that were tried", others, folded=True)


def _alternatives_record(place: str, law: Law) -> dict[str, object]:
    best, *others = law.alternatives
    return {
        "quantity": place,
        "chosen": _family(law.family),
        "next best": _family(best.family),
        "BIC worse by": best.delta_bic,
        "held-out log-likelihood": best.held_out,
        "others: BIC worse by": ", ".join(
            f"{_family(other.family)} {number(other.delta_bic)}" for other in others
        )
        or "-",
    }


def _family(name: str) -> str:
    return name.replace("_", " ")


def _law_record(place: str, law: Law) -> dict[str, object]:
    fit = law.fit
    # A parameter stays on one line with its interval.
    parameters = ", ".join(_parameter(law, name).replace(" ", "\u00a0") for name in law.params)
    if law.family == "quantiles":
        parameters = f"{len(law.quantiles)} points"
    atoms = [f"{number(atom.value)} ({format_share(atom.p)})" for atom in law.atoms[:4]]
    atoms += [f"{len(law.atoms) - 4} more"] if len(law.atoms) > 4 else []
    return {
        "quantity": place,
        "unit": {"1": "", "bps": "bit/s"}.get(law.unit, law.unit),
        "family": _family(law.family),
        "parameters [95%]": parameters or "-",
        "single values": ", ".join(atoms) or "-",
        "n": law.observations,
        "KS": fit.ks if fit else None,
        "p": fit.p_value if fit else None,
        "Anderson-Darling p": fit.anderson_darling_p_value if fit else None,
    }


def _parameter(law: Law, name: str) -> str:
    ends = interval(law.low.get(name), law.high.get(name))
    return f"{name} = {number(law.params[name])} {ends}".rstrip()


def tabulate_choices(subject: FitSubject) -> Table | None:
    """Tabulate the packet processes that were tried for each phase, with their distances."""
    tried = [
        (label, one, one is phase.choice.tried[phase.choice.chosen])
        for label, phase in _phases(subject)
        if phase.choice
        for one in phase.choice.tried
    ]
    statistics = dict.fromkeys(name for _, one, _ in tried for name in one.distances)
    records = (
        {
            "phase": label,
            "process": process_name(one.kind) + (" (chosen)" if chosen else ""),
            "passed": "yes" if one.passed else "no",
            "score": one.score,
            **{name.replace("_", " "): one.distances.get(name) for name in statistics},
        }
        for label, one, chosen in tried
    )
    marks: dict[int, Mark] = {place: "good" for place, (_, _, chosen) in enumerate(tried) if chosen}
    title = "Packet processes that were tried: distances of their packets to the capture (0: equal)"
    return tabulate(title, records, marks=marks)


def describe_conditions(subject: FitSubject) -> Iterator[Block | None]:
    """Yield the conditions of the capture's path, and what the capture does not show."""
    conditions = subject.provenance.conditions
    records = list(_estimates_in(conditions.model_copy(update={"capacity": None}), ""))
    if (queueing := conditions.queueing_delay_s) is not None:
        for name, value_s in {
            "median": queueing.median,
            "95th percentile": queueing.p95,
            "largest": queueing.largest,
        }.items():
            method = queueing.method if name == "median" else ""
            label = f"queueing delay, {name}"
            records.append(_estimate_record(label, (value_s, None, None), "s", method))
    if (loss := conditions.loss_model) is not None:
        chain = "Gilbert's chain" if loss.kind == "gilbert" else "independent losses"
        yield Text((f"Law of the losses: {chain}, chosen by BIC.",))
    yield tabulate("Conditions of the capture: the path, kept apart from the source", records)
    yield tabulate_capacity(conditions.capacity or ())
    absent: dict[str, dict[str, dict[str, None]]] = {}
    for name, why in sorted(subject.model.absent.items()):
        part, _, detail = _part_name(name).partition(", ")
        absent.setdefault(why, {}).setdefault(part, {}).update({detail: None} if detail else {})
    if absent:
        yield Text(("Not measurable from this capture:",))
        lines = tuple(f"{_list_parts(parts)}: {why}" for why, parts in absent.items())
        yield Text(lines, kind="list")


def tabulate_capacity(steps: Sequence[CapacityStep]) -> Table | None:
    """Tabulate when the narrow link had which rate; the times of one estimate are one row."""
    times: dict[Estimate, list[str]] = {}
    for step, after in zip_longest(steps, steps[1:]):
        if step.kbps is not None:
            until = "on" if after is None else f"to {after.start_s:.2f}"
            times.setdefault(step.kbps, []).append(f"{step.start_s:.2f} {until}")
    found = ((list_first(spans), "_kbps", kbps) for kbps, spans in times.items())
    return tabulate(_CAPACITY, _estimate_records(found, label="s after the first media packet"))


def _list_parts(parts: Mapping[str, Iterable[str]]) -> str:
    """Return parts of a model, each with its details in brackets."""
    names = {part: ", ".join(details) for part, details in parts.items()}
    return ", ".join(f"{part} ({inner})" if inner else part for part, inner in names.items())


def _part_name(name: str) -> str:
    """Return a part of a model, such as ``measures.delivery.offered``, for people."""
    inner = name.removeprefix("provenance.conditions.").removeprefix("measures.")
    return ", ".join(_field_name(part) for part in inner.split("."))


def _unit(name: str) -> str:
    return next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")


def _field_name(name: str) -> str:
    """Return the name of a field without its unit, for people."""
    ending = next((ending for ending in _UNITS if name.endswith(ending)), "")
    return _NAMES.get(name, name.removesuffix(ending).replace("_", " "))
