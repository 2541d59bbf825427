"""Run by a Python that has TRex's own client: what the client makes of an exported profile, as
JSON.

Usage: trex_client.py stl PROFILE DIRECTION [TUNABLE...] | astf PROFILE [TUNABLE...] | pcap FILE |
runner PROGRAM
"""

from __future__ import annotations

import base64
import inspect
import json
import runpy
import sys
from typing import Any

import lbr_trex_client  # type: ignore[import-not-found]  # noqa: F401  (puts the client where it can be imported)
from trex.astf.api import ASTFProfile  # type: ignore[import-not-found]
from trex.stl import api as stl_api  # type: ignore[import-not-found]
from trex.stl.api import STLClient, STLProfile  # type: ignore[import-not-found]


def streams_of(profile: Any) -> list[dict[str, Any]]:
    """Return name, follower, fields and frame of each stream as the client would send them to a
    server.
    """
    found = []
    for stream in profile.get_streams():
        fields = stream.to_json()
        found.append(
            {
                "name": stream.get_name(),
                "next": stream.get_next(),
                "frame": base64.b64encode(stream.get_pkt()).decode(),
                **{
                    key: fields[key]
                    for key in ("isg", "self_start", "action_count", "flags", "mode")
                },
            }
        )
    return found


def pushed(program: str) -> list[dict[str, Any]]:
    """Return the arguments with which a program calls the client, checked against its signatures;
    nothing is sent.
    """
    calls: list[dict[str, Any]] = []

    class Recorder(STLClient):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **keywords: Any) -> None:
            inspect.signature(STLClient.__init__).bind(self, *arguments, **keywords)

        def __getattribute__(self, name: str) -> Any:
            def record(*arguments: Any, **keywords: Any) -> Any:
                bound = inspect.signature(getattr(STLClient, name)).bind(
                    None, *arguments, **keywords
                )
                named = {key: value for key, value in bound.arguments.items() if key != "self"}
                calls.append({"call": name, **named})
                return {0: {"opackets": 1}, 1: {"opackets": 2}}

            return record

    stl_api.STLClient = Recorder
    sys.argv = [program, "--folder", "/on/the/server"]
    runpy.run_path(program, run_name="__main__")
    return calls


def main() -> None:
    """Answer the request of the command line on the last line of the output."""
    kind, name, *rest = sys.argv[1:]
    answer: object
    if kind == "stl":
        answer = streams_of(
            STLProfile.load_py(
                name, direction=int(rest[0]), port_id=int(rest[0]), tunables=rest[1:]
            )
        )
    elif kind == "pcap":
        answer = streams_of(STLProfile.load_pcap(name, ipg_usec=None))
    elif kind == "astf":
        answer = ASTFProfile.load_py(name, tunables=rest).to_json()
    else:
        answer = pushed(name)
    sys.stdout.write(f"\n{json.dumps(answer)}\n")


if __name__ == "__main__":
    main()
