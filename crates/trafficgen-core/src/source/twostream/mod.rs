//! Two streams: audio over UDP is sent always and tells how much video the path takes (LJM).
//!
//! The sender is the server: [`controller`] searches the rate of the video. The receiver is the
//! player: [`monitor`] looks at the delays of the audio packets and sends its verdicts back. Audio
//! packets carry the number of the last change of rate, so that both know which delays a verdict is
//! about.

mod controller;
mod monitor;
mod parameters;
mod session;
mod trend;

pub use session::TwoStream;
