//! What one end sends to the other, and how long it is on the wire.

use super::super::Time;
use super::{StreamId, CRYPTO};

/// Flags, connection ID of 8 bytes, packet number of 2, and the tag of the encryption (RFC 9000
/// 17.3.1, RFC 9001 5.3).
const SHORT_HEADER_BYTES: u32 = 1 + 8 + 2 + 16;
/// Flags, version, two connection IDs of 8 bytes with their lengths, length of the token, length,
/// packet number, tag (RFC 9000 17.2.2).
const LONG_HEADER_BYTES: u32 = 1 + 4 + 9 + 9 + 1 + 2 + 2 + 16;
/// Length of the data in a STREAM or CRYPTO frame.
const FRAME_LENGTH_BYTES: u32 = 2;
/// Acknowledgement delays count in units of 8 us (RFC 9000 18.2).
const ACK_DELAY_UNIT_NS: Time = 8_000;

/// Bytes of a variable-length integer (RFC 9000 16).
pub(super) fn integer_bytes(value: u64) -> u32 {
    match value {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    }
}

/// Bytes of a packet without frames.
pub(super) fn header_bytes(is_handshake: bool) -> u32 {
    if is_handshake {
        LONG_HEADER_BYTES
    } else {
        SHORT_HEADER_BYTES
    }
}

/// A stretch of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamFrame {
    pub offset: u64,
    pub stream: StreamId,
    pub bytes: u16,
    /// Whether it was sent before.
    pub again: bool,
}

impl StreamFrame {
    /// Offset after its last byte.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.bytes)
    }

    #[must_use]
    pub fn is_crypto(&self) -> bool {
        self.stream == CRYPTO
    }
}

/// Bytes of a frame's header (RFC 9000 19.6, 19.8).
pub(super) fn frame_header_bytes(stream: StreamId, offset: u64) -> u32 {
    let offset_bytes = if offset > 0 { integer_bytes(offset) } else { 0 };
    let stream_bytes = if stream == CRYPTO { 0 } else { integer_bytes(4 * u64::from(stream)) };
    1 + stream_bytes + offset_bytes + FRAME_LENGTH_BYTES
}

/// Packets that have arrived: the highest ranges (RFC 9000 19.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    pub largest: u64,
    /// How long the largest waited for this.
    pub delay_ns: u32,
    /// Packets that came with a mark so far, where the path has shown any (RFC 9000 19.3.2).
    pub marked: u32,
    /// Packets that came without one so far, which the frame reports too.
    pub unmarked: u32,
    /// Packets below the largest that have arrived in a row.
    first: u32,
    /// Numbers that are missing, and that have arrived below them, downwards.
    ranges: [(u16, u16); Self::MAXIMUM],
    count: u8,
}

impl Ack {
    /// Ranges beside the first that an acknowledgement holds.
    pub const MAXIMUM: usize = 6;

    /// An acknowledgement of half-open ranges from the highest down; None where there is none.
    pub(super) fn new(
        mut ranges: impl Iterator<Item = (u64, u64)>,
        delay_ns: Time,
    ) -> Option<Self> {
        let (low, high) = ranges.next()?;
        let mut ack = Self {
            largest: high - 1,
            delay_ns: delay_ns.clamp(0, i64::from(u32::MAX)) as u32,
            first: u32::try_from(high - 1 - low).unwrap_or(u32::MAX),
            ..Self::default()
        };
        let mut above = low;
        for (slot, (low, high)) in ack.ranges.iter_mut().zip(ranges) {
            let (Ok(missing), Ok(arrived)) =
                (u16::try_from(above - high), u16::try_from(high - low))
            else {
                break;
            };
            *slot = (missing, arrived);
            ack.count += 1;
            above = low;
        }
        Some(ack)
    }

    /// Half-open ranges from the highest down.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut above = self.largest - u64::from(self.first);
        let others =
            self.ranges[..usize::from(self.count)].iter().map(move |(missing, arrived)| {
                let high = above - u64::from(*missing);
                above = high - u64::from(*arrived);
                (above, high)
            });
        std::iter::once((self.largest - u64::from(self.first), self.largest + 1)).chain(others)
    }

    pub(super) fn wire_bytes(&self) -> u32 {
        let others: u32 = self.ranges[..usize::from(self.count)]
            .iter()
            .map(|(missing, arrived)| {
                integer_bytes(u64::from(*missing) - 1) + integer_bytes(u64::from(*arrived) - 1)
            })
            .sum();
        let delay_units = (Time::from(self.delay_ns) / ACK_DELAY_UNIT_NS) as u64;
        let marks = if self.marked > 0 {
            let (marked, unmarked) = (u64::from(self.marked), u64::from(self.unmarked));
            integer_bytes(unmarked) + integer_bytes(0) + integer_bytes(marked)
        } else {
            0
        };
        2 + integer_bytes(self.largest)
            + integer_bytes(delay_units)
            + integer_bytes(u64::from(self.first))
            + others
            + marks
    }
}

/// A QUIC packet in a datagram of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    pub number: u64,
    pub(super) frames: [StreamFrame; Self::MOST_FRAMES],
    pub ack: Option<Ack>,
    /// What the other end may send in all (MAX_DATA); 0: nothing is said of it.
    pub most_data: u64,
    /// UDP payload.
    pub bytes: u32,
    pub(super) frame_count: u8,
    /// Whether it wants to be acknowledged.
    pub is_eliciting: bool,
    /// The sender has nothing more to say (CONNECTION_CLOSE).
    pub closes: bool,
    /// Whether a queue on its way has marked it (RFC 3168).
    pub marked: bool,
}

impl Packet {
    /// Stretches of streams in one packet, at most.
    pub const MOST_FRAMES: usize = 2;

    /// Appends a stretch; one for which there is no slot is left out.
    pub(super) fn add(&mut self, frame: StreamFrame) {
        if let Some(slot) = self.frames.get_mut(usize::from(self.frame_count)) {
            *slot = frame;
            self.frame_count += 1;
            self.bytes += frame_header_bytes(frame.stream, frame.offset) + u32::from(frame.bytes);
        }
    }

    #[must_use]
    pub fn frames(&self) -> &[StreamFrame] {
        &self.frames[..usize::from(self.frame_count)]
    }

    /// Bytes of streams, without the handshake.
    #[must_use]
    pub fn data_bytes(&self) -> u32 {
        let data = self.frames().iter().filter(|frame| !frame.is_crypto());
        data.map(|frame| u32::from(frame.bytes)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_stays_small_enough_to_be_copied() {
        assert!(std::mem::size_of::<Packet>() <= 120);
    }

    #[test]
    fn an_acknowledgement_gives_back_its_ranges_and_is_as_long_as_they_take() -> Result<(), String>
    {
        let ranges = [(90, 101), (80, 85), (7, 8)];
        let ack = Ack::new(ranges.into_iter(), 400_000).ok_or("no ranges")?;
        assert_eq!(ack.ranges().collect::<Vec<_>>(), ranges);
        // Type and count, largest (2), delay of 50 units, first range; two numbers a range, of
        // which 72 - 1 takes two bytes.
        assert_eq!(ack.wire_bytes(), 2 + 2 + 1 + 1 + 2 + 3);
        Ok(())
    }

    #[test]
    fn headers_of_frames_grow_with_their_numbers() {
        assert_eq!(frame_header_bytes(0, 0), 4);
        assert_eq!(frame_header_bytes(20, 70_000), 1 + 2 + 4 + 2);
        assert_eq!(frame_header_bytes(CRYPTO, 0), 3);
    }
}
