//! Tunnels, looked into only where `--decapsulate` asks for it: IP in IP (RFC 2003, RFC 4213), GRE
//! and ERSPAN (RFC 2784, RFC 2890, RFC 2637), VXLAN (RFC 7348), Geneve (RFC 8926) and Teredo (RFC
//! 4380).

use super::decode::Decoded;
use super::link::{ethernet, ethertype, ppp, raw_ip, u16_at, Network};
use super::network::Fragment;
use super::transport::UDP;

const IPV4_IN_IP: u8 = 4;
const IPV6_IN_IP: u8 = 41;
const GRE: u8 = 47;
const MPLS_IN_IP: u8 = 137;
const VXLAN_PORTS: [u16; 2] = [4789, 8472];
const GENEVE_PORT: u16 = 6081;
const TEREDO_PORT: u16 = 3544;

/// Where the packet inside begins, if there is one.
pub(super) fn inside(packet: &Decoded<'_>, data: &[u8]) -> Option<Network> {
    if matches!(packet.fragment, Fragment::Later(_)) {
        return None;
    }
    match packet.protocol {
        IPV4_IN_IP | IPV6_IN_IP => raw_ip(data, packet.upper),
        MPLS_IN_IP => ethertype(data, 0x8847, packet.upper),
        GRE => gre(data, packet.upper),
        UDP => udp_tunnel(data, packet.upper),
        _ => None,
    }
}

fn udp_tunnel(data: &[u8], at: usize) -> Option<Network> {
    let (source, destination) = (u16_at(data, at)?, u16_at(data, at + 2)?);
    let payload = at + 8;
    if VXLAN_PORTS.contains(&destination) {
        let network_identifier_given = data.get(payload)? & 0x08 != 0;
        return if network_identifier_given { ethernet(data, payload + 8) } else { None };
    }
    if destination == GENEVE_PORT {
        let options = usize::from(data.get(payload)? & 0x3f) * 4;
        let kind = u16_at(data, payload + 2)?;
        return encapsulated(data, kind, payload + 8 + options);
    }
    if source == TEREDO_PORT || destination == TEREDO_PORT {
        return teredo(data, payload);
    }
    None
}

fn encapsulated(data: &[u8], kind: u16, at: usize) -> Option<Network> {
    match kind {
        0x6558 => ethernet(data, at),
        0x880b => ppp(data, at),
        _ => ethertype(data, kind, at),
    }
}

fn gre(data: &[u8], at: usize) -> Option<Network> {
    let (flags, kind) = (u16_at(data, at)?, u16_at(data, at + 2)?);
    let version = flags & 0x7;
    let optional = |bit: u16| if flags & bit != 0 { 4 } else { 0 };
    let checksum_or_routing = if flags & 0xc000 != 0 { 4 } else { 0 };
    // Version 1 is PPTP's, whose acknowledgement has a bit of its own.
    let acknowledgement = if version == 1 { optional(0x0080) } else { 0 };
    let header = 4 + checksum_or_routing + optional(0x2000) + optional(0x1000) + acknowledgement;
    match kind {
        // ERSPAN type II has 8 bytes of its own after a GRE sequence number; type I has none.
        0x88be => ethernet(data, at + header + if flags & 0x1000 != 0 { 8 } else { 0 }),
        0x22eb => ethernet(data, at + header + 12),
        _ => encapsulated(data, kind, at + header),
    }
}

/// Teredo may put an authentication and an origin header before the IPv6 packet.
fn teredo(data: &[u8], mut at: usize) -> Option<Network> {
    loop {
        match u16_at(data, at)? {
            0x0001 => {
                let (identifier, value) = (*data.get(at + 2)?, *data.get(at + 3)?);
                at += 4 + usize::from(identifier) + usize::from(value) + 9;
            }
            0x0000 => at += 8,
            _ => return raw_ip(data, at),
        }
    }
}
