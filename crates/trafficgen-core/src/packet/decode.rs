//! All layers of one record.

use crate::capture::Record;

use super::link::network_of;
use super::network::{ip, Addresses, Fragment};
use super::transport::{transport, TcpFacts};
use super::tunnel;

/// Tunnels within tunnels beyond this depth are left closed.
const MAX_TUNNELS: usize = 8;

/// The facts of an IP packet.
#[derive(Clone, Copy, Debug)]
pub struct Decoded<'a> {
    pub addresses: Addresses,
    /// IP protocol number of the upper layer.
    pub protocol: u8,
    /// 0 for protocols other than UDP and TCP, and for later fragments.
    pub source_port: u16,
    pub destination_port: u16,
    /// IP total length.
    pub ip_bytes: u32,
    /// Transport payload as sent; of a fragment what it carries.
    pub payload_bytes: u32,
    /// What was captured of the payload.
    pub payload: &'a [u8],
    pub tcp: Option<TcpFacts>,
    pub fragment: Fragment,
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

/// Reads link, network and transport headers; looks into tunnels where `decapsulate` is set.
///
/// # Errors
/// Why the record is not an IP packet whose addresses and ports are known.
#[inline]
pub fn decode<'a>(record: &Record<'a>, decapsulate: bool) -> Result<Decoded<'a>, Undecoded> {
    let Some(network) = network_of(record.link_type, record.data) else {
        return Err(if record.link_type.is_decoded() { Undecoded::NotIp } else { Undecoded::LinkType });
    };
    let mut facts = ip(network, record.data, record.original_bytes).ok_or(Undecoded::Header)?;
    if decapsulate {
        for _ in 0..MAX_TUNNELS {
            let within = tunnel::inside(&facts, record.data);
            match within.and_then(|network| ip(network, record.data, record.original_bytes)) {
                Some(inner) => facts = inner,
                None => break,
            }
        }
    }
    let upper = transport(&facts, record.data).ok_or(Undecoded::Header)?;
    Ok(Decoded {
        addresses: facts.addresses,
        protocol: facts.protocol,
        source_port: upper.source_port,
        destination_port: upper.destination_port,
        ip_bytes: facts.ip_bytes,
        payload_bytes: upper.payload_bytes,
        payload: upper.payload,
        tcp: upper.tcp,
        fragment: facts.fragment,
    })
}
