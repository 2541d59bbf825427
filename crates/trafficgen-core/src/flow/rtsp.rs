//! RTSP over TCP (RFC 2326, RFC 7826): messages, and RTP interleaved with them on numbered
//! channels.
//!
//! The byte stream of each direction is followed by sequence number. A gap (loss, or a snapshot
//! length that cut the payload) ends the message at hand; the next segment starts afresh.

use hashbrown::HashMap;

use crate::packet::{classify_udp_payload, TcpFacts, UdpPayload};

use super::row::PacketRow;
use super::rtp::{RtpStream, RtpSummary};
use super::rtsp_message::{Messages, Partial};

/// A request or a response with its body, as far as it was captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RtspMessage {
    pub time_ns: i64,
    /// Number of the 5-tuple.
    pub key: u32,
    pub forward: bool,
    pub text: Vec<u8>,
}

/// RTP that one channel of an RTSP connection carried.
#[derive(Clone, Debug)]
pub struct InterleavedChannel {
    pub key: u32,
    pub forward: bool,
    pub channel: u8,
    pub rtp: RtpSummary,
}

const METHODS: [&[u8]; 12] = [
    b"OPTIONS ",
    b"DESCRIBE ",
    b"SETUP ",
    b"PLAY ",
    b"PAUSE ",
    b"TEARDOWN ",
    b"GET_PARAMETER ",
    b"SET_PARAMETER ",
    b"ANNOUNCE ",
    b"RECORD ",
    b"REDIRECT ",
    b"PLAY_NOTIFY ",
];
const RESPONSE: &[u8] = b"RTSP/";
const RTP_HEADER_BYTES: usize = 12;
/// Connections followed at once.
const MAX_CONNECTIONS: usize = 65_536;
/// Interleaved channels whose RTP is counted.
const MAX_CHANNELS: usize = 65_536;

/// One direction of an RTSP connection.
#[derive(Default)]
struct Stream {
    next_sequence: Option<u32>,
    /// A message that is not whole yet.
    partial: Partial,
    /// Bytes of an interleaved frame still to come.
    skip: usize,
    /// The first bytes of an interleaved frame whose own or RTP header is split over two segments.
    split_header: Vec<u8>,
}

/// All RTSP connections of a capture.
#[derive(Default)]
pub(super) struct RtspFollower {
    streams: HashMap<(u32, bool), Stream>,
    messages: Messages,
    channels: HashMap<(u32, bool, u8), RtpStream>,
}

impl RtspFollower {
    /// Whether a payload begins as an RTSP message does.
    #[inline]
    pub fn begins_message(payload: &[u8]) -> bool {
        match payload.first() {
            Some(b'R' | b'O' | b'D' | b'S' | b'P' | b'T' | b'G' | b'A') => looks_like_rtsp(payload),
            _ => false,
        }
    }

    /// Whether a flow was found to be RTSP.
    #[inline]
    pub fn follows(&self, key: u32) -> bool {
        !self.streams.is_empty() && self.streams.contains_key(&(key, true))
    }

    /// Starts to follow a flow.
    pub fn follow(&mut self, key: u32) {
        if self.streams.len() < 2 * MAX_CONNECTIONS {
            self.streams.entry((key, true)).or_default();
            self.streams.entry((key, false)).or_default();
        }
    }

    /// Takes a segment of a followed flow.
    pub fn segment(&mut self, row: &PacketRow, tcp: &TcpFacts, payload: &[u8]) {
        let (key, forward) = (row.flow, row.is(PacketRow::FORWARD));
        let Some(stream) = self.streams.get_mut(&(key, forward)) else { return };
        let whole = payload.len() == row.payload_bytes as usize;
        let fresh = match stream.next_sequence {
            Some(next) if next != tcp.sequence => {
                let overlap = next.wrapping_sub(tcp.sequence) as usize;
                if overlap < 1 << 30 {
                    // Sent before; take what is new of it.
                    payload.get(overlap..).unwrap_or(&[])
                } else {
                    // Something is missing: give the unfinished up.
                    let lost = tcp.sequence.wrapping_sub(next) as usize;
                    flush(stream, &mut self.messages, key, forward);
                    give_header_up(stream);
                    stream.skip = stream.skip.saturating_sub(lost);
                    payload
                }
            }
            _ => payload,
        };
        let end = tcp.sequence.wrapping_add(row.payload_bytes);
        let moves_on = stream.next_sequence.is_none_or(|next| (end.wrapping_sub(next) as i32) > 0);
        if moves_on {
            stream.next_sequence = Some(end);
            consume(stream, fresh, row, &mut self.messages, &mut self.channels);
        }
        if !whole && moves_on {
            flush(stream, &mut self.messages, key, forward);
            give_header_up(stream);
            let cut = row.payload_bytes as usize - payload.len();
            stream.skip = stream.skip.saturating_sub(cut);
        }
    }

    /// All messages in order of time, unfinished ones included, and the interleaved RTP streams.
    pub fn finish(&mut self) -> (Vec<RtspMessage>, Vec<InterleavedChannel>) {
        for (&(key, forward), stream) in &mut self.streams {
            flush(stream, &mut self.messages, key, forward);
        }
        let messages = self.messages.finish();
        let rtp = self.channels.iter().filter(|(_, stream)| stream.is_rtp());
        let mut channels: Vec<InterleavedChannel> = rtp
            .map(|(&(key, forward, channel), stream)| InterleavedChannel {
                key,
                forward,
                channel,
                rtp: stream.summary(),
            })
            .collect();
        channels.sort_by_key(|channel| (channel.key, !channel.forward, channel.channel));
        (messages, channels)
    }
}

fn looks_like_rtsp(payload: &[u8]) -> bool {
    if payload.starts_with(RESPONSE) {
        return true;
    }
    let line = payload.split(|&byte| byte == b'\r').next().unwrap_or(&[]);
    let names_rtsp =
        contains(line, b"rtsp://") || contains(line, b"rtsps://") || contains(line, b" RTSP/");
    names_rtsp && METHODS.iter().any(|method| payload.starts_with(method))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

fn flush(stream: &mut Stream, messages: &mut Messages, key: u32, forward: bool) {
    if !stream.partial.is_empty() {
        messages.flush(&mut stream.partial, key, forward, looks_like_rtsp);
    }
}

/// Passes over an interleaved frame whose header will not become whole.
fn give_header_up(stream: &mut Stream) {
    if let [_, _, high, low, rest @ ..] = std::mem::take(&mut stream.split_header).as_slice() {
        stream.skip = usize::from(u16::from_be_bytes([*high, *low])).saturating_sub(rest.len());
    }
}

fn consume(
    stream: &mut Stream,
    segment: &[u8],
    row: &PacketRow,
    messages: &mut Messages,
    channels: &mut HashMap<(u32, bool, u8), RtpStream>,
) {
    let (key, forward) = (row.flow, row.is(PacketRow::FORWARD));
    let mut joined = std::mem::take(&mut stream.split_header);
    let mut data = if joined.is_empty() {
        segment
    } else {
        joined.extend_from_slice(segment);
        joined.as_slice()
    };
    while !data.is_empty() {
        if stream.skip > 0 {
            let count = stream.skip.min(data.len());
            stream.skip -= count;
            data = &data[count..];
        } else if stream.partial.is_empty() && data[0] == b'$' {
            let [_, channel, high, low, rest @ ..] = data else {
                stream.split_header = data.to_vec();
                return;
            };
            let frame_bytes = usize::from(u16::from_be_bytes([*high, *low]));
            if rest.len() < frame_bytes.min(RTP_HEADER_BYTES) {
                stream.split_header = data.to_vec();
                return;
            }
            stream.skip = frame_bytes;
            interleaved(rest, stream.skip, row, *channel, channels);
            data = rest;
        } else {
            if stream.partial.is_empty() {
                if !RtspFollower::begins_message(data) {
                    // In the middle of something that began before a gap: the next segment may
                    // start afresh.
                    return;
                }
                stream.partial.time_ns = row.time_ns;
            }
            let taken = messages.extend(&mut stream.partial, data);
            if !stream.partial.is_whole() {
                return;
            }
            flush(stream, messages, key, forward);
            data = &data[taken..];
        }
    }
}

fn interleaved(
    frame: &[u8],
    frame_bytes: usize,
    row: &PacketRow,
    channel: u8,
    channels: &mut HashMap<(u32, bool, u8), RtpStream>,
) {
    let UdpPayload::Rtp(header) = classify_udp_payload(frame, frame_bytes as u32) else { return };
    let rtp = PacketRow {
        ssrc_or_sequence: header.ssrc,
        timestamp_or_acknowledgement: header.timestamp,
        sequence_or_window: u32::from(header.sequence),
        payload_type_or_flags: header.payload_type,
        payload_bytes: frame_bytes as u32,
        ..*row
    };
    let key = (row.flow, row.is(PacketRow::FORWARD), channel);
    if let Some(stream) = channels.get_mut(&key) {
        stream.add(&rtp);
    } else if channels.len() < MAX_CHANNELS {
        channels.insert(key, RtpStream::new(&rtp));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(
        follower: &mut RtspFollower,
        time_ns: i64,
        sequence: u32,
        payload: &[u8],
        payload_bytes: u32,
    ) {
        let row =
            PacketRow { time_ns, payload_bytes, marks: PacketRow::FORWARD, ..Default::default() };
        let tcp =
            TcpFacts { sequence, acknowledgement: 0, flags: 0x18, window: 0, window_shift: None };
        if RtspFollower::begins_message(payload) {
            follower.follow(0);
        }
        follower.segment(&row, &tcp, payload);
    }

    const PLAY: &[u8] = b"PLAY rtsp://host/clip RTSP/1.0\r\nCSeq: 4\r\n\r\n";

    #[test]
    fn messages_split_over_segments_are_joined_and_repeats_dropped() {
        let mut follower = RtspFollower::default();
        let (head, tail) = PLAY.split_at(20);
        send(&mut follower, 1, 100, head, head.len() as u32);
        send(&mut follower, 2, 100, head, head.len() as u32);
        send(&mut follower, 3, 120, tail, tail.len() as u32);
        let (messages, _) = follower.finish();
        assert_eq!(messages.len(), 1);
        assert_eq!((messages[0].time_ns, messages[0].text.as_slice()), (1, PLAY));
    }

    #[test]
    fn a_cut_payload_still_gives_its_first_line() {
        let mut follower = RtspFollower::default();
        send(&mut follower, 1, 100, &PLAY[..24], PLAY.len() as u32);
        send(&mut follower, 2, 100 + PLAY.len() as u32, PLAY, PLAY.len() as u32);
        let (messages, _) = follower.finish();
        assert_eq!(messages.iter().map(|message| message.time_ns).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn interleaved_rtp_is_counted_by_channel() {
        let mut follower = RtspFollower::default();
        let mut sequence = 0;
        send(&mut follower, 0, sequence, PLAY, PLAY.len() as u32);
        sequence += PLAY.len() as u32;
        for index in 0..20_u8 {
            let mut frame =
                vec![b'$', 2, 0, 14, 0x80, 96, 0, index, 0, 0, 0, index, 1, 2, 3, 4, 9, 9];
            frame.extend_from_slice(if index == 10 { PLAY } else { b"" });
            send(&mut follower, i64::from(index), sequence, &frame, frame.len() as u32);
            sequence += frame.len() as u32;
        }
        let (messages, channels) = follower.finish();
        assert_eq!(messages.len(), 2);
        assert_eq!(channels.len(), 1);
        assert_eq!(
            (channels[0].channel, channels[0].rtp.packets, channels[0].rtp.lost),
            (2, 20, 0)
        );
    }

    #[test]
    fn http_is_not_rtsp() {
        assert!(!RtspFollower::begins_message(b"OPTIONS * HTTP/1.1\r\n"));
        assert!(RtspFollower::begins_message(b"RTSP/1.0 200 OK\r\n"));
    }
}
