//! Packets under way, in a store that is used again and again.

use super::agent::{End, FlowId};
use super::time::Time;
use crate::transport::{quic, Segment};

/// What a packet carries.
#[derive(Clone, Copy, Debug)]
pub enum Content {
    Datagram { tag: u64 },
    Segment(Segment),
    Quic(quic::Packet),
}

/// What a packet says of congestion (RFC 3168, RFC 9331).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ecn {
    /// Not-ECT: its sender hears of congestion by loss alone.
    #[default]
    Incapable,
    /// ECT(0).
    Classic,
    /// ECT(1): its sender answers every mark a little.
    Scalable,
    /// CE: a queue on its way was about to be too long.
    Marked,
}

/// Number of a list of links that packets pass.
pub type RouteId = u32;

#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub flow: FlowId,
    /// The end that sent it.
    pub from: End,
    pub route: RouteId,
    /// Number of links of its route that it has passed.
    pub hop: u16,
    pub ip_bytes: u32,
    pub payload_bytes: u32,
    /// Its row in the record.
    pub row: u32,
    pub sent_ns: Time,
    pub ecn: Ecn,
    /// It goes first where a queue has priorities.
    pub urgent: bool,
    pub content: Content,
}

impl Packet {
    /// Number of its flow in its direction, by which fair queues tell flows apart.
    pub fn stream(&self) -> u32 {
        2 * self.flow + u32::from(self.from == End::Client)
    }
}

/// Number of a packet in the store.
pub type PacketId = u32;

#[derive(Debug, Default)]
pub struct PacketStore {
    packets: Vec<Packet>,
    free: Vec<PacketId>,
}

impl PacketStore {
    pub fn put(&mut self, packet: Packet) -> PacketId {
        match self.free.pop() {
            Some(id) => {
                self.packets[id as usize] = packet;
                id
            }
            None => {
                self.packets.push(packet);
                (self.packets.len() - 1) as PacketId
            }
        }
    }

    pub fn get_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id as usize]
    }

    pub fn take(&mut self, id: PacketId) -> Packet {
        self.free.push(id);
        self.packets[id as usize]
    }

    pub fn under_way(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}
