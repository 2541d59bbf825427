//! What of the outstanding data has arrived, is lost, or was retransmitted: RFC 6675, kept as
//! running sums.

use std::collections::VecDeque;

use super::ranges::Ranges;
use super::Time;

/// Segments that must have arrived above a hole before it counts as lost (RFC 5681, RFC 6675).
pub(super) const DUPLICATE_THRESHOLD: u64 = 3;

/// A retransmitted stretch, and the highest offset that was sent before it.
#[derive(Clone, Copy, Debug)]
struct Resent {
    start: u64,
    end: u64,
    sent_before: u64,
    sent_at: Time,
    order: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    sacked: Ranges,
    /// Everything below that is not SACKed counts as lost.
    lost_below: u64,
    /// HighRxt of RFC 6675: everything below that is not SACKed has been retransmitted.
    resent_below: u64,
    lost_bytes: u64,
    resent_bytes: u64,
    resent: VecDeque<Resent>,
    /// Retransmissions that got lost themselves.
    lost_again: VecDeque<(u64, u64)>,
    lost_again_bytes: u64,
    /// All that ever counted as lost.
    lost_ever_bytes: u64,
}

impl Scoreboard {
    /// Bytes of `una..nxt` that are in the network (SetPipe of RFC 6675).
    pub fn pipe_bytes(&self, una: u64, nxt: u64) -> u64 {
        (nxt - una + self.resent_bytes)
            .saturating_sub(self.sacked.bytes() + self.lost_bytes + self.lost_again_bytes)
    }

    pub fn lost_ever_bytes(&self) -> u64 {
        self.lost_ever_bytes
    }

    pub fn lost_below(&self) -> u64 {
        self.lost_below
    }

    /// What of `start..end` no SACK block has reported.
    pub fn holes_in(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut from = start;
        std::iter::from_fn(move || {
            let hole = self.sacked.gap(from, end)?;
            from = hole.1;
            Some(hole)
        })
    }

    pub fn is_lost(&self, offset: u64) -> bool {
        offset < self.lost_below
    }

    /// Whether anything has arrived beyond a hole.
    pub fn has_arrivals(&self) -> bool {
        !self.sacked.is_empty()
    }

    /// End of all that has arrived beyond a hole.
    pub fn highest_arrival(&self) -> Option<u64> {
        self.sacked.highest_end()
    }

    /// Whether so much has arrived beyond the first hole that it counts as lost.
    pub fn shows_loss(&self, mss: u64) -> bool {
        self.sacked.count() as u64 >= DUPLICATE_THRESHOLD
            || self.sacked.bytes() > (DUPLICATE_THRESHOLD - 1) * mss
    }

    fn unsacked_in(&self, start: u64, end: u64) -> u64 {
        end.saturating_sub(start) - self.sacked.covered_in(start, end)
    }

    /// Takes a SACK block; the bytes that are new.
    pub fn sack(&mut self, start: u64, end: u64) -> u64 {
        if self.sacked.containing(start).is_some_and(|range| range.1 >= end) {
            return 0;
        }
        if start < self.lost_below {
            self.lost_bytes -= self.unsacked_in(start, end.min(self.lost_below));
        }
        if start < self.resent_below {
            self.resent_bytes -= self.unsacked_in(start, end.min(self.resent_below));
        }
        self.sacked.insert(start, end)
    }

    /// The cumulative acknowledgement moved; the bytes of `old..new` that no SACK had reported.
    pub fn acknowledge(&mut self, old: u64, new: u64) -> u64 {
        if self.lost_below > old {
            self.lost_bytes -= self.unsacked_in(old, new.min(self.lost_below));
        }
        if self.resent_below > old {
            self.resent_bytes -= self.unsacked_in(old, new.min(self.resent_below));
        }
        self.lost_below = self.lost_below.max(new);
        self.resent_below = self.resent_below.max(new);
        let unreported = new - old - self.sacked.remove_below(new);
        if !self.lost_again.is_empty() {
            self.count_lost_again(new);
        }
        unreported
    }

    /// Marks as lost what has enough SACKed above it (IsLost of RFC 6675).
    pub fn find_losses(&mut self, una: u64, mss: u64) {
        let (mut count, mut bytes) = (0, 0);
        let enough = self.sacked.descending().find(|(start, end)| {
            count += 1;
            bytes += end - start;
            count >= DUPLICATE_THRESHOLD || bytes > (DUPLICATE_THRESHOLD - 1) * mss
        });
        if let Some((start, _)) = enough {
            self.mark_lost_below(una, start);
        }
    }

    pub fn mark_lost_below(&mut self, una: u64, boundary: u64) {
        let from = self.lost_below.max(una);
        if boundary > from {
            let lost = self.unsacked_in(from, boundary);
            self.lost_bytes += lost;
            self.lost_ever_bytes += lost;
            self.lost_below = boundary;
        }
    }

    /// What was sent well after a retransmission has arrived, the retransmission has not: it is
    /// lost too. RFC 6675 leaves that to the timer; Linux does not (before RACK by the same
    /// sequence rule).
    pub fn find_lost_retransmissions(&mut self, una: u64, mss: u64) {
        let Some(highest) = self.sacked.highest_end() else { return };
        while let Some(resent) = self.resent.front().copied() {
            let done = resent.end <= una || self.sacked.containing(resent.start).is_some();
            if !done && highest <= resent.sent_before + DUPLICATE_THRESHOLD * mss {
                break;
            }
            self.resent.pop_front();
            if !done {
                self.lost_again.push_back((resent.start, resent.end));
                self.lost_ever_bytes += resent.end - resent.start;
            }
        }
        self.count_lost_again(una);
    }

    /// Retransmissions that left by `lost_before`, and before the latest of what has arrived, are
    /// lost; the latest departure of those that may be so later.
    pub fn find_late_retransmissions(
        &mut self,
        una: u64,
        latest: u64,
        lost_before: Time,
    ) -> Option<Time> {
        let mut waiting = None;
        while let Some(resent) = self.resent.front().copied() {
            let done = resent.end <= una || self.sacked.containing(resent.start).is_some();
            if !done && resent.order > latest {
                break;
            }
            if !done && resent.sent_at > lost_before {
                waiting = Some(resent.sent_at);
                break;
            }
            self.resent.pop_front();
            if !done {
                self.lost_again.push_back((resent.start, resent.end));
                self.lost_ever_bytes += resent.end - resent.start;
            }
        }
        self.count_lost_again(una);
        waiting
    }

    /// Only what is still missing counts, for the first retransmission may have been late rather
    /// than lost.
    fn count_lost_again(&mut self, una: u64) {
        if self.lost_again.is_empty() {
            self.lost_again_bytes = 0;
            return;
        }
        self.lost_again
            .retain(|(start, end)| *end > una && self.sacked.containing(*start).is_none());
        let stretches = self.lost_again.iter();
        self.lost_again_bytes =
            stretches.map(|(start, end)| self.unsacked_in(una.max(*start), *end)).sum();
    }

    /// The next stretch to send again because it is lost.
    pub fn next_lost(&self, una: u64) -> Option<(u64, u64)> {
        let again =
            self.lost_again.front().and_then(|(start, end)| self.sacked.gap(una.max(*start), *end));
        again.or_else(|| {
            let from = self.resent_below.max(una);
            if from >= self.lost_below {
                return None;
            }
            self.sacked.gap(from, self.lost_below)
        })
    }

    /// A hole that may be lost, for when there is nothing else to send (NextSeg rule 3 of RFC
    /// 6675).
    pub fn next_hole(&self, una: u64) -> Option<(u64, u64)> {
        let highest = self.sacked.highest_end()?;
        self.sacked.gap(self.resent_below.max(una), highest)
    }

    /// `start..end` was retransmitted, after everything below `sent_before`, as departure `order`.
    pub fn note_resent(
        &mut self,
        una: u64,
        (start, end): (u64, u64),
        sent_before: u64,
        (sent_at, order): (Time, u64),
    ) {
        if start >= self.resent_below.max(una) {
            self.resent_bytes += end - start;
            self.resent_below = end;
        } else if let Some(front) = self.lost_again.front_mut() {
            front.0 = end;
            if front.0 >= front.1 {
                self.lost_again.pop_front();
            }
            self.count_lost_again(una);
        }
        self.resent.push_back(Resent { start, end, sent_before, sent_at, order });
    }

    /// After a timeout all that is not SACKed counts as lost, retransmissions too.
    pub fn time_out(&mut self, una: u64, nxt: u64) {
        self.resent.clear();
        self.lost_again.clear();
        self.lost_again_bytes = 0;
        self.resent_bytes = 0;
        self.resent_below = una;
        self.mark_lost_below(una, nxt);
    }

    /// Nothing from `una` on is lost, and all retransmissions were needless.
    pub fn forget_losses(&mut self, una: u64) {
        self.resent.clear();
        self.lost_again.clear();
        self.lost_again_bytes = 0;
        self.resent_bytes = 0;
        self.lost_bytes = 0;
        self.lost_below = una;
        self.resent_below = una;
    }

    /// After an acknowledgement of everything that was ever lost.
    pub fn forget_retransmissions(&mut self, una: u64) {
        while self.resent.front().is_some_and(|resent| resent.end <= una) {
            self.resent.pop_front();
        }
        self.count_lost_again(una);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    #[test]
    fn a_hole_is_lost_when_three_segments_arrived_above_it() {
        let mut board = Scoreboard::default();
        assert_eq!(board.sack(MSS, 3 * MSS), 2 * MSS);
        board.find_losses(0, MSS);
        assert_eq!((board.is_lost(0), board.next_lost(0)), (false, None));
        assert_eq!(board.next_hole(0), Some((0, MSS)));
        assert_eq!(board.sack(MSS, 4 * MSS), MSS);
        board.find_losses(0, MSS);
        assert_eq!(board.next_lost(0), Some((0, MSS)));
        assert_eq!(board.pipe_bytes(0, 6 * MSS), 2 * MSS);
    }

    #[test]
    fn retransmissions_count_until_they_are_acknowledged() {
        let mut board = Scoreboard::default();
        board.sack(MSS, 2 * MSS);
        board.sack(3 * MSS, 6 * MSS);
        board.find_losses(0, MSS);
        assert_eq!(board.pipe_bytes(0, 6 * MSS), 0);
        board.note_resent(0, (0, MSS), 6 * MSS, (0, 0));
        assert_eq!(board.next_lost(0), Some((2 * MSS, 3 * MSS)));
        board.note_resent(0, (2 * MSS, 3 * MSS), 6 * MSS, (0, 0));
        assert_eq!((board.pipe_bytes(0, 6 * MSS), board.next_lost(0)), (2 * MSS, None));
        assert_eq!(board.acknowledge(0, 2 * MSS), MSS);
        assert_eq!(board.pipe_bytes(2 * MSS, 6 * MSS), MSS);
        assert_eq!(board.acknowledge(2 * MSS, 6 * MSS), MSS);
        assert_eq!(board.pipe_bytes(6 * MSS, 6 * MSS), 0);
    }

    #[test]
    fn a_lost_retransmission_is_sent_once_more() {
        let mut board = Scoreboard::default();
        board.sack(MSS, 4 * MSS);
        board.find_losses(0, MSS);
        board.note_resent(0, (0, MSS), 4 * MSS, (0, 0));
        board.sack(4 * MSS, 7 * MSS);
        board.find_lost_retransmissions(0, MSS);
        assert_eq!(board.next_lost(0), None);
        board.sack(7 * MSS, 8 * MSS);
        board.find_lost_retransmissions(0, MSS);
        assert_eq!((board.next_lost(0), board.pipe_bytes(0, 8 * MSS)), (Some((0, MSS)), 0));
        board.note_resent(0, (0, MSS), 8 * MSS, (0, 0));
        assert_eq!((board.next_lost(0), board.pipe_bytes(0, 8 * MSS)), (None, MSS));
    }

    #[test]
    fn a_timeout_takes_everything_for_lost_but_what_was_sacked() {
        let mut board = Scoreboard::default();
        board.sack(2 * MSS, 3 * MSS);
        board.time_out(0, 5 * MSS);
        assert_eq!(board.pipe_bytes(0, 5 * MSS), 0);
        assert_eq!(board.next_lost(0), Some((0, 2 * MSS)));
        board.note_resent(0, (0, 2 * MSS), 5 * MSS, (0, 0));
        assert_eq!(board.next_lost(0), Some((3 * MSS, 5 * MSS)));
    }
}
