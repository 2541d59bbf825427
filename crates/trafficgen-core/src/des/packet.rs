//! Packets under way, in a store that is used again and again.

use super::agent::{End, FlowId};
use super::time::Time;
use crate::transport::Segment;

/// What a packet carries.
#[derive(Clone, Copy, Debug)]
pub enum Content {
    Datagram { tag: u64 },
    Segment(Segment),
}

#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub flow: FlowId,
    /// The end that sent it.
    pub from: End,
    /// Number of links it has passed.
    pub hop: u16,
    pub ip_bytes: u32,
    pub payload_bytes: u32,
    /// Its row in the record.
    pub row: u32,
    pub sent_ns: Time,
    pub content: Content,
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
