//! The headers of each packet: Ethernet, IPv4 or IPv6, UDP or TCP, RTP, with lengths and checksums.
//!
//! Everything behind the headers is zero bytes, which add nothing to a checksum.

use super::checksum::PartialSum;
use super::columns::{PacketRow, RtpFields, TcpFields};
use super::flow::{EndMacs, FlowEnds, Protocol};
use super::template::{
    Template, ETHERNET_BYTES, ICMP_BYTES, IGMP_BYTES, IPV6_BYTES, TCP_BYTES, UDP_BYTES,
};
use super::WriteError;

/// Longest headers there can be: IPv6, TCP with options, RTP.
pub const MOST_HEADER_BYTES: usize = ETHERNET_BYTES + IPV6_BYTES + MOST_TCP_BYTES + RTP_BYTES;
const MOST_TCP_BYTES: usize = 60;
const RTP_BYTES: usize = 12;
const RTP_VERSION_2: u8 = 0x80;
const TCP_OPTION_NOP: u8 = 1;
const DEFAULT_WINDOW: u16 = u16::MAX;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;

/// The headers of one frame.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Header bytes; those from `header_bytes` on mean nothing.
    pub bytes: [u8; MOST_HEADER_BYTES],
    pub header_bytes: usize,
    /// Length of the whole frame: Ethernet header and IP packet.
    pub frame_bytes: usize,
    /// IP length that was written; more than the row's where that was too small and may be raised.
    pub ip_bytes: u32,
    /// The TCP window did not fit its field and was written as 65535.
    pub window_cut: bool,
}

impl Default for Frame {
    fn default() -> Self {
        Self {
            bytes: [0; MOST_HEADER_BYTES],
            header_bytes: 0,
            frame_bytes: 0,
            ip_bytes: 0,
            window_cut: false,
        }
    }
}

/// Makes frames of the packets of some flows; remembers IP identifications and TCP sequence
/// numbers.
#[derive(Clone, Debug)]
pub struct FrameBuilder {
    /// Two a flow: to the server, to the client.
    templates: Vec<Template>,
    ends: Vec<FlowEnds>,
    raise_small: bool,
}

impl FrameBuilder {
    /// `raise_small`: packets too small for their headers become just large enough instead of
    /// failing. `macs`: addresses of the ends' cards; `None` makes them from the IP addresses.
    pub fn new(
        flows: &[FlowEnds],
        raise_small: bool,
        macs: Option<EndMacs>,
    ) -> Result<Self, WriteError> {
        let mut templates = Vec::with_capacity(2 * flows.len());
        for (flow, ends) in flows.iter().enumerate() {
            templates.push(Template::new(flow, ends, false, macs)?);
            templates.push(Template::new(flow, ends, true, macs)?);
        }
        Ok(Self { templates, ends: flows.to_vec(), raise_small })
    }

    /// Makes the headers of one packet; `false` when the flow is not IP and the packet is to be
    /// left out.
    #[inline]
    pub fn build(
        &mut self,
        row_number: u64,
        row: &PacketRow,
        frame: &mut Frame,
    ) -> Result<bool, WriteError> {
        let slot = 2 * row.flow as usize + usize::from(row.to_client);
        let other_sequence = self.templates.get(slot ^ 1).map_or(1, |other| other.next_sequence);
        let flows = self.ends.len();
        let (Some(template), Some(ends)) =
            (self.templates.get_mut(slot), self.ends.get(row.flow as usize))
        else {
            return Err(WriteError::UnknownFlow { row: row_number, flow: row.flow, flows });
        };
        if template.protocol == Protocol::NotIp {
            return Ok(false);
        }
        let plan = Plan::new(template, row);
        let ip_bytes = plan.ip_bytes(row_number, row, template.is_ipv6, self.raise_small)?;
        frame.ip_bytes = ip_bytes;
        frame.frame_bytes = ETHERNET_BYTES + ip_bytes as usize;
        frame.header_bytes = ETHERNET_BYTES + plan.header_bytes;
        frame.window_cut = false;
        frame.bytes[..template.bytes.len()].copy_from_slice(&template.bytes);
        put_ip(template, ip_bytes, frame);
        let body = ip_bytes as usize - template.ip_header_bytes();
        let rtp = match &row.rtp {
            Some(rtp) if plan.has_rtp => put_rtp(ends, rtp, plan.header_bytes - RTP_BYTES, frame),
            _ => PartialSum::default(),
        };
        match template.protocol {
            Protocol::Udp => put_udp(template, body, rtp, frame),
            Protocol::Tcp => {
                put_tcp(template, body, plan.tcp_bytes, &row.tcp, other_sequence, frame)
            }
            Protocol::IcmpEcho => put_icmp(template, body, frame),
            Protocol::Igmp | Protocol::Plain(_) | Protocol::NotIp => {}
        }
        Ok(true)
    }
}

/// Which headers a packet gets and how long they are.
struct Plan {
    tcp_bytes: usize,
    has_rtp: bool,
    /// IP header and all that follow.
    header_bytes: usize,
}

impl Plan {
    #[inline]
    fn new(template: &Template, row: &PacketRow) -> Self {
        let ip = template.ip_header_bytes();
        let tcp_bytes = tcp_header_bytes(row, ip);
        let (transport, carries_rtp) = match template.protocol {
            Protocol::Udp => (UDP_BYTES, true),
            Protocol::Tcp => (tcp_bytes, false),
            Protocol::IcmpEcho => (ICMP_BYTES, false),
            Protocol::Igmp => (IGMP_BYTES, false),
            Protocol::Plain(_) | Protocol::NotIp => (0, false),
        };
        let has_rtp = carries_rtp && row.rtp.is_some();
        Self {
            tcp_bytes,
            has_rtp,
            header_bytes: ip + transport + if has_rtp { RTP_BYTES } else { 0 },
        }
    }

    /// Length of the IP packet, checked against its headers and the length field.
    #[inline]
    fn ip_bytes(
        &self,
        row_number: u64,
        row: &PacketRow,
        is_ipv6: bool,
        raise: bool,
    ) -> Result<u32, WriteError> {
        let required_bytes = self.header_bytes as u32;
        let allowed_bytes = u32::from(u16::MAX) + if is_ipv6 { IPV6_BYTES as u32 } else { 0 };
        if row.ip_bytes > allowed_bytes {
            return Err(WriteError::TooLarge {
                row: row_number,
                flow: row.flow,
                ip_bytes: row.ip_bytes,
                allowed_bytes,
            });
        }
        if row.ip_bytes >= required_bytes {
            return Ok(row.ip_bytes);
        }
        if raise {
            return Ok(required_bytes);
        }
        Err(WriteError::TooSmall {
            row: row_number,
            flow: row.flow,
            ip_bytes: row.ip_bytes,
            required_bytes,
        })
    }
}

/// TCP header length that the two lengths of a row imply, 20 where they imply none.
#[inline]
fn tcp_header_bytes(row: &PacketRow, ip_header_bytes: usize) -> usize {
    let rest = (row.ip_bytes as usize)
        .checked_sub(ip_header_bytes)
        .and_then(|rest| rest.checked_sub(row.payload_bytes as usize));
    match rest {
        Some(rest @ TCP_BYTES..=MOST_TCP_BYTES) if rest % 4 == 0 => rest,
        _ => TCP_BYTES,
    }
}

#[inline]
fn put_u16(bytes: &mut [u8], offset: usize, value: u16) {
    bytes[offset..offset + 2].copy_from_slice(&value.to_be_bytes());
}

#[inline]
fn put_u32(bytes: &mut [u8], offset: usize, value: u32) {
    bytes[offset..offset + 4].copy_from_slice(&value.to_be_bytes());
}

#[inline]
fn put_ip(template: &mut Template, ip_bytes: u32, frame: &mut Frame) {
    let ip = ETHERNET_BYTES;
    if template.is_ipv6 {
        put_u16(&mut frame.bytes, ip + 4, (ip_bytes as usize - IPV6_BYTES) as u16);
        return;
    }
    let (length, identification) = (ip_bytes as u16, template.next_identification);
    template.next_identification = identification.wrapping_add(1);
    put_u16(&mut frame.bytes, ip + 2, length);
    put_u16(&mut frame.bytes, ip + 4, identification);
    let checksum = template.ip_sum.word(length).word(identification).checksum();
    put_u16(&mut frame.bytes, ip + 10, checksum);
}

/// Writes the RTP header at `offset` of the IP packet and returns its sum; its offset in the
/// datagram is even.
#[inline]
fn put_rtp(ends: &FlowEnds, rtp: &RtpFields, offset: usize, frame: &mut Frame) -> PartialSum {
    let start = ETHERNET_BYTES + offset;
    let header = &mut frame.bytes[start..start + RTP_BYTES];
    header[0] = RTP_VERSION_2;
    header[1] = (ends.payload_type & 0x7f) | (u8::from(rtp.marker) << 7);
    put_u16(header, 2, rtp.sequence);
    put_u32(header, 4, rtp.timestamp);
    put_u32(header, 8, rtp.ssrc.unwrap_or(ends.ssrc));
    PartialSum::of(header)
}

#[inline]
fn put_udp(template: &Template, body_bytes: usize, rtp: PartialSum, frame: &mut Frame) {
    let start = template.transport_offset();
    let length = body_bytes as u16;
    put_u16(&mut frame.bytes, start + 4, length);
    // The length stands in the pseudo-header and in the header.
    let sum = template.transport_sum.plus(rtp).word(length).word(length);
    put_u16(&mut frame.bytes, start + 6, sum.udp_checksum());
}

#[inline]
fn put_icmp(template: &mut Template, body_bytes: usize, frame: &mut Frame) {
    let start = template.transport_offset();
    let sequence = template.next_sequence as u16;
    template.next_sequence = template.next_sequence.wrapping_add(1);
    put_u16(&mut frame.bytes, start + 6, sequence);
    let mut sum = template.transport_sum.word(sequence);
    if template.is_ipv6 {
        sum = sum.word(body_bytes as u16);
    }
    put_u16(&mut frame.bytes, start + 2, sum.checksum());
}

/// Writes the TCP header; fields that the row leaves open follow from the segments before (RFC 9293
/// section 3.4).
#[inline]
fn put_tcp(
    template: &mut Template,
    body_bytes: usize,
    header_bytes: usize,
    fields: &TcpFields,
    other_sequence: u32,
    frame: &mut Frame,
) {
    let payload_bytes = (body_bytes - header_bytes) as u32;
    let flags = fields.flags.unwrap_or(if payload_bytes > 0 { PSH | ACK } else { ACK });
    let sequence = fields.sequence.unwrap_or(template.next_sequence);
    let acknowledgement = match fields.acknowledgement {
        Some(acknowledgement) => acknowledgement,
        None if flags & ACK != 0 => other_sequence,
        None => 0,
    };
    let window =
        fields.window.map_or(DEFAULT_WINDOW, |window| window.min(u32::from(u16::MAX)) as u16);
    frame.window_cut = fields.window.is_some_and(|window| window > u32::from(u16::MAX));
    let consumed = payload_bytes + u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0);
    template.next_sequence = sequence.wrapping_add(consumed);

    let start = template.transport_offset();
    let header = &mut frame.bytes[start..start + header_bytes];
    put_u32(header, 4, sequence);
    put_u32(header, 8, acknowledgement);
    header[12] = ((header_bytes / 4) as u8) << 4;
    header[13] = flags;
    put_u16(header, 14, window);
    header[TCP_BYTES..].fill(TCP_OPTION_NOP);
    let option_words = ((header_bytes - TCP_BYTES) / 2) as u32;
    let sum = template
        .transport_sum
        .word(body_bytes as u16)
        .double_word(sequence)
        .double_word(acknowledgement)
        .word(u16::from_be_bytes([header[12], flags]))
        .word(window)
        .double_word(option_words * u32::from(u16::from_be_bytes([TCP_OPTION_NOP; 2])));
    put_u16(header, 16, sum.checksum());
}
