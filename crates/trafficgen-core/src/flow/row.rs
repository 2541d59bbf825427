//! One packet on its way into the packet table.

/// A packet as a row: half a cache line, so that flows can be measured while it is still at hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketRow {
    pub time_ns: i64,
    pub flow: u32,
    pub frame_bytes: u32,
    pub ip_bytes: u32,
    pub payload_bytes: u32,
    /// RTP synchronisation source, or TCP sequence number.
    pub ssrc_or_sequence: u32,
    /// RTP timestamp, or TCP acknowledgement number.
    pub timestamp_or_acknowledgement: u32,
    /// RTP sequence number, or TCP window in bytes.
    pub sequence_or_window: u32,
    /// RTP payload type, or TCP flags.
    pub payload_type_or_flags: u8,
    pub marks: u8,
}

impl PacketRow {
    /// From the endpoint that sent the flow's first packet.
    pub const FORWARD: u8 = 1;
    /// Looks like RTP: the RTP fields hold what its header says.
    pub const RTP: u8 = 2;
    pub const RTP_MARKER: u8 = 4;
    /// The TCP fields are known.
    pub const TCP: u8 = 8;
    /// Looks like RTCP.
    pub const RTCP: u8 = 16;
    /// UDP that is neither RTP nor RTCP.
    pub const DATAGRAM: u8 = 32;
    /// Begins with a record of a TLS handshake or alert, or a long header of QUIC.
    pub const HANDSHAKE: u8 = 64;
    /// Begins with a TLS record of application data, or the request line of HTTP.
    pub const MESSAGE: u8 = 128;

    #[inline]
    pub fn is(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    /// 0 forward, 1 backward: the index of per-direction counts.
    #[inline]
    pub fn direction(&self) -> usize {
        usize::from(!self.is(Self::FORWARD))
    }
}
