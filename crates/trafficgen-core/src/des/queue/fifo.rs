//! First in, first out: the drop-tail queue, and a part of other disciplines.

use std::collections::VecDeque;

use super::{Discipline, Moment, Waiting};
use crate::des::time::Time;

/// Packets in the order in which they came.
#[derive(Debug, Default)]
pub struct Fifo {
    packets: VecDeque<Waiting>,
    bytes: u64,
}

impl Fifo {
    pub fn push(&mut self, packet: Waiting) {
        self.bytes += u64::from(packet.bytes);
        self.packets.push_back(packet);
    }

    pub fn pop(&mut self) -> Option<Waiting> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// Take the packet that came last.
    pub fn pop_last(&mut self) -> Option<Waiting> {
        let packet = self.packets.pop_back()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// How long the first packet has waited, ns; 0 where there is none.
    pub fn age_ns(&self, now: Time) -> Time {
        self.packets.front().map_or(0, |packet| now - packet.arrived)
    }
}

impl Discipline for Fifo {
    fn enqueue(&mut self, _moment: &mut Moment, packet: Waiting) {
        self.push(packet);
    }

    fn dequeue(&mut self, _moment: &mut Moment) -> Option<Waiting> {
        self.pop()
    }

    fn packets(&self) -> usize {
        self.packets.len()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn knows_order(&self) -> bool {
        true
    }
}
