//! IPv4 and IPv6 with extension headers and fragments (RFC 791, RFC 8200). Headers are parsed by
//! etherparse.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::{IpAuthHeaderSlice, Ipv4HeaderSlice, Ipv6HeaderSlice};

use super::decode::Decoded;
use super::link::Network;

/// Source and destination of a packet. IPv6 addresses stay where they were captured: copying them
/// costs more than all else that is read from a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses<'a> {
    V4 { source: u32, destination: u32 },
    V6(&'a [u8; 32]),
}

impl Addresses<'_> {
    /// Source and destination as numbers.
    #[inline]
    pub fn to_bits(self) -> (u128, u128) {
        match self {
            Self::V4 { source, destination } => (u128::from(source), u128::from(destination)),
            Self::V6(octets) => {
                let half = |at: usize| {
                    let mut bytes = [0; 16];
                    bytes.copy_from_slice(&octets[at..at + 16]);
                    u128::from_be_bytes(bytes)
                };
                (half(0), half(16))
            }
        }
    }

    /// Source and destination in the standard library's form.
    pub fn to_ip(self) -> (IpAddr, IpAddr) {
        match self {
            Self::V4 { source, destination } => {
                (Ipv4Addr::from_bits(source).into(), Ipv4Addr::from_bits(destination).into())
            }
            Self::V6(_) => {
                let (source, destination) = self.to_bits();
                (Ipv6Addr::from_bits(source).into(), Ipv6Addr::from_bits(destination).into())
            }
        }
    }
}

/// Whether a packet is a part of a datagram; the number is the datagram's identification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragment {
    Whole,
    First(u32),
    Later(u32),
}

const IPV6_HEADER_BYTES: usize = 40;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION_HEADER: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;
const MOBILITY: u8 = 135;

/// Reads the IP header at the place that the link layer named; `wire_bytes` is the record's
/// original length. False where there is none.
#[inline(always)]
pub(super) fn read_ip<'a>(
    network: Network,
    data: &'a [u8],
    wire_bytes: u32,
    packet: &mut Decoded<'a>,
) -> bool {
    let read = match network {
        Network::V4(at) => read_ipv4(data, at, wire_bytes, packet),
        Network::V6(at) => read_ipv6(data, at, wire_bytes, packet),
    };
    read.is_some()
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

#[inline(always)]
fn read_ipv4<'a>(
    data: &'a [u8],
    at: usize,
    wire_bytes: u32,
    packet: &mut Decoded<'a>,
) -> Option<()> {
    let header = Ipv4HeaderSlice::from_slice(data.get(at..)?).ok()?;
    packet.addresses = Addresses::V4 {
        source: u32::from_be_bytes(header.source()),
        destination: u32::from_be_bytes(header.destination()),
    };
    packet.protocol = header.protocol().0;
    packet.ip_bytes = total_bytes(u32::from(header.total_len()), at, wire_bytes);
    packet.upper = at + header.slice().len();
    let offset = header.fragments_offset().value();
    let identification = u32::from(header.identification());
    packet.fragment = match (offset, header.more_fragments()) {
        (0, false) => Fragment::Whole,
        (0, true) => Fragment::First(identification),
        _ => Fragment::Later(identification),
    };
    if packet.protocol == AUTHENTICATION_HEADER {
        if let Ok(authentication) = IpAuthHeaderSlice::from_slice(data.get(packet.upper..)?) {
            packet.protocol = authentication.next_header().0;
            packet.upper += authentication.slice().len();
        }
    }
    packet.header_bytes = packet.upper - at;
    Some(())
}

#[inline(never)]
fn read_ipv6<'a>(
    data: &'a [u8],
    at: usize,
    wire_bytes: u32,
    packet: &mut Decoded<'a>,
) -> Option<()> {
    let header = Ipv6HeaderSlice::from_slice(data.get(at..)?).ok()?;
    packet.addresses = Addresses::V6(data.get(at + 8..at + IPV6_HEADER_BYTES)?.try_into().ok()?);
    (packet.upper, packet.protocol, packet.fragment) =
        ipv6_extensions(data, at + IPV6_HEADER_BYTES, header.next_header().0);
    let payload = u32::from(header.payload_length());
    let stated = if payload == 0 { 0 } else { payload + IPV6_HEADER_BYTES as u32 };
    packet.ip_bytes = total_bytes(stated, at, wire_bytes);
    packet.header_bytes = packet.upper - at;
    Some(())
}

/// Walks the extension headers (RFC 8200, section 4) as far as they were captured: where the upper
/// layer begins, its protocol, and the fragment header if there is one. etherparse's own iterator
/// may not be used on cut-off headers.
fn ipv6_extensions(data: &[u8], mut at: usize, mut next: u8) -> (usize, u8, Fragment) {
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
            fragment = ipv6_fragment(header);
        }
        next = following;
        at += header_bytes;
        if matches!(fragment, Fragment::Later(_)) {
            break;
        }
    }
    (at, next, fragment)
}

fn ipv6_fragment(header: &[u8]) -> Fragment {
    let field = u16::from_be_bytes([header[2], header[3]]);
    let (offset, more) = (field >> 3, field & 1 == 1);
    let identification = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    match (offset, more) {
        (0, false) => Fragment::Whole,
        (0, true) => Fragment::First(identification),
        _ => Fragment::Later(identification),
    }
}
