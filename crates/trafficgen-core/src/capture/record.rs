//! One captured packet, as the file gives it.

/// Link-layer header type, as numbered in pcap and pcapng files (LINKTYPE registry of the tcpdump
/// group); `packet/link.rs` has the table of those that are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

/// A captured packet: when, how long on the wire, and the bytes that were kept.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Since 1970-01-01 UTC; `None` where the file gives no time (simple packet blocks).
    pub time_ns: Option<i64>,
    /// Length on the wire with the link header.
    pub original_bytes: u32,
    pub link_type: LinkType,
    /// What was captured of it, from the link header on.
    pub data: &'a [u8],
}

/// Facts of a record whose bytes lie at `start..start + captured` of a read buffer. Readers fill it
/// in place: moving it through return values is what reading would spend most time on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub time_ns: i64,
    pub has_time: bool,
    pub original_bytes: u32,
    pub link_type: LinkType,
    pub start: usize,
    pub captured: usize,
    /// Length of the whole record or block; 0 where there is none.
    pub length: usize,
}

impl Found {
    pub const NOTHING: Self = Self {
        time_ns: 0,
        has_time: false,
        original_bytes: 0,
        link_type: LinkType(0),
        start: 0,
        captured: 0,
        length: 0,
    };
}

/// Why reading stopped before the end of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The file ends inside a record.
    CutOff,
    /// The bytes cannot be a record; says what is wrong.
    Damaged(String),
}
