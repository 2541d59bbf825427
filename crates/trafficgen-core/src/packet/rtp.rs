//! RTP and RTCP headers in UDP payloads (RFC 3550, demultiplexed as RFC 5761 and RFC 7983 say).
//!
//! One packet alone never proves RTP: these are candidates, which the flow's own consistency
//! confirms (`flow::rtp`).

/// Header of a packet that may be RTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtpHeader {
    pub ssrc: u32,
    pub timestamp: u32,
    pub sequence: u16,
    pub payload_type: u8,
    pub marker: bool,
}

/// What a UDP payload looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UdpPayload {
    Rtp(RtpHeader),
    Rtcp,
    Other,
}

const FIXED_HEADER_BYTES: usize = 12;

/// Looks at the first bytes of a UDP payload, of which `payload` was captured and `payload_bytes`
/// sent.
#[inline]
pub fn classify_udp_payload(payload: &[u8], payload_bytes: u32) -> UdpPayload {
    let Some(&[first, second, ..]) = payload.get(..2) else {
        return UdpPayload::Other;
    };
    if first >> 6 != 2 {
        return UdpPayload::Other;
    }
    // Packet types 192..223 are RTCP's; RTP payload types 64..95 with a marker are kept free for
    // them (RFC 5761, 4).
    if (192..=223).contains(&second) {
        // Its length in words of 4 bytes, less one, fits (RFC 3550, A.2). That of a DNS message
        // that begins so does not.
        let fits = payload.get(2..4).is_none_or(|words| {
            let words = u32::from(u16::from_be_bytes([words[0], words[1]]));
            4 * (words + 1) <= payload_bytes
        });
        return if fits { UdpPayload::Rtcp } else { UdpPayload::Other };
    }
    let header_bytes = FIXED_HEADER_BYTES + 4 * usize::from(first & 0x0f);
    let Some(header) = payload.get(..FIXED_HEADER_BYTES) else {
        return UdpPayload::Other;
    };
    if header_bytes > payload_bytes as usize {
        return UdpPayload::Other;
    }
    UdpPayload::Rtp(RtpHeader {
        ssrc: u32::from_be_bytes([header[8], header[9], header[10], header[11]]),
        timestamp: u32::from_be_bytes([header[4], header[5], header[6], header[7]]),
        sequence: u16::from_be_bytes([header[2], header[3]]),
        payload_type: second & 0x7f,
        marker: second & 0x80 != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_and_told_from_rtcp_stun_and_quic() {
        let rtp = [0x80, 0xe0, 0, 7, 0, 0, 0, 9, 0xde, 0xad, 0xbe, 0xef, 1];
        let expected = RtpHeader {
            ssrc: 0xdead_beef,
            timestamp: 9,
            sequence: 7,
            payload_type: 96,
            marker: true,
        };
        assert_eq!(classify_udp_payload(&rtp, 13), UdpPayload::Rtp(expected));
        assert_eq!(classify_udp_payload(&[0x80, 200, 0, 6], 28), UdpPayload::Rtcp);
        for dns in [[0x80, 200, 0x01, 0x00], [0x8f, 223, 0x81, 0x80]] {
            assert_eq!(classify_udp_payload(&dns, 500), UdpPayload::Other);
        }
        for first in [0x00, 0x16, 0x40, 0xc3] {
            assert_eq!(classify_udp_payload(&[first; 20], 20), UdpPayload::Other);
        }
        assert_eq!(classify_udp_payload(&rtp[..8], 8), UdpPayload::Other);
    }
}
