//! Which end of a flow is the client.

use crate::packet::{TCP, UDP};

use super::assembly::FlowKey;
use super::meter::FlowCounts;

/// Ports below this are services (RFC 6335).
const FIRST_UNPRIVILEGED_PORT: u16 = 1024;
/// Services of streaming and file transfer above the privileged ports: RTMP, the common second ports of HTTP, HTTPS and
/// RTSP, MMS.
const SERVICE_PORTS: [u16; 8] = [1755, 1935, 3128, 7070, 8000, 8080, 8443, 8554];

/// Whether the end that sent the flow's first packet is the client.
///
/// TCP: the end that sent the SYN. Otherwise the end whose port is not a service's; where that does not tell them apart,
/// the end that sent less payload: media flow from the server to the client.
pub fn initiator_is_client(key: &FlowKey, counts: &FlowCounts) -> bool {
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
    (1..FIRST_UNPRIVILEGED_PORT).contains(&port) || SERVICE_PORTS.contains(&port)
}
