//! The Internet checksum (RFC 1071): one's complement sums that are kept as parts and finished per
//! packet.

/// Unfinished sum of 16-bit words; adding to it is associative, so constant parts are summed once
/// per flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartialSum(u64);

impl PartialSum {
    /// Sum of bytes that begin at an even offset; an odd last byte counts as the high half of a
    /// word.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut sum = Self::default();
        for pair in bytes.chunks(2) {
            let low = pair.get(1).copied().unwrap_or(0);
            sum = sum.word(u16::from_be_bytes([pair[0], low]));
        }
        sum
    }

    #[must_use]
    pub fn word(self, value: u16) -> Self {
        Self(self.0 + u64::from(value))
    }

    /// Adds the two 16-bit halves of a 32-bit field; the fold in [`Self::checksum`] makes them one
    /// sum.
    #[must_use]
    pub fn double_word(self, value: u32) -> Self {
        Self(self.0 + u64::from(value))
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    /// The checksum field: folded and complemented.
    #[must_use]
    pub fn checksum(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        // The loop leaves 16 bits.
        !(sum as u16)
    }

    /// The checksum field of UDP, where zero would mean "none" and is sent as all ones (RFC 768).
    #[must_use]
    pub fn udp_checksum(self) -> u16 {
        match self.checksum() {
            0 => 0xffff,
            checksum => checksum,
        }
    }
}
