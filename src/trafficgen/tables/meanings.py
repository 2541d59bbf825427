"""The meaning of each column of the packet, flow, signalling and RTCP tables, with its unit."""

from __future__ import annotations

#: Column of :data:`~trafficgen.tables.packet.PACKET_SCHEMA` -> meaning.
PACKET_MEANINGS = {
    "time_ns": (
        "When the sender put it on the wire (of a capture: when it was seen), ns from the origin."
    ),
    "flow": "Number of its flow: a row of the flow table.",
    "to_client": "Direction: whether it goes to the client.",
    "frame_bytes": "Length on the wire with the link header, bytes; of a capture the original one.",
    "ip_bytes": "IP total length, bytes; 0 where there is no IP.",
    "payload_bytes": "Payload of the transport protocol, bytes.",
    "rtp_ssrc": "RTP synchronisation source (RFC 3550); null where it is not RTP.",
    "rtp_sequence": "RTP sequence number.",
    "rtp_timestamp": "RTP timestamp, ticks of the stream's clock.",
    "rtp_marker": "RTP marker bit; of video the last packet of a frame.",
    "tcp_sequence": "TCP sequence number (RFC 9293); null where it is not TCP.",
    "tcp_acknowledgement": "TCP acknowledgement number.",
    "tcp_flags": "TCP flags: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128.",
    "tcp_window": "TCP receive window, bytes, scaled where the handshake was seen (RFC 7323).",
    "arrival_ns": (
        "When it reached the receiver, ns from the origin; null: lost, or unknown where all are"
        " null."
    ),
    "phase": "Phase of the session it belongs to, where a generator says so.",
    "scale_level": "Index into the session's ladder of encoding rates.",
    "retransmission": "Whether it repeats data sent before.",
}

#: Column of :data:`~trafficgen.tables.flow.FLOW_SCHEMA` -> meaning.
FLOW_MEANINGS = {
    "flow": (
        "Number of the flow, from 0: of captures heaviest first, else in the order of the source."
    ),
    "session": "Number of the session that groups the flows of one playout.",
    "protocol": "udp, tcp or another IP protocol by name; non-ip where there is no IP.",
    "server": "Address of the server: the end that sends the media.",
    "server_port": "Its port; 0 where the protocol has no ports.",
    "client": "Address of the client.",
    "client_port": "Its port.",
    "media": "What it carries: audio, video, mixed, control, bulk or unknown.",
    "ssrc": (
        "RTP synchronisation source of the RTP stream with most packets; null where it is not RTP."
    ),
    "payload_type": "RTP payload type of that stream.",
    "clock_hz": "RTP timestamp clock of that stream, Hz.",
    "first_time_ns": "Time of its first packet, ns from the origin.",
    "last_time_ns": "Time of its last packet, ns from the origin.",
    "packets_to_client": "Packets to the client.",
    "packets_to_server": "Packets to the server.",
    "frame_bytes_to_client": "Bytes on the wire to the client, link headers included.",
    "frame_bytes_to_server": "Bytes on the wire to the server, link headers included.",
    "payload_bytes_to_client": "Transport payload to the client, bytes.",
    "payload_bytes_to_server": "Transport payload to the server, bytes.",
}

#: Column of :data:`~trafficgen.tables.signalling.SIGNALLING_SCHEMA` -> meaning.
SIGNALLING_MEANINGS = {
    "time_ns": "Time of the segment in which the message begins, ns from the origin.",
    "flow": "Flow that carries the message.",
    "to_client": "Direction: whether it goes to the client.",
    "method": "RTSP method of a request, such as PLAY; null for a response.",
    "status": "RTSP status of a response, such as 200; null for a request.",
    "sequence": "CSeq of the message.",
    "uri": "Address that the request names.",
    "client_ports": "Ports of the client in the Transport header.",
    "server_ports": "Ports of the server in the Transport header.",
    "interleaved_channels": (
        "Channels of the Transport header when media travel in the RTSP connection."
    ),
    "media_clocks": (
        "Media, payload types and clocks (Hz) that a session description in the message declares."
    ),
}

#: Column of :data:`~trafficgen.tables.rtcp.RTCP_SCHEMA` -> meaning.
RTCP_MEANINGS = {
    "time_ns": "Time of the packet, ns from the origin.",
    "flow": "Flow that carries the report.",
    "to_client": "Direction: whether it goes to the client.",
    "reporter_ssrc": "RTP source of who reports.",
    "ntp": (
        "Sender's wall clock, 1/2^32 s since 1900; null, with the next three, in a receiver report."
    ),
    "rtp_timestamp": "The same instant in units of the RTP clock.",
    "sender_packets": "RTP packets that it has sent.",
    "sender_bytes": "RTP payload that it has sent, bytes.",
    "ssrc": (
        "RTP source that the block is about; null, with all that follow, where a report has no"
        " block."
    ),
    "fraction_lost": "Packets lost since the last report, in 1/256.",
    "cumulative_lost": "Packets lost in all; duplicates make it negative.",
    "highest_sequence": "Highest sequence number received, with its cycles.",
    "jitter": "Interarrival jitter, in units of the RTP clock.",
    "last_sender_report": (
        "Middle 32 bits of the last sender report's NTP time (LSR); 0 where none came."
    ),
    "delay_since_last": "Time since then (DLSR), in 1/65536 s.",
}
