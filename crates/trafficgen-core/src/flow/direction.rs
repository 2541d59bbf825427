//! Which end of a flow is the client.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use hashbrown::HashMap;

use crate::packet::{TCP, UDP};

use super::assembly::{Endpoint, FlowKey};
use super::meter::FlowCounts;

/// Ports below this are services (RFC 6335).
const FIRST_UNPRIVILEGED_PORT: u16 = 1024;
/// Services of streaming and file transfer above the privileged ports: RTMP, the common second
/// ports of HTTP, HTTPS and RTSP, MMS.
const SERVICE_PORTS: [u16; 8] = [1755, 1935, 3128, 7070, 8000, 8080, 8443, 8554];
/// Ports of the servers that relay calls: STUN and TURN (RFC 8489), Zoom, Google Meet. Who speaks
/// sends them more than comes back, so that bytes do not show the server.
const RELAY_PORTS: [RangeInclusive<u16>; 3] = [3478..=3481, 8801..=8810, 19302..=19309];

/// For each flow, whether the end that sent its first packet is the client.
///
/// RTCP goes both ways alike; its server is that of the RTP it belongs to (the port below, or
/// another between its hosts).
pub fn initiators_are_clients(keys: &[FlowKey], flows: &[FlowCounts]) -> Vec<bool> {
    let mut by_ends = HashMap::new();
    let mut by_hosts: HashMap<(IpAddr, IpAddr), IpAddr> = HashMap::new();
    let mut clients: Vec<bool> = Vec::with_capacity(flows.len());
    for counts in flows {
        let key = &keys[counts.key as usize];
        let initiator = initiator_is_client(key, counts);
        clients.push(initiator);
        if counts.has_rtp() {
            let server = if initiator { key.responder } else { key.initiator };
            by_ends.insert(ordered(key.initiator, key.responder), server.address);
            by_hosts.insert(ordered(key.initiator.address, key.responder.address), server.address);
        }
    }
    for (client, counts) in clients.iter_mut().zip(flows).filter(|(_, counts)| counts.is_rtcp()) {
        let key = &keys[counts.key as usize];
        let below = |end: Endpoint| Endpoint { port: end.port.saturating_sub(1), ..end };
        let of_pair = by_ends.get(&ordered(below(key.initiator), below(key.responder)));
        let server = of_pair
            .or_else(|| by_hosts.get(&ordered(key.initiator.address, key.responder.address)));
        if let Some(server) = server.filter(|_| key.initiator.address != key.responder.address) {
            *client = key.responder.address == *server;
        }
    }
    clients
}

fn ordered<T: Ord>(a: T, b: T) -> (T, T) {
    if a <= b {
        (a, b)
    } else {
        (b, a)
    }
}

/// Whether the end that sent the flow's first packet is the client.
///
/// TCP: the end that sent the SYN. Otherwise the end whose port is not a service's; where that does
/// not tell them apart, the end that sent less payload: media flow from the server to the client.
fn initiator_is_client(key: &FlowKey, counts: &FlowCounts) -> bool {
    if key.protocol == TCP {
        match counts.syn_from_initiator {
            Some(initiator) => return initiator,
            None => {
                if let Some(from_initiator) = counts.syn_ack_from_initiator {
                    return !from_initiator;
                }
            }
        }
    }
    if matches!(key.protocol, TCP | UDP) && !counts.has_rtp() {
        match (is_service(key.initiator.port), is_service(key.responder.port)) {
            (false, true) => return true,
            (true, false) => return false,
            _ => {}
        }
    }
    let [sent, received] = counts.payload_bytes;
    // Equal counts (both 0, mostly): who speaks first asks.
    sent <= received
}

fn is_service(port: u16) -> bool {
    (1..FIRST_UNPRIVILEGED_PORT).contains(&port)
        || SERVICE_PORTS.contains(&port)
        || RELAY_PORTS.iter().any(|ports| ports.contains(&port))
}
