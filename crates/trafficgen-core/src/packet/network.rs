//! IPv4 and IPv6 with extension headers and fragments (RFC 791, RFC 8200). Headers are parsed by etherparse.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::{IpAuthHeaderSlice, Ipv4HeaderSlice, Ipv6HeaderSlice};

use super::link::Network;

/// Source and destination of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    V4 { source: u32, destination: u32 },
    V6 { source: u128, destination: u128 },
}

impl Addresses {
    /// Source and destination in the standard library's form.
    pub fn to_ip(self) -> (IpAddr, IpAddr) {
        match self {
            Self::V4 { source, destination } => {
                (Ipv4Addr::from_bits(source).into(), Ipv4Addr::from_bits(destination).into())
            }
            Self::V6 { source, destination } => {
                (Ipv6Addr::from_bits(source).into(), Ipv6Addr::from_bits(destination).into())
            }
        }
    }
}

/// What identifies the fragments of one datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FragmentKey {
    pub source: u128,
    pub destination: u128,
    pub identification: u32,
    pub protocol: u8,
}

/// Whether a packet is a part of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragment {
    Whole,
    First(FragmentKey),
    Later(FragmentKey),
}

/// What the IP header says.
#[derive(Clone, Copy, Debug)]
pub(super) struct IpFacts {
    pub addresses: Addresses,
    /// Upper-layer protocol, behind extension headers.
    pub protocol: u8,
    /// Total length of the packet.
    pub ip_bytes: u32,
    /// Bytes of headers before the upper layer.
    pub header_bytes: usize,
    /// Where the upper layer begins in the record.
    pub upper: usize,
    pub fragment: Fragment,
}

const IPV6_HEADER_BYTES: usize = 40;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION_HEADER: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;
const MOBILITY: u8 = 135;

/// Reads the IP header at the place that the link layer named; `wire_bytes` is the record's original length.
#[inline]
pub(super) fn ip(network: Network, data: &[u8], wire_bytes: u32) -> Option<IpFacts> {
    match network {
        Network::V4(at) => ipv4(data, at, wire_bytes),
        Network::V6(at) => ipv6(data, at, wire_bytes),
    }
}

/// The header's own length, unless it is 0 (segmentation offload) or beyond what was on the wire.
#[inline]
fn total_bytes(stated: u32, at: usize, wire_bytes: u32) -> u32 {
    let on_wire = wire_bytes.saturating_sub(at as u32);
    if stated == 0 || stated > on_wire {
        on_wire
    } else {
        stated
    }
}

#[inline]
fn ipv4(data: &[u8], at: usize, wire_bytes: u32) -> Option<IpFacts> {
    let header = Ipv4HeaderSlice::from_slice(data.get(at..)?).ok()?;
    let mut header_bytes = header.slice().len();
    let mut protocol = header.protocol().0;
    let addresses = Addresses::V4 {
        source: u32::from_be_bytes(header.source()),
        destination: u32::from_be_bytes(header.destination()),
    };
    let offset = header.fragments_offset().value();
    let fragment = if offset == 0 && !header.more_fragments() {
        Fragment::Whole
    } else {
        let key = fragment_key(addresses, u32::from(header.identification()), protocol);
        if offset == 0 {
            Fragment::First(key)
        } else {
            Fragment::Later(key)
        }
    };
    if protocol == AUTHENTICATION_HEADER {
        if let Ok(authentication) = IpAuthHeaderSlice::from_slice(data.get(at + header_bytes..)?) {
            protocol = authentication.next_header().0;
            header_bytes += authentication.slice().len();
        }
    }
    let ip_bytes = total_bytes(u32::from(header.total_len()), at, wire_bytes);
    Some(IpFacts { addresses, protocol, ip_bytes, header_bytes, upper: at + header_bytes, fragment })
}

fn ipv6(data: &[u8], at: usize, wire_bytes: u32) -> Option<IpFacts> {
    let header = Ipv6HeaderSlice::from_slice(data.get(at..)?).ok()?;
    let addresses = Addresses::V6 {
        source: u128::from_be_bytes(header.source()),
        destination: u128::from_be_bytes(header.destination()),
    };
    let (upper, protocol, fragment) = ipv6_extensions(data, at + IPV6_HEADER_BYTES, header.next_header().0, addresses);
    let payload = u32::from(header.payload_length());
    let stated = if payload == 0 { 0 } else { payload + IPV6_HEADER_BYTES as u32 };
    let ip_bytes = total_bytes(stated, at, wire_bytes);
    Some(IpFacts { addresses, protocol, ip_bytes, header_bytes: upper - at, upper, fragment })
}

/// Walks the extension headers (RFC 8200, section 4) as far as they were captured: where the upper layer begins, its
/// protocol, and the fragment header if there is one. etherparse's own iterator may not be used on cut-off headers.
fn ipv6_extensions(data: &[u8], mut at: usize, mut next: u8, addresses: Addresses) -> (usize, u8, Fragment) {
    let mut fragment = Fragment::Whole;
    while let Some(&[following, length, ..]) = data.get(at..) {
        let header_bytes = match next {
            HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | MOBILITY => 8 * (usize::from(length) + 1),
            AUTHENTICATION_HEADER => 4 * (usize::from(length) + 2),
            FRAGMENT => 8,
            _ => break,
        };
        let Some(header) = data.get(at..at + header_bytes) else {
            break;
        };
        if next == FRAGMENT {
            fragment = ipv6_fragment(header, addresses);
        }
        next = following;
        at += header_bytes;
        if matches!(fragment, Fragment::Later(_)) {
            break;
        }
    }
    (at, next, fragment)
}

fn ipv6_fragment(header: &[u8], addresses: Addresses) -> Fragment {
    let field = u16::from_be_bytes([header[2], header[3]]);
    let (offset, more) = (field >> 3, field & 1 == 1);
    let identification = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    // The upper protocol of later fragments is that of the first (RFC 8200, 4.5), so it is not part of the key.
    let key = fragment_key(addresses, identification, 0);
    match (offset, more) {
        (0, false) => Fragment::Whole,
        (0, true) => Fragment::First(key),
        _ => Fragment::Later(key),
    }
}

fn fragment_key(addresses: Addresses, identification: u32, protocol: u8) -> FragmentKey {
    let (source, destination) = match addresses {
        Addresses::V4 { source, destination } => (u128::from(source), u128::from(destination)),
        Addresses::V6 { source, destination } => (source, destination),
    };
    FragmentKey { source, destination, identification, protocol }
}
