//! RealPlayer 8 and RealServer with SureStream, over UDP and over TCP (Chung, Zhu, Claypool 2002).
//!
//! A session is a server and its player. Over UDP the server steers by the player's reports of loss
//! and delay; over TCP the player sees nothing but goodput behind a filled send buffer, and asks
//! for levels itself (CCZ-M4).

mod control;
mod packetiser;
mod parameters;
mod playback;
mod tcp;
mod tcp_player;
mod tcp_server;
mod udp;
mod udp_player;
mod udp_server;

#[cfg(test)]
mod tests;

pub use parameters::Parameters;

use crate::des::{Agent, Sample, Time};
use parameters::{Programme, Transport};
use playback::Playback;

/// A session with these numbers.
///
/// # Errors
/// A sentence that names the number that makes no sense.
pub fn build(parameters: Parameters) -> Result<Box<dyn Agent>, String> {
    let programme = parameters.programme()?;
    Ok(match parameters.transport {
        Transport::Udp => Box::new(udp::UdpSession::new(parameters, programme)),
        Transport::Tcp => Box::new(tcp::TcpSession::new(parameters, programme)),
    })
}

/// State of a player that receives `level`.
fn player_sample(
    programme: &Programme,
    playback: &Playback,
    level: Option<u16>,
    frames_per_s: f64,
    now: Time,
) -> Sample {
    let Some(level) = level.map(usize::from) else { return Sample::NONE };
    let frames = playback.is_playing() && !programme.audio_only(level);
    Sample {
        encoding_bps: programme.ladder_bps[level],
        frames_per_s: if frames { frames_per_s } else { 0.0 },
        buffer_s: playback.buffered_s(now),
    }
}
