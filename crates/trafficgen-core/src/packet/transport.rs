//! UDP and TCP headers (RFC 768, RFC 9293), also those that the capture's snapshot length cut.
//! Parsed by etherparse.

use etherparse::{TcpHeaderSlice, TcpOptionElement};

use super::decode::Decoded;
use super::link::u16_at;
use super::network::Fragment;

pub const ICMP: u8 = 1;
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
pub const ICMPV6: u8 = 58;

const UDP_HEADER_BYTES: usize = 8;
const TCP_MINIMUM_HEADER_BYTES: usize = 20;
pub(super) const SYN: u8 = 0x02;

/// Fields of a TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

/// Reads the transport header; protocols without one that is read here have ports 0 and all of the
/// IP payload. False where the ports were not captured.
#[inline(always)]
pub(super) fn read_transport<'a>(data: &'a [u8], packet: &mut Decoded<'a>) -> bool {
    let captured = data.get(packet.upper..).unwrap_or(&[]);
    let upper_bytes = packet.ip_bytes.saturating_sub(packet.header_bytes as u32);
    let captured = &captured[..captured.len().min(upper_bytes as usize)];
    packet.has_tcp = false;
    let later = matches!(packet.fragment, Fragment::Later(_));
    match packet.protocol {
        UDP if !later => read_udp(captured, upper_bytes, packet).is_some(),
        TCP if !later => read_tcp(captured, upper_bytes, packet).is_some(),
        _ => {
            (packet.source_port, packet.destination_port) = (0, 0);
            packet.payload_bytes = upper_bytes;
            packet.payload = captured;
            true
        }
    }
}

#[inline(always)]
fn read_udp<'a>(captured: &'a [u8], upper_bytes: u32, packet: &mut Decoded<'a>) -> Option<()> {
    packet.source_port = u16_at(captured, 0)?;
    packet.destination_port = u16_at(captured, 2)?;
    packet.payload_bytes = upper_bytes.saturating_sub(UDP_HEADER_BYTES as u32);
    packet.payload = captured.get(UDP_HEADER_BYTES..).unwrap_or(&[]);
    Some(())
}

#[inline(always)]
fn read_tcp<'a>(captured: &'a [u8], upper_bytes: u32, packet: &mut Decoded<'a>) -> Option<()> {
    let Ok(header) = TcpHeaderSlice::from_slice(captured) else {
        return read_cut_tcp(captured, upper_bytes, packet);
    };
    let header_bytes = header.slice().len();
    let flags = header.slice()[13];
    packet.source_port = header.source_port();
    packet.destination_port = header.destination_port();
    packet.payload_bytes = upper_bytes.saturating_sub(header_bytes as u32);
    packet.payload = &captured[header_bytes..];
    packet.has_tcp = true;
    packet.tcp = TcpFacts {
        sequence: header.sequence_number(),
        acknowledgement: header.acknowledgment_number(),
        flags,
        window: header.window_size(),
        window_shift: if flags & SYN != 0 { window_shift(&header) } else { None },
    };
    Some(())
}

/// A header that was cut, or whose length is wrong: what its fixed part says, if that is there.
#[cold]
fn read_cut_tcp<'a>(captured: &'a [u8], upper_bytes: u32, packet: &mut Decoded<'a>) -> Option<()> {
    packet.source_port = u16_at(captured, 0)?;
    packet.destination_port = u16_at(captured, 2)?;
    let fixed = captured.get(..TCP_MINIMUM_HEADER_BYTES);
    let stated = fixed.map_or(TCP_MINIMUM_HEADER_BYTES, |header| usize::from(header[12] >> 4) * 4);
    packet.payload_bytes = upper_bytes.saturating_sub(stated.max(TCP_MINIMUM_HEADER_BYTES) as u32);
    packet.payload = &[];
    if let Some(header) = fixed {
        let u32_at = |at: usize| {
            u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        packet.has_tcp = true;
        packet.tcp = TcpFacts {
            sequence: u32_at(4),
            acknowledgement: u32_at(8),
            flags: header[13],
            window: u16::from_be_bytes([header[14], header[15]]),
            window_shift: None,
        };
    }
    Some(())
}

#[cold]
fn window_shift(header: &TcpHeaderSlice<'_>) -> Option<u8> {
    header.options_iterator().find_map(|option| match option {
        Ok(TcpOptionElement::WindowScale(shift)) => Some(shift.min(14)),
        _ => None,
    })
}
