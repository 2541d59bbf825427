"""TCP flows of a trafficgen export: the server writes the application's data at its times, TRex does the TCP.

Load it in the TRex console (server started with --astf) with `start -f profile.py -m 1 -d 80`.
"""

import argparse
import json
import os

from trex.astf.api import (
    ASTFAssociationRule,
    ASTFIPGen,
    ASTFIPGenDist,
    ASTFIPGenGlobal,
    ASTFProfile,
    ASTFProgram,
    ASTFTCPClientTemplate,
    ASTFTCPServerTemplate,
    ASTFTemplate,
)

# Longest delay of one step, us; longer ones take several.
LONGEST_DELAY_US = 100000000


def wait(program, delay_us):
    while delay_us > 0:
        program.delay(min(delay_us, LONGEST_DELAY_US))
        delay_us -= LONGEST_DELAY_US


def programs_of(writes):
    """Return the programs of client and server for writes of (us from the start, bytes)."""
    client = ASTFProgram()
    client.connect()
    client.recv(sum(size for _, size in writes))
    server = ASTFProgram()
    server.accept()
    # Otherwise each write would wait until the one before is acknowledged, and its delay would begin there.
    server.set_send_blocking(False)
    before_us = 0
    for time_us, size in writes:
        wait(server, time_us - before_us)
        server.send("x", size=size, fill="x")
        before_us = time_us
    server.wait_for_peer_close()
    return client, server


class Schedule(object):
    def get_profile(self, tunables, **kwargs):
        parser = argparse.ArgumentParser(description="TCP flows of a trafficgen export.")
        parser.add_argument("--clients", nargs=2, default=['16.0.0.1', '16.0.0.254'], help="first and last address")
        parser.add_argument("--servers", nargs=2, default=['48.0.0.1', '48.0.0.254'], help="first and last address")
        parser.add_argument("--sessions", type=int, default=1, help="sessions in all; 0: no limit")
        parser.add_argument("--rate", type=float, default=1.0, help="sessions started a second, at least 0.5")
        arguments = parser.parse_args(tunables)
        here = os.path.dirname(os.path.abspath(__file__))
        with open(os.path.join(here, "writes.json")) as stream:
            flows = json.load(stream)["flows"]
        addresses = ASTFIPGen(
            glob=ASTFIPGenGlobal(ip_offset="1.0.0.0"),
            dist_client=ASTFIPGenDist(ip_range=arguments.clients, distribution="seq"),
            dist_server=ASTFIPGenDist(ip_range=arguments.servers, distribution="seq"),
        )
        templates = []
        for flow in flows:
            client, server = programs_of(flow["writes"])
            templates.append(
                ASTFTemplate(
                    client_template=ASTFTCPClientTemplate(
                        program=client,
                        ip_gen=addresses,
                        port=flow["port"],
                        cps=arguments.rate,
                        limit=arguments.sessions or None,
                    ),
                    server_template=ASTFTCPServerTemplate(
                        program=server, assoc=ASTFAssociationRule(port=flow["port"])
                    ),
                )
            )
        return ASTFProfile(default_ip_gen=addresses, templates=templates)


def register():
    return Schedule()
