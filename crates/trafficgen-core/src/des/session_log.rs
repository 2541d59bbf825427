//! What a session says about itself while it runs: its phases, levels, stalls and the moments
//! people measure from.

use super::label::Phase;
use super::time::Time;

/// A moment in the life of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SessionEvent {
    /// The player's first request (RTSP SETUP or what stands for it).
    Request,
    /// The player asks the server to play (RTSP PLAY).
    Play,
    /// The player starts to show the clip.
    PlaybackStart,
    /// The player reports its buffer full for the first time.
    BufferFull,
    /// A phase of the source begins; the one before it ends.
    Phase(Phase),
    /// Rate of the encoding from now on, media payload bit/s, and its level; the first one is the
    /// choice at the start.
    Encoding {
        bps: f64,
        level: i16,
    },
    /// Playback halts because the player's buffer is empty.
    StallStart,
    StallEnd,
    /// Video frames are left out from now on.
    Thinned,
    /// No video frame is sent from now on.
    AudioOnly,
    /// The last media packet was sent, or the player has left.
    End,
    /// A number that the findings ask for and nothing else tells, such as the estimate of a packet
    /// pair.
    Fact {
        name: &'static str,
        value: f64,
    },
}

/// Log of one session.
#[derive(Clone, Debug, Default)]
pub struct SessionLog {
    pub events: Vec<(Time, SessionEvent)>,
    pub frames_sent: u64,
    pub frames_dropped_at_sender: u64,
}
