//! Link layers: where the IP header begins.

use crate::capture::LinkType;

/// Which IP header follows, and at which byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Network {
    V4(usize),
    V6(usize),
}

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// VLAN tags: 802.1Q, 802.1ad and the numbers that came before it.
const ETHERTYPE_VLAN: [u16; 5] = [0x8100, 0x88a8, 0x9100, 0x9200, 0x9300];
const ETHERTYPE_MPLS: [u16; 2] = [0x8847, 0x8848];
const ETHERTYPE_PPPOE_SESSION: u16 = 0x8864;
/// Values below are IEEE 802.3 lengths.
const SMALLEST_ETHERTYPE: u16 = 0x0600;
const LLC_SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];

/// A link type that is decoded: one entry of [`LINK_HEADERS`] is all that a new one needs.
struct LinkHeader {
    number: u16,
    /// Where the link header leads to IP; `None` for other protocols and headers that were cut.
    network_of: fn(&[u8]) -> Option<Network>,
    /// A header that is followed by an IPv4 packet; the unit test decodes it.
    #[cfg_attr(not(test), allow(dead_code))]
    example: &'static [u8],
}

const ETHERNET: LinkType = LinkType(1);

/// All link types that are decoded, by their numbers in the LINKTYPE registry.
const LINK_HEADERS: [LinkHeader; 15] = [
    // Ethernet
    LinkHeader {
        number: ETHERNET.0,
        network_of: |data| ethernet(data, 0),
        example: &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x08, 0x00],
    },
    // Raw IP; 12 and 14 are the numbers that BSD and OpenBSD write to files
    LinkHeader { number: 101, network_of: |data| raw_ip(data, 0), example: &[] },
    LinkHeader { number: 12, network_of: |data| raw_ip(data, 0), example: &[] },
    LinkHeader { number: 14, network_of: |data| raw_ip(data, 0), example: &[] },
    // IPv4 alone, IPv6 alone
    LinkHeader { number: 228, network_of: |data| raw_ip(data, 0), example: &[] },
    LinkHeader { number: 229, network_of: |data| raw_ip(data, 0), example: &[] },
    // Linux "cooked" captures, versions 1 and 2
    LinkHeader {
        number: 113,
        network_of: |data| ethertype(data, u16_at(data, 14)?, 16),
        example: &[0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0x08, 0x00],
    },
    LinkHeader {
        number: 276,
        network_of: |data| ethertype(data, u16_at(data, 0)?, 20),
        example: &[0x08, 0x00, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0],
    },
    // BSD loopback (NULL), OpenBSD loopback (LOOP)
    LinkHeader { number: 0, network_of: address_family, example: &[2, 0, 0, 0] },
    LinkHeader { number: 108, network_of: address_family, example: &[0, 0, 0, 2] },
    // PPP, PPP in HDLC framing, PPP with a byte of direction, PPPoE session
    LinkHeader { number: 9, network_of: |data| ppp(data, 0), example: &[0x00, 0x21] },
    LinkHeader { number: 50, network_of: |data| ppp(data, 0), example: &[0xff, 0x03, 0x00, 0x21] },
    LinkHeader { number: 204, network_of: |data| ppp(data, 1), example: &[1, 0x00, 0x21] },
    LinkHeader {
        number: 51,
        network_of: |data| ppp(data, 6),
        example: &[0x11, 0x00, 0, 1, 0, 2, 0x00, 0x21],
    },
    // Cisco HDLC
    LinkHeader {
        number: 104,
        network_of: |data| ethertype(data, u16_at(data, 2)?, 4),
        example: &[0x0f, 0x00, 0x08, 0x00],
    },
];

/// The link header's end, as far as it leads to IP; `None` for other protocols and headers that
/// were cut.
///
/// # Errors
/// Where the link type is not decoded.
#[inline]
pub(super) fn network_of(
    link_type: LinkType,
    data: &[u8],
) -> Result<Option<Network>, UnknownLinkType> {
    if link_type == ETHERNET {
        return Ok(ethernet(data, 0)); // inlined: nearly all captures are of Ethernet
    }
    match LINK_HEADERS.iter().find(|header| header.number == link_type.0) {
        Some(header) => Ok((header.network_of)(data)),
        None => Err(UnknownLinkType),
    }
}

/// The link type is not one of those that are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnknownLinkType;

#[inline]
pub(super) fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    let field = data.get(at..at + 2)?;
    Some(u16::from_be_bytes([field[0], field[1]]))
}

#[inline]
pub(super) fn ethernet(data: &[u8], at: usize) -> Option<Network> {
    match u16_at(data, at + 12)? {
        ETHERTYPE_IPV4 => Some(Network::V4(at + 14)),
        other => ethertype(data, other, at + 14),
    }
}

/// Follows an EtherType through VLAN tags, MPLS labels, PPPoE and LLC/SNAP to IP.
pub(super) fn ethertype(data: &[u8], kind: u16, at: usize) -> Option<Network> {
    follow(data, Layer::EtherType(kind, at))
}

/// PPP (RFC 1661, RFC 1662): address and control may be left out, and the protocol shortened to one
/// byte.
pub(super) fn ppp(data: &[u8], at: usize) -> Option<Network> {
    follow(data, Layer::Ppp(at))
}

/// What stands at a byte of a frame.
enum Layer {
    Ip(Network),
    EtherType(u16, usize),
    Mpls(usize),
    Ppp(usize),
}

/// Goes from layer to layer. A loop and no recursion: a stranger's frame may nest them as deep as
/// it is long.
fn follow(data: &[u8], mut layer: Layer) -> Option<Network> {
    loop {
        layer = match layer {
            Layer::Ip(network) => return Some(network),
            Layer::EtherType(kind, at) => behind_ethertype(data, kind, at)?,
            Layer::Mpls(at) => behind_labels(data, at)?,
            Layer::Ppp(at) => behind_ppp(data, at)?,
        };
    }
}

fn behind_ethertype(data: &[u8], kind: u16, at: usize) -> Option<Layer> {
    match kind {
        ETHERTYPE_IPV4 => Some(Layer::Ip(Network::V4(at))),
        ETHERTYPE_IPV6 => Some(Layer::Ip(Network::V6(at))),
        ETHERTYPE_PPPOE_SESSION => Some(Layer::Ppp(at + 6)),
        _ if ETHERTYPE_VLAN.contains(&kind) => {
            Some(Layer::EtherType(u16_at(data, at + 2)?, at + 4))
        }
        _ if ETHERTYPE_MPLS.contains(&kind) => Some(Layer::Mpls(at)),
        _ if kind < SMALLEST_ETHERTYPE && data.get(at..at + 6)? == LLC_SNAP => {
            let kind = u16_at(data, at + 6)?;
            (kind >= SMALLEST_ETHERTYPE).then_some(Layer::EtherType(kind, at + 8))
        }
        _ => None,
    }
}

/// MPLS does not say what it carries (RFC 3032): the first nibble after the last label tells IP
/// from a pseudowire, whose control word is followed by an Ethernet frame (RFC 4448).
fn behind_labels(data: &[u8], mut at: usize) -> Option<Layer> {
    loop {
        let bottom_of_stack = data.get(at + 2)? & 1 == 1;
        at += 4;
        if bottom_of_stack {
            break;
        }
    }
    match data.get(at)? >> 4 {
        0 => Some(Layer::EtherType(u16_at(data, at + 16)?, at + 18)),
        _ => raw_ip(data, at).map(Layer::Ip),
    }
}

fn behind_ppp(data: &[u8], mut at: usize) -> Option<Layer> {
    if data.get(at..at + 2) == Some(&[0xff, 0x03]) {
        at += 2;
    }
    let first = *data.get(at)?;
    let (protocol, at) =
        if first & 1 == 1 { (u16::from(first), at + 1) } else { (u16_at(data, at)?, at + 2) };
    match protocol {
        0x0021 => Some(Layer::Ip(Network::V4(at))),
        0x0057 => Some(Layer::Ip(Network::V6(at))),
        0x0281 | 0x0283 => Some(Layer::Mpls(at)),
        _ => None,
    }
}

#[inline]
pub(super) fn raw_ip(data: &[u8], at: usize) -> Option<Network> {
    match data.get(at)? >> 4 {
        4 => Some(Network::V4(at)),
        6 => Some(Network::V6(at)),
        _ => None,
    }
}

/// BSD loopback: an address family in the byte order of the machine that captured; 2 is IPv4, IPv6
/// differs by system.
fn address_family(data: &[u8]) -> Option<Network> {
    let field = data.get(..4)?;
    let family = u32::from_le_bytes([field[0], field[1], field[2], field[3]]);
    let family = if family > 0xffff { family.swap_bytes() } else { family };
    match family {
        2 => Some(Network::V4(4)),
        10 | 24 | 28 | 30 => Some(Network::V6(4)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_type_of_the_table_leads_to_ip() {
        for (place, header) in LINK_HEADERS.iter().enumerate() {
            let number = LinkType(header.number);
            let frame = [header.example, &[0x45]].concat();
            let found = Ok(Some(Network::V4(header.example.len())));
            assert_eq!(network_of(number, &frame), found, "{number:?}");
            assert_eq!(network_of(number, &[]), Ok(None), "{number:?}");
            assert!(LINK_HEADERS[..place].iter().all(|other| other.number != header.number));
        }
        assert_eq!(network_of(LinkType(147), &[0x45]), Err(UnknownLinkType));
    }

    #[test]
    fn vlan_tags_of_any_depth_lead_to_ip() {
        let mut frame = vec![0; 12];
        for _ in 0..3 {
            frame.extend([0x81, 0x00, 0x00, 0x2a]);
        }
        frame.extend([0x08, 0x00, 0x45]);
        assert_eq!(ethernet(&frame, 0), Some(Network::V4(26)));
        assert_eq!(ethernet(&frame[..24], 0), None);
    }

    #[test]
    fn mpls_labels_end_at_the_bottom_of_the_stack() {
        let mut frame = vec![0; 12];
        frame.extend([0x88, 0x47, 0, 0, 0, 64, 0, 0, 1, 64, 0x60]);
        assert_eq!(ethernet(&frame, 0), Some(Network::V6(22)));
    }

    #[test]
    fn pseudowires_within_pseudowires_take_no_stack() {
        let mut frame = vec![0; 12];
        for _ in 0..200_000 {
            frame.extend([0x88, 0x47, 0, 0, 1, 64, 0, 0, 0, 0]);
            frame.extend([0; 12]);
        }
        frame.extend([0x08, 0x00, 0x45]);
        assert_eq!(ethernet(&frame, 0), Some(Network::V4(frame.len() - 1)));
    }

    #[test]
    fn ppp_headers_may_be_compressed() {
        assert_eq!(ppp(&[0xff, 0x03, 0x00, 0x21, 0x45], 0), Some(Network::V4(4)));
        assert_eq!(ppp(&[0x21, 0x45], 0), Some(Network::V4(1)));
        assert_eq!(ppp(&[0xc0, 0x21], 0), None);
    }

    #[test]
    fn loopback_families_are_read_in_both_byte_orders() {
        assert_eq!(address_family(&[2, 0, 0, 0]), Some(Network::V4(4)));
        assert_eq!(address_family(&[0, 0, 0, 30]), Some(Network::V6(4)));
    }
}
