//! UDP and TCP headers (RFC 768, RFC 9293), also those that the capture's snapshot length cut. Parsed by etherparse.

use etherparse::{TcpHeaderSlice, TcpOptionElement};

use super::link::u16_at;
use super::network::{Fragment, IpFacts};

pub const ICMP: u8 = 1;
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
pub const ICMPV6: u8 = 58;

const UDP_HEADER_BYTES: usize = 8;
const TCP_MINIMUM_HEADER_BYTES: usize = 20;
pub(super) const SYN: u8 = 0x02;

/// Fields of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpFacts {
    pub sequence: u32,
    pub acknowledgement: u32,
    /// CWR ECE URG ACK PSH RST SYN FIN, highest bit first.
    pub flags: u8,
    /// As sent; the window scale of the handshake is not applied.
    pub window: u16,
    /// Shift of the window scale option, on a SYN that has one (RFC 7323).
    pub window_shift: Option<u8>,
}

/// Ports, payload and TCP fields of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct TransportFacts<'a> {
    pub source_port: u16,
    pub destination_port: u16,
    pub payload_bytes: u32,
    /// What was captured of the payload.
    pub payload: &'a [u8],
    pub tcp: Option<TcpFacts>,
}

/// Reads the transport header; protocols without one that is read here have ports 0 and all of the IP payload.
/// `None` where the ports were not captured.
#[inline]
pub(super) fn transport<'a>(ip: &IpFacts, data: &'a [u8]) -> Option<TransportFacts<'a>> {
    let captured = data.get(ip.upper..).unwrap_or(&[]);
    let upper_bytes = ip.ip_bytes.saturating_sub(ip.header_bytes as u32);
    let captured = &captured[..captured.len().min(upper_bytes as usize)];
    match (ip.protocol, ip.fragment) {
        (UDP, Fragment::Whole | Fragment::First(_)) => udp(captured, upper_bytes),
        (TCP, Fragment::Whole | Fragment::First(_)) => tcp(captured, upper_bytes),
        _ => Some(TransportFacts {
            source_port: 0,
            destination_port: 0,
            payload_bytes: upper_bytes,
            payload: captured,
            tcp: None,
        }),
    }
}

#[inline]
fn udp(captured: &[u8], upper_bytes: u32) -> Option<TransportFacts<'_>> {
    Some(TransportFacts {
        source_port: u16_at(captured, 0)?,
        destination_port: u16_at(captured, 2)?,
        payload_bytes: upper_bytes.saturating_sub(UDP_HEADER_BYTES as u32),
        payload: captured.get(UDP_HEADER_BYTES..).unwrap_or(&[]),
        tcp: None,
    })
}

#[inline]
fn tcp(captured: &[u8], upper_bytes: u32) -> Option<TransportFacts<'_>> {
    let Ok(header) = TcpHeaderSlice::from_slice(captured) else {
        return cut_tcp(captured, upper_bytes);
    };
    let header_bytes = header.slice().len();
    let flags = header.slice()[13];
    let window_shift = if flags & SYN != 0 { window_shift(&header) } else { None };
    Some(TransportFacts {
        source_port: header.source_port(),
        destination_port: header.destination_port(),
        payload_bytes: upper_bytes.saturating_sub(header_bytes as u32),
        payload: &captured[header_bytes..],
        tcp: Some(TcpFacts {
            sequence: header.sequence_number(),
            acknowledgement: header.acknowledgment_number(),
            flags,
            window: header.window_size(),
            window_shift,
        }),
    })
}

/// A header that was cut, or whose length is wrong: what its fixed part says, if that is there.
#[cold]
fn cut_tcp(captured: &[u8], upper_bytes: u32) -> Option<TransportFacts<'_>> {
    let (source_port, destination_port) = (u16_at(captured, 0)?, u16_at(captured, 2)?);
    let fixed = captured.get(..TCP_MINIMUM_HEADER_BYTES);
    let stated = fixed.map_or(TCP_MINIMUM_HEADER_BYTES, |header| usize::from(header[12] >> 4) * 4);
    let header_bytes = stated.max(TCP_MINIMUM_HEADER_BYTES) as u32;
    let u32_at =
        |header: &[u8], at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    Some(TransportFacts {
        source_port,
        destination_port,
        payload_bytes: upper_bytes.saturating_sub(header_bytes),
        payload: &[],
        tcp: fixed.map(|header| TcpFacts {
            sequence: u32_at(header, 4),
            acknowledgement: u32_at(header, 8),
            flags: header[13],
            window: u16::from_be_bytes([header[14], header[15]]),
            window_shift: None,
        }),
    })
}

#[cold]
fn window_shift(header: &TcpHeaderSlice<'_>) -> Option<u8> {
    header.options_iterator().find_map(|option| match option {
        Ok(TcpOptionElement::WindowScale(shift)) => Some(shift.min(14)),
        _ => None,
    })
}
