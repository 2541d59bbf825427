//! Strict priority: what waits in the first queue always goes before what waits in the second one.

use super::{Discipline, Fifo, Moment, Waiting};

#[derive(Debug, Default)]
pub struct Priority {
    urgent: Fifo,
    others: Fifo,
}

impl Discipline for Priority {
    fn enqueue(&mut self, _moment: &mut Moment, packet: Waiting) {
        if packet.urgent { &mut self.urgent } else { &mut self.others }.push(packet);
    }

    fn dequeue(&mut self, _moment: &mut Moment) -> Option<Waiting> {
        self.urgent.pop().or_else(|| self.others.pop())
    }

    fn packets(&self) -> usize {
        self.urgent.packets() + self.others.packets()
    }

    fn bytes(&self) -> u64 {
        self.urgent.bytes() + self.others.bytes()
    }

    /// What is urgent takes the place of the last packet that is not.
    fn make_room(&mut self, moment: &mut Moment, arriving: &Waiting) -> bool {
        let last = arriving.urgent.then(|| self.others.pop_last()).flatten();
        moment.dropped.extend(last);
        last.is_some()
    }
}
