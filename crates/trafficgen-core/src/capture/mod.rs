//! Capture files: compressed or not, pcap or pcapng, one or several, read in bounded memory.

mod expanded;
mod input;
mod merge;
mod pcap;
mod pcapng;
mod reader;
mod record;

pub use expanded::ExpandedFile;
pub use input::{CaptureError, Compression, Expands};
pub use merge::MergedReader;
pub use reader::{CaptureFile, Damage};
pub use record::{LinkType, Record};
