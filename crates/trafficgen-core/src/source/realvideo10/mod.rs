//! RealVideo 10 and the Helix server over UDP, with and without TurboPlay (Boyden, Mahanti,
//! Williamson, about 2005).
//!
//! A session is a server and its player. The server starts quietly and rises to a multiple of the
//! clip's rate until the player is far enough ahead. After congestion, and of a fast clip, that is
//! hardly more than the clip's rate: what HelixPlayer's source requests (RealNetworks, hxsm.cpp
//! 1.44, 2007), so that near capacity loss is steady. Without TurboPlay it takes loss for
//! congestion: it leaves out frames and at last all video, or parts of a clip of a high rate, or
//! changes the SureStream encoding. With TurboPlay it measures the link by a train of packets,
//! sends at the link's rate, and does not answer loss.

mod control;
mod link_estimate;
mod pacing;
mod packet;
mod parameters;
mod player;
mod response;
mod server;
mod session;
#[cfg(test)]
mod tests;

pub use parameters::Parameters;

use crate::des::Agent;

/// A session with these numbers.
///
/// # Errors
/// A sentence that names the number that makes no sense.
pub fn build(parameters: Parameters) -> Result<Box<dyn Agent>, String> {
    let programme = parameters.programme()?;
    Ok(Box::new(session::Session::new(parameters, programme)))
}
