//! What one end writes: streams, and what of each waits, is lost or has arrived.

use std::collections::VecDeque;

use super::super::ranges::Ranges;
use super::packet::{frame_header_bytes, StreamFrame};
use super::{StreamId, CRYPTO};

#[derive(Debug, Default)]
struct SendStream {
    id: StreamId,
    /// End of what was written, of what was sent, and of what has arrived in order.
    queued: u64,
    sent: u64,
    una: u64,
    arrived: Ranges,
    lost: Ranges,
    /// It has something to send and waits for its turn.
    waits: bool,
}

impl SendStream {
    fn is_idle(&self) -> bool {
        self.sent == self.queued && self.lost.is_empty()
    }

    /// What is sent next into `room` bytes, with its header, of which at most `credit` are new.
    /// Also counts what no longer waits, sent or not.
    fn take(&mut self, room: u64, credit: u64) -> (Option<StreamFrame>, u64) {
        let mut settled = 0;
        while let Some((start, end)) = self.lost.first() {
            let Some((offset, gap_end)) = self.arrived.gap(start.max(self.una), end) else {
                settled += self.lost.remove_below(end); // it was late, not lost
                continue;
            };
            let fitting = self.fitting(offset, gap_end - offset, room);
            settled += self.lost.remove_below(offset + fitting);
            return (self.frame(offset, fitting, true), settled);
        }
        let new = self.fitting(self.sent, (self.queued - self.sent).min(credit), room);
        let frame = self.frame(self.sent, new, false);
        self.sent += new;
        (frame, settled + new)
    }

    fn fitting(&self, offset: u64, bytes: u64, room: u64) -> u64 {
        let header_bytes = u64::from(frame_header_bytes(self.id, offset));
        bytes.min(room.saturating_sub(header_bytes)).min(u64::from(u16::MAX))
    }

    fn frame(&self, offset: u64, bytes: u64, again: bool) -> Option<StreamFrame> {
        let frame = StreamFrame { offset, stream: self.id, bytes: bytes as u16, again };
        (bytes > 0).then_some(frame)
    }

    /// A stretch has arrived; the bytes that had not before.
    fn note_arrival(&mut self, frame: &StreamFrame) -> u64 {
        let (start, end) = (frame.offset.max(self.una), frame.end());
        if start >= end {
            return 0;
        }
        if start == self.una && self.arrived.is_empty() {
            self.una = end;
            return end - start;
        }
        let fresh = self.arrived.insert(start, end);
        if let Some((_, end)) = self.arrived.first().filter(|first| first.0 <= self.una) {
            self.una = end;
            self.arrived.remove_below(end);
        }
        fresh
    }

    /// A stretch is lost; the bytes that wait to be sent again.
    fn note_loss(&mut self, frame: &StreamFrame) -> u64 {
        let (mut from, end) = (frame.offset.max(self.una), frame.end());
        let mut waiting = 0;
        while from < end {
            let Some((start, gap_end)) = self.arrived.gap(from, end) else { break };
            waiting += self.lost.insert(start, gap_end);
            from = gap_end;
        }
        waiting
    }
}

/// Streams that one end writes, in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct SendStreams {
    streams: Vec<SendStream>,
    /// Those with something to send, in turn.
    turns: VecDeque<StreamId>,
    /// Bytes that wait to be sent, new or again.
    waiting_bytes: u64,
    /// Bytes of data that were written and have not arrived.
    outstanding_bytes: u64,
    acknowledged_bytes: u64,
    /// New bytes of data that were sent, which flow control limits.
    sent_bytes: u64,
}

impl SendStreams {
    fn place(&self, id: StreamId) -> Result<usize, usize> {
        match self.streams.last() {
            Some(last) if last.id == id => Ok(self.streams.len() - 1),
            _ => self.streams.binary_search_by_key(&id, |stream| stream.id),
        }
    }

    fn stream_mut(&mut self, id: StreamId) -> &mut SendStream {
        let place = self.place(id).unwrap_or_else(|place| {
            self.streams.insert(place, SendStream { id, ..SendStream::default() });
            place
        });
        &mut self.streams[place]
    }

    pub fn write(&mut self, id: StreamId, bytes: u64) {
        let stream = self.stream_mut(id);
        stream.queued += bytes;
        let starts = bytes > 0 && !std::mem::replace(&mut stream.waits, true);
        if starts && id == CRYPTO {
            self.turns.push_front(id);
        } else if starts {
            self.turns.push_back(id);
        }
        self.waiting_bytes += bytes;
        if id != CRYPTO {
            self.outstanding_bytes += bytes;
        }
    }

    pub fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    pub fn outstanding_bytes(&self) -> u64 {
        self.outstanding_bytes
    }

    pub fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Bytes of data that have arrived, in order or not.
    pub fn acknowledged_bytes(&self) -> u64 {
        self.acknowledged_bytes
    }

    /// Up to where a stream has arrived in order.
    pub fn acknowledged(&self, id: StreamId) -> u64 {
        self.place(id).map_or(0, |place| self.streams[place].una)
    }

    /// The next stretch that fits into `room` bytes; streams take turns. At most `credit` bytes of
    /// data are new.
    pub fn next_frame(&mut self, room: u64, credit: u64) -> Option<StreamFrame> {
        for _ in 0..self.turns.len() {
            let id = *self.turns.front()?;
            let stream = self.stream_mut(id);
            let credit = if id == CRYPTO { u64::MAX } else { credit };
            let (frame, settled) = stream.take(room, credit);
            let is_over = stream.is_idle();
            stream.waits = !is_over;
            self.waiting_bytes -= settled;
            if is_over {
                self.turns.pop_front();
            } else {
                self.turns.rotate_left(1);
            }
            if let Some(frame) = frame {
                if !frame.again && id != CRYPTO {
                    self.sent_bytes += u64::from(frame.bytes);
                }
                return Some(frame);
            }
        }
        None
    }

    pub fn note_arrival(&mut self, frame: &StreamFrame) {
        let fresh = self.stream_mut(frame.stream).note_arrival(frame);
        if frame.stream != CRYPTO {
            self.outstanding_bytes -= fresh;
            self.acknowledged_bytes += fresh;
        }
    }

    /// A stretch is lost: it goes before what is new.
    pub fn note_loss(&mut self, frame: &StreamFrame) {
        let stream = self.stream_mut(frame.stream);
        let waiting = stream.note_loss(frame);
        let starts = waiting > 0 && !std::mem::replace(&mut stream.waits, true);
        self.waiting_bytes += waiting;
        if starts {
            self.turns.push_front(frame.stream);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_take_turns_and_lost_stretches_go_first() {
        let mut streams = SendStreams::default();
        streams.write(1, 3000);
        streams.write(2, 1000);
        let frames: Vec<_> =
            std::iter::from_fn(|| streams.next_frame(1007, u64::MAX)).take(3).collect();
        let order: Vec<_> = frames.iter().map(|frame| (frame.stream, frame.offset)).collect();
        assert_eq!(order, [(1, 0), (2, 0), (1, 1003)]);
        streams.note_loss(&frames[0]);
        let again = streams.next_frame(1007, u64::MAX);
        assert_eq!(again.map(|frame| (frame.offset, frame.again)), Some((0, true)));
    }

    #[test]
    fn what_arrives_late_is_not_sent_again() {
        let mut streams = SendStreams::default();
        streams.write(0, 900);
        let Some(frame) = streams.next_frame(1000, u64::MAX) else { return };
        streams.note_loss(&frame);
        assert_eq!(streams.waiting_bytes(), 900);
        streams.note_arrival(&frame);
        assert_eq!(streams.next_frame(1000, u64::MAX), None);
        assert_eq!((streams.waiting_bytes(), streams.outstanding_bytes()), (0, 0));
    }
}
