"""The nested shells of mahimahi that make a path: loss, link and delay, from the server inwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trafficgen.units import ms_from_s


@dataclass(frozen=True)
class Shells:
    """Commands, the outermost first, each run by the one before.

    Attributes:
        commands: Their words; a trace is ``$here/NAME``.
        cannot_express: What they lack of the path, a sentence each.
    """

    commands: tuple[tuple[str, ...], ...]
    cannot_express: tuple[str, ...]

    @classmethod
    def nest(cls, parts: Sequence[Shells]) -> Shells:
        """Return the shells of links that follow one another from the server to the client."""
        commands = tuple(command for part in parts for command in part.commands)
        lacks = dict.fromkeys(text for part in parts for text in part.cannot_express)
        return cls(commands, tuple(lacks))

    def script(self) -> str:
        """Return the body of a script that runs its arguments, or a shell, inside."""
        head = "# Runs a program, or a shell when none is named, behind the path. Not as root.\n"
        if not self.commands:
            return head + 'exec "${@:-sh}"\n'
        return f'{head}exec {self._joined()} "$@"\n'

    def command_text(self) -> str:
        """Return the command for people."""
        return self._joined().replace('"$here/', "").replace('"', "") + " CLIENT ARGUMENTS..."

    def _joined(self) -> str:
        return " \\\n  ".join(" ".join(command) for command in self.commands)


def link_shells(
    forward: Mapping[str, Any], reverse: Mapping[str, Any], *, names: tuple[str, str] | None
) -> Shells:
    """Return the shells of one link.

    A packet to the client meets loss, then queue and capacity, then the delay; one to the server
    loss after the delay. Links are as the engine reads them. ``names`` are the traces to the client
    and to the server; None without limits.
    """
    lacks: list[str] = []
    commands = [
        *_loss("downlink", forward["loss"], lacks),
        *_link(forward, reverse, names),
        *_loss("uplink", reverse["loss"], lacks),
        *_delay(forward["delay_s"], reverse["delay_s"], lacks),
    ]
    if forward.get("delay_jitter_s"):
        lacks.append("jitter of the delay")
    if forward["reorder"] is not None:
        lacks.append("reordering")
    if forward["hold_in_flight"]:
        lacks.append("packets in propagation that fill the queue")
    return Shells(tuple(commands), tuple(lacks))


def _loss(word: str, loss: Mapping[str, Any] | None, lacks: list[str]) -> list[tuple[str, ...]]:
    if loss is None:
        return []
    if loss.get("start_s") is not None or loss.get("stop_s") is not None:
        lacks.append("start and end of the loss: packets are lost from the start to the end")
    if loss.get("mean_burst_packets") is not None:
        lacks.append("bursts of loss: each packet is lost on its own, at the same mean rate")
    return [("mm-loss", word, f"{loss['rate']:g}")]


def _link(
    forward: Mapping[str, Any], reverse: Mapping[str, Any], names: tuple[str, str] | None
) -> list[tuple[str, ...]]:
    if names is None:
        return []
    # The uplink is what leaves the shell, in which the client runs.
    queues = (*_queue("uplink", reverse["queue"]), *_queue("downlink", forward["queue"]))
    to_client, to_server = names
    return [("mm-link", *queues, f'"$here/{to_server}"', f'"$here/{to_client}"', "--")]


def _queue(word: str, queue: Mapping[str, int] | None) -> tuple[str, ...]:
    if queue is None:
        return ()
    [(unit, limit)] = queue.items()
    return (f"--{word}-queue=droptail", f"--{word}-queue-args={unit}={limit}")


def _delay(forward_s: float, reverse_s: float, lacks: list[str]) -> list[tuple[str, ...]]:
    mean_ms = ms_from_s((forward_s + reverse_s) / 2)
    delay_ms = round(mean_ms)
    if forward_s != reverse_s:
        lacks.append(
            f"delays that differ by direction ({ms_from_s(forward_s):g} and"
            f" {ms_from_s(reverse_s):g} ms): both are their mean"
        )
    if abs(delay_ms - mean_ms) > _SAME_MS:
        lacks.append(
            f"a delay of {mean_ms:g} ms: mm-delay knows whole milliseconds, it is {delay_ms} ms"
        )
    return [("mm-delay", str(delay_ms))] if delay_ms else []


#: Delays that differ by less are equal.
_SAME_MS = 1e-6
