//! All layers of one record.

use crate::capture::Record;

use super::link::{network_of, UnknownLinkType};
use super::network::{read_ip, Addresses, Fragment};
use super::transport::{read_transport, TcpFacts};
use super::tunnel;

/// Tunnels within tunnels beyond this depth are left closed.
const MAX_TUNNELS: usize = 8;

/// The facts of an IP packet, filled layer by layer in place (moving them costs more than reading
/// them).
#[derive(Clone, Copy, Debug)]
pub struct Decoded<'a> {
    pub addresses: Addresses<'a>,
    /// IP total length.
    pub ip_bytes: u32,
    /// Transport payload as sent; of a fragment what it carries.
    pub payload_bytes: u32,
    /// What was captured of the payload.
    pub payload: &'a [u8],
    pub fragment: Fragment,
    /// 0 for protocols other than UDP and TCP, and for later fragments.
    pub source_port: u16,
    pub destination_port: u16,
    /// IP protocol number of the upper layer, behind extension headers.
    pub protocol: u8,
    /// Whether `tcp` is known.
    pub has_tcp: bool,
    pub tcp: TcpFacts,
    /// Bytes of IP headers before the upper layer, and where that begins in the record.
    pub(super) header_bytes: usize,
    pub(super) upper: usize,
}

impl Decoded<'_> {
    /// What [`decode`] fills in.
    #[inline(always)]
    pub fn empty() -> Self {
        Self {
            addresses: Addresses::V4 { source: 0, destination: 0 },
            ip_bytes: 0,
            payload_bytes: 0,
            payload: &[],
            fragment: Fragment::Whole,
            source_port: 0,
            destination_port: 0,
            protocol: 0,
            has_tcp: false,
            tcp: TcpFacts::default(),
            header_bytes: 0,
            upper: 0,
        }
    }
}

/// Why a record has no place in the packet table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecoded {
    /// Another protocol than IP, such as ARP.
    NotIp,
    /// The link type is not one of those that are read.
    LinkType,
    /// It says it is IP, but the header is cut off or wrong.
    Header,
}

/// Reads link, network and transport headers into `packet`; looks into tunnels where `decapsulate`
/// is set.
///
/// # Errors
/// Why the record is not an IP packet whose addresses and ports are known.
#[inline(always)]
pub fn decode<'a>(
    record: &Record<'a>,
    decapsulate: bool,
    packet: &mut Decoded<'a>,
) -> Result<(), Undecoded> {
    let network = match network_of(record.link_type, record.data) {
        Ok(Some(network)) => network,
        Ok(None) => return Err(Undecoded::NotIp),
        Err(UnknownLinkType) => return Err(Undecoded::LinkType),
    };
    if !read_ip(network, record.data, record.original_bytes, packet) {
        return Err(Undecoded::Header);
    }
    if decapsulate {
        look_inside(record, packet);
    }
    if read_transport(record.data, packet) {
        Ok(())
    } else {
        Err(Undecoded::Header)
    }
}

/// Replaces the outer IP header's facts by the innermost one's.
#[inline(never)]
fn look_inside<'a>(record: &Record<'a>, packet: &mut Decoded<'a>) {
    for _ in 0..MAX_TUNNELS {
        let Some(network) = tunnel::inside(packet, record.data) else { return };
        let mut inner = *packet;
        if !read_ip(network, record.data, record.original_bytes, &mut inner) {
            return;
        }
        *packet = inner;
    }
}
