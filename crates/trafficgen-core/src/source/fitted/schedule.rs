//! What a stream of a fitted model wants to send: drawn before the simulation, played in it.

use crate::des::{Phase, Time};

/// One packet of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduledPacket {
    /// ns from the start of the session.
    pub time: Time,
    pub payload_bytes: u32,
    pub phase: Phase,
    pub rtp_timestamp: u32,
    /// Whether it is the last packet of its frame or burst.
    pub ends_frame: bool,
}

/// Packets of one stream in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    pub packets: Vec<ScheduledPacket>,
}

impl Schedule {
    /// Check the order of times.
    ///
    /// # Errors
    /// The place of the first packet that comes before its predecessor, or before the session.
    pub fn validate(&self) -> Result<(), String> {
        if self.packets.is_empty() {
            return Err("a schedule is empty".into());
        }
        if self.packets.first().is_some_and(|first| first.time < 0) {
            return Err("a schedule begins before its session".into());
        }
        match self.packets.windows(2).position(|pair| pair[1].time < pair[0].time) {
            Some(place) => {
                Err(format!("packet {} of a schedule is earlier than the one before it", place + 1))
            }
            None => Ok(()),
        }
    }

    /// Payload of the frame that begins with packet `first`, bytes.
    pub fn frame_bytes(&self, first: usize) -> u64 {
        let mut bytes = 0;
        for packet in &self.packets[first..] {
            bytes += u64::from(packet.payload_bytes);
            if packet.ends_frame {
                break;
            }
        }
        bytes
    }

    /// Mean payload rate from the first packet to the last, bit/s; 0 where they are one.
    pub fn mean_bps(&self) -> f64 {
        let bytes: u64 = self.packets.iter().map(|packet| u64::from(packet.payload_bytes)).sum();
        let (first, last) = (self.packets.first(), self.packets.last());
        let length = first.zip(last).map_or(0, |(first, last)| last.time - first.time);
        if length > 0 {
            8.0 * bytes as f64 / crate::des::seconds(length)
        } else {
            0.0
        }
    }
}
