//! FQ-CoDel (RFC 8290): flows take turns, new ones first, and each has a CoDel of its own.

use std::collections::VecDeque;

use super::codel::{Codel, Law};
use super::{Discipline, Fifo, Moment, Waiting};

/// Queues that flows are spread over (RFC 8290 5.2.3).
const QUEUES: usize = 1024;
/// Bytes of a turn (RFC 8290 5.2.4).
const QUANTUM_BYTES: i64 = 1514;
/// Most packets that a full queue drops at once (RFC 8290 4.1).
const DROP_BATCH: usize = 64;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Turn {
    /// It waits for no turn.
    #[default]
    Idle,
    New,
    Old,
}

#[derive(Debug, Default)]
struct FlowQueue {
    fifo: Fifo,
    codel: Codel,
    credit_bytes: i64,
    turn: Turn,
}

#[derive(Debug)]
pub struct FqCodel {
    law: Law,
    queues: Vec<FlowQueue>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    packets: usize,
    bytes: u64,
}

impl FqCodel {
    pub fn new(law: Law) -> Self {
        let queues = (0..QUEUES).map(|_| FlowQueue::default()).collect();
        let (new, old) = (VecDeque::new(), VecDeque::new());
        Self { law, queues, new, old, packets: 0, bytes: 0 }
    }

    /// The queue of a flow: Knuth's multiplicative hash, which keeps few flows apart.
    fn queue_of(flow: u32) -> usize {
        (flow.wrapping_mul(2_654_435_761) >> 22) as usize
    }

    /// Take from the queue whose turn it is; None where it has nothing that may go.
    fn take(&mut self, number: usize, moment: &mut Moment) -> Option<Waiting> {
        let queue = &mut self.queues[number];
        let (before, dropped) = (queue.fifo.packets(), moment.dropped.len());
        let packet = queue.codel.dequeue(&self.law, &mut queue.fifo, moment);
        self.packets -= before - queue.fifo.packets();
        let lost: u64 = moment.dropped[dropped..].iter().map(|one| u64::from(one.bytes)).sum();
        let bytes = packet.map_or(0, |packet| packet.bytes);
        queue.credit_bytes -= i64::from(bytes);
        self.bytes -= u64::from(bytes) + lost;
        packet
    }
}

impl Discipline for FqCodel {
    fn enqueue(&mut self, _moment: &mut Moment, packet: Waiting) {
        let number = Self::queue_of(packet.flow);
        let queue = &mut self.queues[number];
        queue.fifo.push(packet);
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
        if queue.turn == Turn::Idle {
            queue.turn = Turn::New;
            queue.credit_bytes = QUANTUM_BYTES;
            self.new.push_back(number);
        }
    }

    /// RFC 8290 4.2.
    fn dequeue(&mut self, moment: &mut Moment) -> Option<Waiting> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let queue = &mut self.queues[number];
            if queue.credit_bytes <= 0 {
                queue.credit_bytes += QUANTUM_BYTES;
                queue.turn = Turn::Old;
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            if let Some(packet) = self.take(number, moment) {
                return Some(packet);
            }
            // A new queue that has run empty waits a round among the old ones: a flow that sends a
            // packet at a time would otherwise always be new, and starve them.
            let list = if is_new { &mut self.new } else { &mut self.old };
            list.pop_front();
            if is_new && !self.old.is_empty() {
                self.queues[number].turn = Turn::Old;
                self.old.push_back(number);
            } else {
                self.queues[number].turn = Turn::Idle;
            }
        }
    }

    fn packets(&self) -> usize {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Drop from the head of the longest queue (RFC 8290 4.1).
    fn make_room(&mut self, moment: &mut Moment, _arriving: &Waiting) -> bool {
        let Some(longest) = self.queues.iter_mut().max_by_key(|queue| queue.fifo.bytes()) else {
            return false;
        };
        let batch = longest.fifo.packets().div_ceil(2).min(DROP_BATCH);
        for packet in (0..batch).map_while(|_| longest.fifo.pop()) {
            self.packets -= 1;
            self.bytes -= u64::from(packet.bytes);
            moment.dropped.push(packet);
        }
        batch > 0
    }
}
