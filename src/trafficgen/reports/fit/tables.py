"""Tables of a fit: estimates, laws with what else was tried, choice of processes, conditions of the
capture.
"""

from __future__ import annotations

from collections.abc import Iterator

from trafficgen.formatting import number
from trafficgen.models import Estimate, Law, ModelPart
from trafficgen.reports.fit.subject import FitSubject
from trafficgen.reports.names import share_in_words
from trafficgen.reports.page import Block, Table, Text
from trafficgen.units import kbps_from_bps

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
#: Fields whose names do not say enough when their unit is taken off.
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
_PROCESSES = {
    "renewal": "independent gaps (renewal)",
    "bursts": "bursts",
    "frames": "frame clock",
    "modulated": "slowly varying rate",
    "fgn": "fractional Gaussian noise",
    "mmpp": "Markov-modulated Poisson",
    "semi_markov": "semi-Markov rate states",
}


def process_name(kind: str) -> str:
    """Return a kind of packet process in words."""
    return _PROCESSES.get(kind, kind)


def estimates_in(part: ModelPart, place: str) -> Iterator[tuple[str, str, Estimate]]:
    """Yield place in words, field name and estimate of everything with an interval in a part of a
    model.

    Laws have a table of their own.
    """
    for name in type(part).model_fields:
        value = getattr(part, name)
        inner = f"{place}, {_in_words(name)}" if place else _in_words(name)
        if isinstance(value, Estimate):
            yield inner, name, value
        elif isinstance(value, ModelPart) and not isinstance(value, Law):
            yield from estimates_in(value, inner)
        elif isinstance(value, tuple):
            for count, each in enumerate(value, start=1):
                if isinstance(each, ModelPart) and not isinstance(each, Law):
                    yield from estimates_in(
                        each, f"{inner} {getattr(each, 'state', getattr(each, 'name', count))}"
                    )


def laws_in(part: ModelPart, place: str) -> Iterator[tuple[str, Law]]:
    """Yield place in words and law of every law in a part of a model."""
    for name in type(part).model_fields:
        value = getattr(part, name)
        inner = f"{place}, {_in_words(name)}" if place else _in_words(name)
        if isinstance(value, Law):
            yield inner, value
        elif isinstance(value, ModelPart):
            yield from laws_in(value, inner if name != "process" else place)
        elif isinstance(value, tuple):
            for count, each in enumerate(value, start=1):
                if isinstance(each, ModelPart):
                    yield from laws_in(each, f"{inner} {getattr(each, 'name', count)}")


def estimates_table(subject: FitSubject) -> Table:
    """Return everything that was estimated apart from laws and conditions, with intervals and
    methods.
    """
    model, session = subject.model, subject.session
    rows = [
        *_rows(estimates_in(model.startup, "start")),
        *(_rows(estimates_in(model.buffering, "buffering")) if model.buffering else ()),
        *_rows(estimates_in(model.playout, "playout")),
    ]
    hurst = session.hurst
    if hurst is not None:
        method = "wavelets, bytes in bins of 0.1 s of the playout (Abry and Veitch 1998)"
        rows.append(
            ("Hurst parameter", *map(number, (hurst.value, hurst.low, hurst.high)), "", method)
        )
    for stream in model.streams:
        for phase in stream.phases:
            rows += _rows(estimates_in(phase.process, f"{stream.name}, {phase.name}"))
    return Table(
        title="Estimates",
        header=("quantity", "value", "95% from", "to", "unit", "method"),
        rows=tuple(rows),
        numbers=(1, 2, 3),
    )


def measures_table(subject: FitSubject) -> Table | None:
    """Return what the papers define, as far as the session has it."""
    measures, found = subject.session.measures, subject.session.response.response.friendliness
    rows: list[tuple[str, float | None, str]] = [
        (
            "buffering data rate (largest 10 s mean of the first 80 s)",
            measures.buffering_data_rate_kbps,
            "kbit/s",
        ),
        ("steady playout rate (from 100 s on)", measures.steady_playout_rate_kbps, "kbit/s"),
        ("buffering data rate / steady playout rate", measures.ratio, ""),
        ("TCP-friendly rate of the path when it is empty", measures.tcp_friendly_kbps, "kbit/s"),
        (
            "RTSP PLAY before the first media packet",
            None if measures.play_s is None else -measures.play_s,
            "s",
        ),
        ("buffering period from PLAY to a full buffer", measures.buffering_period_s, "s"),
        ("start of the playback after the first media packet", measures.playback_delay_s, "s"),
    ]
    if found is not None:
        rows += [
            (
                f"share of {found.intervals} intervals with loss above the TCP-friendly bound",
                found.above_bound.value,
                "",
            ),
            ("the same above Padhye's model of TCP", found.above_padhye.value, ""),
            ("median of rate / Padhye's rate", found.median_ratio, ""),
            (
                "TCP-friendly bound over the whole session, queueing included",
                kbps_from_bps(found.overall_bound_bps),
                "kbit/s",
            ),
            (
                "Padhye's rate over the whole session",
                kbps_from_bps(found.overall_padhye_bps),
                "kbit/s",
            ),
        ]
    known = tuple((name, number(value), unit) for name, value, unit in rows if value is not None)
    if not known:
        return None
    return Table(
        title="Measures of the papers",
        header=("measure", "value", "unit"),
        rows=known,
        numbers=(1,),
    )


def laws_tables(subject: FitSubject) -> Iterator[Table]:
    """Yield the laws with their goodness of fit, and the families that were tried beside them."""
    session = subject.session
    laws = [
        ("packet sizes of the playout", session.packet_bytes.parametric),
        ("gaps of the playout", session.gap_s.parametric),
    ]
    for stream in subject.model.streams:
        for phase in stream.phases:
            laws += laws_in(phase.process, f"{stream.name}, {phase.name}")
    yield Table(
        title="Laws and how well they fit",
        header=(
            "quantity",
            "unit",
            "family",
            "parameters [95%]",
            "single values",
            "n",
            "KS",
            "p",
            "Anderson-Darling p",
        ),
        rows=tuple(_law_row(place, law) for place, law in laws),
        numbers=(5, 6, 7, 8),
        folded=len(laws) > 12,
    )
    rows = tuple(_alternatives_row(place, law) for place, law in laws if law.alternatives)
    if rows:
        yield Table(
            title="Families that were tried and lost",
            header=(
                "quantity",
                "chosen",
                "next best",
                "BIC worse by",
                "held-out log-likelihood",
                "others: BIC worse by",
            ),
            rows=rows,
            numbers=(3, 4),
            folded=True,
        )


def _alternatives_row(place: str, law: Law) -> tuple[str, ...]:
    best, *others = law.alternatives
    return (
        place,
        law.family.replace("_", " "),
        best.family.replace("_", " "),
        number(best.delta_bic),
        number(best.held_out),
        ", ".join(f"{other.family.replace('_', ' ')} {number(other.delta_bic)}" for other in others)
        or "-",
    )


def _law_row(place: str, law: Law) -> tuple[str, ...]:
    fit = law.fit
    # A parameter stays on one line with its interval.
    parameters = ", ".join(_parameter(law, name).replace(" ", "\u00a0") for name in law.params)
    if law.family == "quantiles":
        parameters = f"{len(law.quantiles)} points"
    atoms = ", ".join(f"{number(atom.value)} ({share_in_words(atom.p)})" for atom in law.atoms[:4])
    more = f", {len(law.atoms) - 4} more" if len(law.atoms) > 4 else ""
    return (
        place,
        {"1": "", "bps": "bit/s"}.get(law.unit, law.unit),
        law.family.replace("_", " "),
        parameters or "-",
        f"{atoms}{more}" or "-",
        number(law.observations),
        number(fit.ks if fit else None, digits=3),
        number(fit.p_value if fit else None, digits=3),
        number(fit.anderson_darling_p_value if fit else None, digits=3),
    )


def _parameter(law: Law, name: str) -> str:
    interval = (
        f" [{number(law.low[name])}, {number(law.high[name])}]"
        if name in law.low and name in law.high
        else ""
    )
    return f"{name} = {number(law.params[name])}{interval}"


def choices_table(subject: FitSubject) -> Table | None:
    """Return the packet processes that were tried for each phase, and how near each came when it
    was played.
    """
    rows: list[tuple[str, ...]] = []
    chosen_rows: list[int] = []
    statistics: list[str] = []
    for part in (phase for stream in subject.model.streams for phase in stream.phases):
        for tried in part.choice.tried if part.choice else ():
            statistics += [name for name in tried.distances if name not in statistics]
    for stream in subject.model.streams:
        for phase in stream.phases:
            for place, tried in enumerate(phase.choice.tried if phase.choice else ()):
                chosen = phase.choice is not None and place == phase.choice.chosen
                if chosen:
                    chosen_rows.append(len(rows))
                rows.append(
                    (
                        f"{stream.name}, {phase.name}",
                        process_name(tried.kind) + (" (chosen)" if chosen else ""),
                        "yes" if tried.passed else "no",
                        number(tried.score, digits=3),
                        *(number(tried.distances.get(name), digits=2) for name in statistics),
                    )
                )
    if not rows:
        return None
    return Table(
        title=(
            "Packet processes that were tried: distances of what they play to the capture (0:"
            " equal)"
        ),
        header=(
            "phase",
            "process",
            "within chance",
            "score",
            *(name.replace("_", " ") for name in statistics),
        ),
        rows=tuple(rows),
        numbers=tuple(range(3, 4 + len(statistics))),
        marks=tuple((row, "good") for row in chosen_rows),
    )


def conditions_blocks(subject: FitSubject) -> Iterator[Block]:
    """Yield what the path of the capture was like, and what it does not tell."""
    conditions = subject.provenance.conditions
    rows = _rows(estimates_in(conditions, ""))
    queueing = conditions.queueing_delay_s
    if queueing is not None:
        rows += [
            ("queueing delay, median", number(queueing.median), "-", "-", "s", queueing.method),
            ("queueing delay, 95th percentile", number(queueing.p95), "-", "-", "s", ""),
            ("queueing delay, largest", number(queueing.largest), "-", "-", "s", ""),
        ]
    if conditions.loss_model is not None:
        chain = (
            "Gilbert's chain" if conditions.loss_model.kind == "gilbert" else "independent losses"
        )
        rows.append(("law of the losses", chain, "", "", "", "BIC"))
    if rows:
        yield Table(
            title="Conditions of the capture: the path, kept apart from the source",
            header=("quantity", "value", "95% from", "to", "unit", "method"),
            rows=tuple(rows),
            numbers=(1, 2, 3),
        )
    absent: dict[str, list[str]] = {}
    for name, why in sorted(subject.model.absent.items()):
        names, part = absent.setdefault(why, []), _part_in_words(name)
        names += [part] if part not in names else []
    if absent:
        yield Text(lines=("What this capture does not tell:",))
        yield Text(
            lines=tuple(f"{', '.join(names)}: {why}" for why, names in absent.items()), kind="list"
        )


def _part_in_words(name: str) -> str:
    """Return a part of a model, such as ``measures.delivery.offered``, in words."""
    inner = name.removeprefix("provenance.conditions.").removeprefix("measures.")
    return ", ".join(_in_words(part) for part in inner.split("."))


def _rows(found: Iterator[tuple[str, str, Estimate]]) -> list[tuple[str, ...]]:
    rows = []
    for place, name, estimate in found:
        unit = next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")
        factor = kbps_from_bps(1.0) if name.endswith("_bps") else 1.0
        numbers = [
            number(None if value is None else value * factor, digits=_DIGITS.get(name, 4))
            for value in (estimate.value, estimate.low, estimate.high)
        ]
        rows.append((place, *numbers, unit, estimate.method))
    return rows


def _in_words(name: str) -> str:
    """Return the name of a field without its unit, in words."""
    if name in _NAMES:
        return _NAMES[name]
    ending = next((ending for ending in _UNITS if name.endswith(ending)), "")
    return name.removesuffix(ending).replace("_", " ")
