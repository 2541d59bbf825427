//! One stream at the server: where it is in its schedule, and what is left of a frame at the
//! present rate.

use std::sync::Arc;

use super::parameters::ResponseKind;
use super::schedule::Schedule;
use crate::des::Time;

/// Smallest payload that carries media: an RTP header and a byte.
const LEAST_PAYLOAD_BYTES: u64 = 13;

/// What to do with the next packet of the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// Place in the schedule.
    pub place: usize,
    /// What goes out of it; None: nothing.
    pub payload_bytes: Option<u32>,
    /// Whether it is the last that goes out of its frame.
    pub ends_frame: bool,
    /// Whether its frame begins here, and goes out.
    pub begins: Option<bool>,
}

/// A stream's place in its schedule.
#[derive(Debug)]
pub struct Playing {
    schedule: Arc<Schedule>,
    next: usize,
    /// Payload that may still go out of this frame; None: all of it.
    frame_left: Option<u64>,
    /// Frames that are owed: one is sent for each whole one.
    owed: f64,
}

impl Playing {
    pub fn new(schedule: Arc<Schedule>) -> Self {
        Self { schedule, next: 0, frame_left: None, owed: 0.0 }
    }

    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// When the next packet is due, from the start of the session; None: there is none.
    pub fn due(&self) -> Option<Time> {
        self.schedule.packets.get(self.next).map(|packet| packet.time)
    }

    pub fn is_over(&self) -> bool {
        self.next >= self.schedule.packets.len()
    }

    /// The next packet as it goes out at a relative rate. It stays the next one until
    /// [`Playing::advance`].
    pub fn sending(&mut self, rate: f64, kind: Option<ResponseKind>) -> Option<Sending> {
        let packet = *self.schedule.packets.get(self.next)?;
        let begins_frame = self.next == 0 || self.schedule.packets[self.next - 1].ends_frame;
        if begins_frame {
            self.begin_frame(rate, kind);
        }
        let whole = u64::from(packet.payload_bytes);
        let allowed = self.frame_left.map_or(whole, |left| whole.min(left));
        let left_after = self.frame_left.map(|left| left - allowed);
        let cut = self.frame_left.is_some() && left_after == Some(0);
        Some(Sending {
            place: self.next,
            payload_bytes: (allowed > 0 || self.frame_left.is_none()).then_some(allowed as u32),
            ends_frame: packet.ends_frame || cut,
            begins: begins_frame.then_some(self.frame_left != Some(0)),
        })
    }

    /// Go on to the next packet after one that went out, or did not.
    pub fn advance(&mut self, sent: &Sending) {
        self.next = sent.place + 1;
        if let (Some(left), Some(bytes)) = (self.frame_left.as_mut(), sent.payload_bytes) {
            *left -= u64::from(bytes);
        }
    }

    fn begin_frame(&mut self, rate: f64, kind: Option<ResponseKind>) {
        self.frame_left = match kind {
            None => None,
            Some(ResponseKind::Thinning) => {
                self.owed += rate;
                let goes = self.owed >= 1.0 - 1e-9;
                self.owed -= f64::from(u8::from(goes));
                if goes {
                    None
                } else {
                    Some(0)
                }
            }
            Some(_) if rate >= 1.0 - 1e-9 => None,
            Some(_) => {
                let whole = self.schedule.frame_bytes(self.next);
                let wanted = (rate * whole as f64).round() as u64;
                Some(wanted.max(LEAST_PAYLOAD_BYTES.min(whole)))
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedule::ScheduledPacket;
    use super::*;
    use crate::des::Phase;

    fn playing(frames: usize, packets: usize) -> Playing {
        let packet = |place: usize| ScheduledPacket {
            time: place as Time,
            payload_bytes: 1000,
            phase: Phase::Playout,
            rtp_timestamp: 0,
            ends_frame: place % packets == packets - 1,
        };
        Playing::new(Arc::new(Schedule { packets: (0..frames * packets).map(packet).collect() }))
    }

    fn sent(mut playing: Playing, rate: f64, kind: Option<ResponseKind>) -> Vec<Sending> {
        let mut all = Vec::new();
        while let Some(one) = playing.sending(rate, kind) {
            playing.advance(&one);
            all.push(one);
        }
        all
    }

    fn bytes(all: &[Sending]) -> u64 {
        all.iter().filter_map(|one| one.payload_bytes).map(u64::from).sum()
    }

    #[test]
    fn without_a_response_all_goes_out() {
        assert_eq!(bytes(&sent(playing(10, 4), 0.3, None)), 40_000);
    }

    #[test]
    fn thinning_leaves_whole_frames_out() {
        let all = sent(playing(10, 4), 0.3, Some(ResponseKind::Thinning));
        assert_eq!(bytes(&all), 12_000);
        assert_eq!(all.iter().filter(|one| one.begins == Some(true)).count(), 3);
        assert!(all
            .chunks(4)
            .all(|frame| frame.iter().all(|one| one.payload_bytes == frame[0].payload_bytes)));
    }

    #[test]
    fn a_smaller_encoding_has_smaller_frames_that_end_where_they_are_used_up() {
        let all = sent(playing(10, 4), 0.3, Some(ResponseKind::RateFollowing));
        assert_eq!(bytes(&all), 12_000);
        let first: Vec<_> = all[..4].iter().map(|one| one.payload_bytes).collect();
        assert_eq!(first, [Some(1000), Some(200), None, None]);
        assert!(all[1].ends_frame);
    }
}
