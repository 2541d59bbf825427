//! Queue disciplines: what waits for a line, which packet goes next, and which ones are dropped or
//! marked to slow their senders down.

mod codel;
mod config;
mod dualpi2;
mod fifo;
mod fq_codel;
mod pie;
mod priority;
mod red;
#[cfg(test)]
mod tests;

use rand_chacha::ChaCha8Rng;

use super::packet::{Ecn, PacketId};
use super::time::Time;
pub use config::AqmConfig;
pub use fifo::Fifo;

/// A packet that waits for the line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waiting {
    pub id: PacketId,
    /// What tells flows apart: packets of one flow in one direction have one number.
    pub flow: u32,
    /// IP bytes.
    pub ip_bytes: u32,
    /// What the line and the queue count: IP bytes and the link layer's.
    pub bytes: u32,
    pub arrived: Time,
    pub ecn: Ecn,
    /// It goes first where flows have priorities.
    pub urgent: bool,
    /// Whether this queue has marked it.
    pub marked: bool,
}

/// What a discipline decides with, and where it leaves what it drops.
#[derive(Debug)]
pub struct Moment<'a> {
    pub now: Time,
    pub rng: &'a mut ChaCha8Rng,
    pub dropped: &'a mut Vec<Waiting>,
}

impl Moment<'_> {
    /// Mark a packet that can be marked, and drop any other; the packet where it goes on.
    fn mark_or_drop(&mut self, mut packet: Waiting) -> Option<Waiting> {
        if packet.ecn == Ecn::Incapable {
            self.dropped.push(packet);
            return None;
        }
        packet.marked = true;
        Some(packet)
    }
}

/// The packets that wait for a line: the link offers those that arrive, and asks for the next one
/// when the line is free.
pub trait Discipline: std::fmt::Debug + Send {
    /// Take or drop a packet that arrives now; the queue's limit leaves room for it.
    fn enqueue(&mut self, moment: &mut Moment, packet: Waiting);

    /// The packet that goes now; None where nothing is left that may go.
    fn dequeue(&mut self, moment: &mut Moment) -> Option<Waiting>;

    /// Packets that wait.
    fn packets(&self) -> usize;

    /// Bytes that wait.
    fn bytes(&self) -> u64;

    /// Whether the order of departures is known on arrival, whatever comes later: the link then
    /// computes a departure at once.
    fn knows_order(&self) -> bool {
        false
    }

    /// Drop something else than the packet that arrives and finds the queue full; false where it is
    /// that packet that must be dropped.
    fn make_room(&mut self, _moment: &mut Moment, _arriving: &Waiting) -> bool {
        false
    }
}
