//! Headers of one direction of a flow, made once and patched for every packet.

use std::net::IpAddr;

use super::checksum::PartialSum;
use super::flow::{mac_of, EndMacs, FlowEnds, Protocol};
use super::WriteError;

pub(super) const ETHERNET_BYTES: usize = 14;
pub(super) const IPV4_BYTES: usize = 20;
pub(super) const IPV6_BYTES: usize = 40;
pub(super) const UDP_BYTES: usize = 8;
pub(super) const TCP_BYTES: usize = 20;
pub(super) const ICMP_BYTES: usize = 8;
pub(super) const IGMP_BYTES: usize = 8;
const LONGEST: usize = ETHERNET_BYTES + IPV6_BYTES + TCP_BYTES;

const HOP_LIMIT: u8 = 64;
const DONT_FRAGMENT: u16 = 0x4000;
const ICMP_ECHO_REPLY: u8 = 0;
const ICMP_ECHO_REQUEST: u8 = 8;
const ICMPV6_ECHO_REQUEST: u8 = 128;
const ICMPV6_ECHO_REPLY: u8 = 129;
const IGMPV2_REPORT: u8 = 0x16;

/// One direction of a flow: header bytes with their changing fields zero, and the sums over what
/// does not change.
#[derive(Clone, Debug)]
pub(super) struct Template {
    pub bytes: [u8; LONGEST],
    pub protocol: Protocol,
    pub is_ipv6: bool,
    /// Over the IPv4 header without total length and identification.
    pub ip_sum: PartialSum,
    /// Over pseudo-header and transport header without the lengths and what the packet says.
    pub transport_sum: PartialSum,
    pub next_identification: u16,
    /// Sequence number of the next TCP segment; of the next echo message.
    pub next_sequence: u32,
}

impl Template {
    /// Makes the header of one direction.
    pub fn new(
        flow: usize,
        ends: &FlowEnds,
        to_client: bool,
        macs: Option<EndMacs>,
    ) -> Result<Self, WriteError> {
        let (source, destination) =
            if to_client { (ends.server, ends.client) } else { (ends.client, ends.server) };
        let is_ipv6 = source.is_ipv6();
        if is_ipv6 != destination.is_ipv6() && ends.protocol != Protocol::NotIp {
            return Err(WriteError::MixedVersions {
                flow,
                server: ends.server,
                client: ends.client,
            });
        }
        let mut template = Self {
            bytes: [0; LONGEST],
            protocol: ends.protocol,
            is_ipv6,
            ip_sum: PartialSum::default(),
            transport_sum: PartialSum::default(),
            // Flows between the same two hosts start apart, so that their identifications differ
            // (RFC 6864).
            next_identification: (flow as u16).wrapping_mul(0x9e37) ^ (u16::from(to_client) << 15),
            next_sequence: 1,
        };
        let (server_mac, client_mac) = mac_pair(ends, macs);
        template.put_ethernet(if to_client {
            [client_mac, server_mac]
        } else {
            [server_mac, client_mac]
        });
        template.put_ip(source, destination);
        template.put_transport(flow, ends, to_client);
        Ok(template)
    }

    /// Length of the IP header.
    #[inline]
    pub fn ip_header_bytes(&self) -> usize {
        if self.is_ipv6 {
            IPV6_BYTES
        } else {
            IPV4_BYTES
        }
    }

    /// Where the transport header begins in the frame.
    #[inline]
    pub fn transport_offset(&self) -> usize {
        ETHERNET_BYTES + self.ip_header_bytes()
    }

    fn put_ethernet(&mut self, [destination, source]: [[u8; 6]; 2]) {
        self.bytes[..6].copy_from_slice(&destination);
        self.bytes[6..12].copy_from_slice(&source);
        let ether_type: u16 = if self.is_ipv6 { 0x86dd } else { 0x0800 };
        self.bytes[12..14].copy_from_slice(&ether_type.to_be_bytes());
    }

    fn put_ip(&mut self, source: IpAddr, destination: IpAddr) {
        let number = self.protocol.number(self.is_ipv6);
        let is_tcp = self.protocol == Protocol::Tcp;
        let addresses = match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let header = &mut self.bytes[ETHERNET_BYTES..ETHERNET_BYTES + IPV4_BYTES];
                header[0] = 0x45;
                header[6..8]
                    .copy_from_slice(&(if is_tcp { DONT_FRAGMENT } else { 0 }).to_be_bytes());
                header[8] = HOP_LIMIT;
                header[9] = number;
                header[12..16].copy_from_slice(&source.octets());
                header[16..20].copy_from_slice(&destination.octets());
                self.ip_sum = PartialSum::of(header);
                PartialSum::of(&header[12..20])
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let header = &mut self.bytes[ETHERNET_BYTES..ETHERNET_BYTES + IPV6_BYTES];
                header[0] = 0x60;
                header[6] = number;
                header[7] = HOP_LIMIT;
                header[8..24].copy_from_slice(&source.octets());
                header[24..40].copy_from_slice(&destination.octets());
                PartialSum::of(&header[8..40])
            }
            // Only frames without IP get here, and they are never written.
            _ => PartialSum::default(),
        };
        self.transport_sum = addresses.word(u16::from(number));
    }

    fn put_transport(&mut self, flow: usize, ends: &FlowEnds, to_client: bool) {
        let offset = self.transport_offset();
        let (source_port, destination_port) = if to_client {
            (ends.server_port, ends.client_port)
        } else {
            (ends.client_port, ends.server_port)
        };
        let header = &mut self.bytes[offset..];
        match self.protocol {
            Protocol::Udp | Protocol::Tcp => {
                header[..2].copy_from_slice(&source_port.to_be_bytes());
                header[2..4].copy_from_slice(&destination_port.to_be_bytes());
                self.transport_sum = self.transport_sum.plus(PartialSum::of(&header[..4]));
            }
            Protocol::IcmpEcho => {
                header[0] = match (self.is_ipv6, to_client) {
                    (false, true) => ICMP_ECHO_REPLY,
                    (false, false) => ICMP_ECHO_REQUEST,
                    (true, true) => ICMPV6_ECHO_REPLY,
                    (true, false) => ICMPV6_ECHO_REQUEST,
                };
                header[4..6].copy_from_slice(&(flow as u16).to_be_bytes());
                let message = PartialSum::of(&header[..ICMP_BYTES]);
                // ICMP has no pseudo-header, ICMPv6 has (RFC 4443 section 2.3).
                self.transport_sum =
                    if self.is_ipv6 { self.transport_sum.plus(message) } else { message };
            }
            Protocol::Igmp => {
                // Nothing in it changes, so its checksum (RFC 2236 section 2.3) is part of the
                // template.
                header[0] = IGMPV2_REPORT;
                let checksum = PartialSum::of(&header[..IGMP_BYTES]).checksum();
                header[2..4].copy_from_slice(&checksum.to_be_bytes());
            }
            Protocol::Plain(_) | Protocol::NotIp => {}
        }
    }
}

/// The ends' addresses: those given, except that a group keeps the one that its IP address asks
/// for.
fn mac_pair(ends: &FlowEnds, macs: Option<EndMacs>) -> ([u8; 6], [u8; 6]) {
    let chosen = |address: IpAddr, given: Option<[u8; 6]>| match given {
        Some(mac) if !address.is_multicast() => mac,
        _ => mac_of(address),
    };
    (
        chosen(ends.server, macs.map(|macs| macs.server)),
        chosen(ends.client, macs.map(|macs| macs.client)),
    )
}
