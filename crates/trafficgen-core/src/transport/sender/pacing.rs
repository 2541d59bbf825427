//! What the sender notes of what leaves, for pacing and for samples of the rate.

use super::super::rates::Sums;
use super::super::Time;
use super::Sender;

impl Sender {
    /// Notes that `start..end` leaves now, for pacing and for samples of the rate.
    pub(super) fn note_departure(&mut self, now: Time, start: u64, end: u64) {
        if let Some(rack) = &mut self.rack {
            rack.note_sent(now, start, end);
        }
        if let Some(rates) = &mut self.rates {
            let starts = self.una == self.nxt;
            if starts {
                self.congestion.on_start_after_idle(now, rates.is_application_limited());
            }
            let flight_bytes = self.board.pipe_bytes(self.una, self.nxt) + (end - start);
            let lost_ever_bytes = self.board.lost_ever_bytes();
            let sums = Sums { flight_bytes, lost_ever_bytes };
            rates.note_sent(now, (start, end), starts, sums);
        }
        if let Some(rate) = self.congestion.pacing_rate() {
            self.pacer.note_departure(now, end - start, rate);
        }
    }

    /// The application is about to write while all else has left and the window has room.
    pub(super) fn note_shortage(&mut self) {
        if self.rates.is_none() || self.queued.saturating_sub(self.nxt) >= self.mss {
            return;
        }
        let flight_bytes = self.pipe_bytes();
        if flight_bytes < self.congestion.window_bytes() && self.board.next_lost(self.una).is_none()
        {
            if let Some(rates) = &mut self.rates {
                rates.note_shortage(flight_bytes);
            }
        }
    }
}
