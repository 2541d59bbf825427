//! The future: events in order of time, and of their making where times are equal.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::agent::{ConnectionId, End};
use super::packet::PacketId;
use super::time::Time;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// The first packet in propagation on a link reaches its far end.
    PipeHead {
        link: u16,
    },
    /// A packet that was overtaken reaches the far end of a link.
    Overtaken {
        packet: PacketId,
    },
    /// The line of a link is free while packets wait and none of its packets is under way.
    LineFree {
        link: u16,
    },
    Timer {
        agent: u32,
        timer: u32,
    },
    TcpTimer {
        connection: ConnectionId,
        client: bool,
    },
    Start {
        agent: u32,
    },
    Stop {
        agent: u32,
    },
    Sample,
}

impl Event {
    pub fn tcp_timer(connection: ConnectionId, end: End) -> Self {
        Self::TcpTimer { connection, client: end == End::Client }
    }
}

#[derive(Debug, Default)]
pub struct EventQueue {
    heap: BinaryHeap<Reverse<(Time, u64, Event)>>,
    made: u64,
}

impl EventQueue {
    pub fn push(&mut self, at: Time, event: Event) {
        self.made += 1;
        self.heap.push(Reverse((at, self.made, event)));
    }

    pub fn pop(&mut self) -> Option<(Time, Event)> {
        self.heap.pop().map(|Reverse((at, _, event))| (at, event))
    }
}
