//! The file formats: classic pcap with nanoseconds or microseconds, and pcapng
//! (draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng).

const LINK_TYPE_ETHERNET: u16 = 1;
const NS_PER_S: u64 = 1_000_000_000;
const NS_PER_US: u64 = 1_000;
const US_PER_S: u64 = 1_000_000;

const PCAP_NANOSECOND_MAGIC: u32 = 0xa1b2_3c4d;
const PCAP_MICROSECOND_MAGIC: u32 = 0xa1b2_c3d4;
const PCAP_RECORD_BYTES: usize = 16;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const OPTION_TIME_RESOLUTION: u16 = 9;
const NANOSECONDS: u32 = 9;
const PACKET_HEAD_BYTES: usize = 28;
const PACKET_TAIL_BYTES: usize = 4;

/// Which format of capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    Pcap,
    /// The older kind, which every reader knows; times are rounded to microseconds.
    PcapMicroseconds,
    Pcapng,
}

/// What a record says about its packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordFacts {
    /// Since 1970, ns.
    pub time_ns: u64,
    pub captured_bytes: u32,
    pub frame_bytes: u32,
}

fn words<const COUNT: usize>(values: [u32; COUNT]) -> impl Iterator<Item = u8> {
    values.into_iter().flat_map(u32::to_le_bytes)
}

impl Container {
    /// What the file begins with; little endian.
    pub(super) fn file_head(self, snaplen_bytes: u32) -> Vec<u8> {
        let link_type = u32::from(LINK_TYPE_ETHERNET);
        match self {
            Self::Pcap => pcap_head(PCAP_NANOSECOND_MAGIC, snaplen_bytes),
            Self::PcapMicroseconds => pcap_head(PCAP_MICROSECOND_MAGIC, snaplen_bytes),
            Self::Pcapng => {
                let section =
                    words([SECTION_HEADER, 28, BYTE_ORDER_MAGIC, 1, u32::MAX, u32::MAX, 28]);
                let option = u32::from(OPTION_TIME_RESOLUTION) | 1 << 16;
                let interface = words([
                    INTERFACE_DESCRIPTION,
                    32,
                    link_type,
                    snaplen_bytes,
                    option,
                    NANOSECONDS,
                    0,
                    32,
                ]);
                section.chain(interface).collect()
            }
        }
    }

    /// Latest time that a record can carry.
    pub(super) fn latest_ns(self) -> u64 {
        match self {
            Self::Pcap => (u64::from(u32::MAX) + 1) * NS_PER_S - 1,
            // Half a microsecond more would be rounded up.
            Self::PcapMicroseconds => (u64::from(u32::MAX) + 1) * NS_PER_S - NS_PER_US / 2 - 1,
            Self::Pcapng => u64::MAX,
        }
    }

    /// Appends what stands before the packet's bytes.
    #[inline]
    pub(super) fn put_record_head(self, facts: &RecordFacts, buffer: &mut Vec<u8>) {
        let (captured, original) = (facts.captured_bytes, facts.frame_bytes);
        match self {
            Self::Pcap => put_pcap_head(facts.time_ns, NS_PER_S, facts, buffer),
            Self::PcapMicroseconds => {
                put_pcap_head((facts.time_ns + NS_PER_US / 2) / NS_PER_US, US_PER_S, facts, buffer)
            }
            Self::Pcapng => {
                let mut head = [0; PACKET_HEAD_BYTES];
                let (high, low) = ((facts.time_ns >> 32) as u32, facts.time_ns as u32);
                let block_bytes = packet_block_bytes(captured);
                put_words(
                    &mut head,
                    [ENHANCED_PACKET, block_bytes, 0, high, low, captured, original],
                );
                buffer.extend_from_slice(&head);
            }
        }
    }

    /// Appends what stands behind the packet's bytes.
    #[inline]
    pub(super) fn put_record_tail(self, facts: &RecordFacts, buffer: &mut Vec<u8>) {
        if self == Self::Pcapng {
            let padding = padding_bytes(facts.captured_bytes) as usize;
            buffer.extend_from_slice(&[0; 3][..padding]);
            buffer.extend_from_slice(&packet_block_bytes(facts.captured_bytes).to_le_bytes());
        }
    }
}

fn pcap_head(magic: u32, snaplen_bytes: u32) -> Vec<u8> {
    // Version 2.4: the low half of the little-endian word comes first.
    words([magic, 4 << 16 | 2, 0, 0, snaplen_bytes, u32::from(LINK_TYPE_ETHERNET)]).collect()
}

/// Appends a record head of classic pcap; `time` counts parts of a second, of which there are
/// `parts_per_s`.
#[inline]
fn put_pcap_head(time: u64, parts_per_s: u64, facts: &RecordFacts, buffer: &mut Vec<u8>) {
    let mut head = [0; PCAP_RECORD_BYTES];
    let (seconds, parts) = ((time / parts_per_s) as u32, (time % parts_per_s) as u32);
    put_words(&mut head, [seconds, parts, facts.captured_bytes, facts.frame_bytes]);
    buffer.extend_from_slice(&head);
}

#[inline]
fn put_words<const COUNT: usize>(bytes: &mut [u8], values: [u32; COUNT]) {
    for (target, value) in bytes.chunks_exact_mut(4).zip(values) {
        target.copy_from_slice(&value.to_le_bytes());
    }
}

#[inline]
fn padding_bytes(captured_bytes: u32) -> u32 {
    captured_bytes.wrapping_neg() % 4
}

#[inline]
fn packet_block_bytes(captured_bytes: u32) -> u32 {
    (PACKET_HEAD_BYTES + PACKET_TAIL_BYTES) as u32 + captured_bytes + padding_bytes(captured_bytes)
}
