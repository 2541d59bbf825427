//! Who talks to whom: the facts of a flow that its headers repeat in every packet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What follows the IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Udp,
    Tcp,
    /// Echo request (to the server) and reply, of ICMP or ICMPv6 as the addresses say.
    IcmpEcho,
    /// IGMP, as a membership report of version 2 for no group.
    Igmp,
    /// Any other IP protocol by its number: zero bytes behind the IP header.
    Plain(u8),
    /// Frames without IP, which are left out of the capture.
    NotIp,
}

impl Protocol {
    /// From the protocol number of IANA's registry.
    #[must_use]
    pub fn from_number(number: u8) -> Self {
        match number {
            1 | 58 => Self::IcmpEcho,
            2 => Self::Igmp,
            6 => Self::Tcp,
            17 => Self::Udp,
            other => Self::Plain(other),
        }
    }

    /// The number in the IP header; ICMP differs between the versions.
    pub(super) fn number(self, is_ipv6: bool) -> u8 {
        match self {
            Self::Udp => 17,
            Self::Tcp => 6,
            Self::IcmpEcho if is_ipv6 => 58,
            Self::IcmpEcho => 1,
            Self::Igmp => 2,
            Self::Plain(number) => number,
            Self::NotIp => 255,
        }
    }
}

/// Row of the flow table as far as headers need it.
#[derive(Clone, Copy, Debug)]
pub struct FlowEnds {
    pub protocol: Protocol,
    pub server: IpAddr,
    pub server_port: u16,
    pub client: IpAddr,
    pub client_port: u16,
    /// RTP payload type, 7 bits.
    pub payload_type: u8,
    /// SSRC of RTP packets that say none themselves.
    pub ssrc: u32,
}

/// Addresses of the network cards of the two ends, where they are not made from IP addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndMacs {
    pub server: [u8; 6],
    pub client: [u8; 6],
}

/// Address of the network card that an IP address gets: locally administered, the same for the same
/// address.
///
/// Multicast groups get the group addresses of RFC 1112 section 6.4 and RFC 2464 section 7.
pub(super) fn mac_of(address: IpAddr) -> [u8; 6] {
    match address {
        IpAddr::V4(address) => mac_of_v4(address),
        IpAddr::V6(address) => mac_of_v6(address),
    }
}

fn mac_of_v4(address: Ipv4Addr) -> [u8; 6] {
    let [a, b, c, d] = address.octets();
    if address.is_multicast() {
        return [0x01, 0x00, 0x5e, b & 0x7f, c, d];
    }
    [0x02, 0x00, a, b, c, d]
}

fn mac_of_v6(address: Ipv6Addr) -> [u8; 6] {
    let octets = address.octets();
    if address.is_multicast() {
        return [0x33, 0x33, octets[12], octets[13], octets[14], octets[15]];
    }
    // FNV-1a over the 16 bytes; the second byte's top bit keeps clear of the addresses made from
    // IPv4.
    let hash = octets.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &octet| {
        (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let [_, _, _, a, b, c, d, e] = (hash ^ (hash >> 40)).to_be_bytes();
    [0x02, a | 0x80, b, c, d, e]
}
