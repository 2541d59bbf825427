//! What one end of a connection sends to the other.

use super::Time;

/// Bits of [`Segment::flags`], as in the TCP header.
pub mod flag {
    pub const FIN: u8 = 1;
    pub const SYN: u8 = 2;
    pub const RST: u8 = 4;
    pub const PSH: u8 = 8;
    pub const ACK: u8 = 16;
    /// RFC 3168: the receiver has seen a mark.
    pub const ECE: u8 = 64;
    /// RFC 3168: the sender has reduced its window for it.
    pub const CWR: u8 = 128;
}

const BASE_HEADER_BYTES: u8 = 20;
const TIMESTAMPS_BYTES: u8 = 12; // two NOPs before ten bytes of option
const SACK_HEAD_BYTES: u8 = 4; // two NOPs, kind and length
const SACK_BLOCK_BYTES: u8 = 8;
const SYN_MSS_AND_SCALE_BYTES: u8 = 8; // MSS; NOP and window scale

// Two NOPs when no timestamps pad it; in the timestamps' padding otherwise.
const SYN_SACK_PERMITTED_BYTES: u8 = 4;

/// A stretch of the stream that the receiver holds above the acknowledgement: offsets from the
/// acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    pub start: u32,
    pub end: u32,
}

/// The blocks of a SACK option (RFC 2018), the one that changed last first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [SackBlock; Self::MAXIMUM],
    count: u8,
    /// The SACK-permitted option; on SYNs only.
    pub permitted: bool,
    /// A first block reports a segment that had come before (RFC 2883).
    pub reports_duplicate: bool,
}

impl SackBlocks {
    /// What fits into a header without timestamps; three fit beside them.
    pub const MAXIMUM: usize = 4;

    /// Appends a block; ignored when the option is full.
    pub fn push(&mut self, block: SackBlock) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.count)) {
            *slot = block;
            self.count += 1;
        }
    }

    #[must_use]
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.count)]
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The timestamps option (RFC 7323), in nanoseconds of the simulation; [`Timestamps::wire`] has its
/// milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    pub value: Time,
    pub echo: Time,
}

impl Timestamps {
    /// Value and echo as 32-bit millisecond counts, the granularity of common stacks.
    #[must_use]
    pub fn wire(&self) -> (u32, u32) {
        ((self.value / 1_000_000) as u32, (self.echo / 1_000_000) as u32)
    }
}

/// One TCP segment. Offsets count stream bytes from zero and never wrap; a FIN takes the offset
/// after the last byte, a SYN takes none: see [`Segment::wire_sequence`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Offset of the first payload byte (of the FIN, or of what would come next, without payload).
    pub sequence: u64,
    /// The next offset wanted from the other end; it means something when ACK is set.
    pub acknowledgement: u64,
    pub timestamps: Option<Timestamps>,
    pub payload_bytes: u32,
    /// Bytes beyond the acknowledgement that the other end may send: unscaled, so it may exceed 16
    /// bits.
    pub window_bytes: u32,
    pub sack: SackBlocks,
    pub flags: u8,
    /// TCP header with its options.
    pub header_bytes: u8,
    /// Whether payload, SYN or FIN of it were sent before.
    pub retransmission: bool,
    /// Whether a queue on its way has marked it (RFC 3168).
    pub marked: bool,
}

impl Segment {
    #[must_use]
    pub fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }

    /// The 32-bit sequence number relative to the initial one: 0 for a SYN, 1 + offset otherwise.
    #[must_use]
    pub fn wire_sequence(&self) -> u32 {
        if self.has(flag::SYN) {
            0
        } else {
            (self.sequence.wrapping_add(1)) as u32
        }
    }

    /// The 32-bit acknowledgement number relative to the other end's initial one, 0 without ACK.
    #[must_use]
    pub fn wire_acknowledgement(&self) -> u32 {
        if self.has(flag::ACK) {
            (self.acknowledgement.wrapping_add(1)) as u32
        } else {
            0
        }
    }

    /// Offset after payload and FIN.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.sequence + u64::from(self.payload_bytes) + u64::from(self.has(flag::FIN))
    }

    /// Sets `header_bytes` from the options that the segment carries.
    pub(super) fn measure_header(&mut self) {
        let timestamps = if self.timestamps.is_some() { TIMESTAMPS_BYTES } else { 0 };
        let options = if self.has(flag::SYN) {
            let sack = self.sack.permitted && timestamps == 0;
            SYN_MSS_AND_SCALE_BYTES + timestamps + if sack { SYN_SACK_PERMITTED_BYTES } else { 0 }
        } else {
            let blocks = self.sack.count + u8::from(self.sack.reports_duplicate);
            let head = if blocks > 0 { SACK_HEAD_BYTES } else { 0 };
            timestamps + head + SACK_BLOCK_BYTES * blocks
        };
        self.header_bytes = BASE_HEADER_BYTES + options;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_stays_small_enough_to_be_copied() {
        assert!(std::mem::size_of::<Segment>() <= 96);
    }

    #[test]
    fn sequence_numbers_on_the_wire_start_with_the_syn_and_wrap() {
        let syn = Segment { flags: flag::SYN, ..Segment::default() };
        let data = Segment {
            sequence: (1 << 32) - 1,
            flags: flag::ACK,
            acknowledgement: 9,
            ..Segment::default()
        };
        assert_eq!((syn.wire_sequence(), syn.wire_acknowledgement()), (0, 0));
        assert_eq!((data.wire_sequence(), data.wire_acknowledgement()), (0, 10));
    }

    #[test]
    fn headers_are_as_long_as_their_options() {
        let stamp = Some(Timestamps { value: 5_000_000, echo: 0 });
        let mut segment = Segment { timestamps: stamp, flags: flag::ACK, ..Segment::default() };
        segment.measure_header();
        assert_eq!(segment.header_bytes, 32);
        for block in 0..3 {
            segment.sack.push(SackBlock { start: 3 * block + 1, end: 3 * block + 2 });
        }
        segment.measure_header();
        assert_eq!(segment.header_bytes, 60);
        let mut syn = Segment { timestamps: stamp, flags: flag::SYN, ..Segment::default() };
        syn.sack.permitted = true;
        syn.measure_header();
        assert_eq!(syn.header_bytes, 40);
        assert_eq!(stamp.map(|stamp| stamp.wire()), Some((5, 0)));
    }
}
