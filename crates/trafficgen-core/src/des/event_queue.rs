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

type Heap = BinaryHeap<Reverse<(Time, u64, Event)>>;

/// Events of links are kept apart: they are most of what happens, each link has one or two at a
/// time, and thousands of sessions have timers.
#[derive(Debug, Default)]
pub struct EventQueue {
    of_links: Heap,
    others: Heap,
    made: u64,
}

impl EventQueue {
    pub fn push(&mut self, at: Time, event: Event) {
        self.made += 1;
        let heap = match event {
            Event::PipeHead { .. } | Event::LineFree { .. } => &mut self.of_links,
            _ => &mut self.others,
        };
        heap.push(Reverse((at, self.made, event)));
    }

    pub fn pop(&mut self) -> Option<(Time, Event)> {
        let heap = match (self.of_links.peek(), self.others.peek()) {
            (Some(link), Some(other)) if link < other => &mut self.others,
            (None, Some(_)) => &mut self.others,
            _ => &mut self.of_links,
        };
        heap.pop().map(|Reverse((at, _, event))| (at, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_order_of_time_and_of_their_making() {
        let mut queue = EventQueue::default();
        let events = [
            (5, Event::Sample),
            (3, Event::PipeHead { link: 0 }),
            (3, Event::Start { agent: 1 }),
            (1, Event::Stop { agent: 2 }),
            (3, Event::LineFree { link: 1 }),
            (4, Event::Overtaken { packet: 7 }),
        ];
        events.into_iter().for_each(|(at, event)| queue.push(at, event));
        let came: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(came, [3, 1, 2, 4, 5, 0].map(|number| events[number]));
    }
}
