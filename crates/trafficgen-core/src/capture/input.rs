//! Opening files and standard input, decompression by magic number, and the read buffer.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use liblzma::bufread::XzDecoder;
use liblzma::stream::{Stream, CONCATENATED};
use thiserror::Error;

/// A capture that cannot be read at all. The texts end with what the user can do.
#[derive(Debug, Error)]
pub enum CaptureError {
    #[error("cannot be opened ({})", reason_of(.0))]
    Open(io::Error),
    #[error("cannot be read ({})", reason_of(.0))]
    Read(io::Error),
    #[error("is empty")]
    Empty,
    #[error("ends inside its file header, after {available_bytes} bytes")]
    CutInHeader { available_bytes: usize },
    #[error("is not a pcap or pcapng file: {0}")]
    UnknownFormat(String),
    #[error("has a file header with an impossible value: {0}")]
    BadHeader(String),
    #[error("is compressed data that breaks off after {expanded_bytes} bytes ({reason})")]
    CutInText { expanded_bytes: u64, reason: String },
    #[error(transparent)]
    Expands(#[from] Expands),
}

/// The system's words for an error without its number, which says the same again.
pub(crate) fn reason_of(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// A compressed file that expands to far more than captures do: made so, most likely, to keep its
/// reader busy.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "expands to more than {MOST_EXPANSION} times its size ({} MB from the first {} kB)",
    .expanded_bytes / 1_000_000,
    .packed_bytes.div_ceil(1000)
)]
pub struct Expands {
    pub packed_bytes: u64,
    pub expanded_bytes: u64,
}

/// Captures without payload entropy shrink to about a hundredth; gzip reaches 1032 at most, zstd
/// and xz ten thousands.
const MOST_EXPANSION: u64 = 256;
/// What may be expanded in any case: it takes a second or two.
const ALWAYS_EXPANDED_BYTES: u64 = 1 << 30;
/// Memory that an xz stream may ask for; its own highest setting needs 65 MiB.
const XZ_MEMORY_BYTES: u64 = 256 << 20;

/// How the bytes of a file are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    None,
    Gzip,
    Zstandard,
    Xz,
}

impl Compression {
    fn of(magic: &[u8]) -> Self {
        if magic.starts_with(&[0x1f, 0x8b]) {
            Self::Gzip
        } else if magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Self::Zstandard
        } else if magic.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
            Self::Xz
        } else {
            Self::None
        }
    }
}

/// Counts what passes, so that progress can be shown in bytes of the file as it lies on disk.
struct Counted<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(target)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Compares what a decompressor gives with what it took, and stops it where that is out of all
/// proportion.
struct Bounded<R> {
    inner: R,
    expanded_bytes: u64,
    packed_bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let (expanded_bytes, packed_bytes) =
            (self.expanded_bytes, self.packed_bytes.load(Ordering::Relaxed));
        if expanded_bytes > ALWAYS_EXPANDED_BYTES.max(MOST_EXPANSION.saturating_mul(packed_bytes)) {
            return Err(io::Error::other(Expands { packed_bytes, expanded_bytes }));
        }
        let count = self.inner.read(target)?;
        self.expanded_bytes += count as u64;
        Ok(count)
    }
}

/// An opened source of bytes, decompressed.
pub(super) struct Input {
    pub bytes: Box<dyn Read + Send + Sync>,
    pub compression: Compression,
    /// Bytes taken from the file so far, as they lie on disk.
    pub consumed_bytes: Arc<AtomicU64>,
    /// Length of the file on disk; `None` for pipes.
    pub total_bytes: Option<u64>,
}

/// Reads fewer than this many bytes at once only at the end of the data.
const DECOMPRESSOR_BUFFER_BYTES: usize = 1 << 16;
const MAGIC_BYTES: usize = 6;

impl Input {
    /// Opens a file, or standard input where the path is `-`.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        if path.as_os_str() == "-" {
            return Self::from_reader(io::stdin(), None);
        }
        let file = File::open(path).map_err(CaptureError::Open)?;
        let facts = file.metadata().map_err(CaptureError::Open)?;
        if facts.is_dir() {
            return Err(CaptureError::UnknownFormat("it is a folder".into()));
        }
        let total = facts.is_file().then_some(facts.len());
        Self::from_reader(file, total)
    }

    /// Takes bytes from anywhere; `total_bytes` is their number where it is known.
    pub fn from_reader(
        reader: impl Read + Send + Sync + 'static,
        total_bytes: Option<u64>,
    ) -> Result<Self, CaptureError> {
        let consumed_bytes = Arc::new(AtomicU64::new(0));
        let mut counted = Counted { inner: reader, bytes: Arc::clone(&consumed_bytes) };
        let mut magic = Vec::with_capacity(MAGIC_BYTES);
        counted
            .by_ref()
            .take(MAGIC_BYTES as u64)
            .read_to_end(&mut magic)
            .map_err(CaptureError::Read)?;
        if magic.is_empty() {
            return Err(CaptureError::Empty);
        }
        let compression = Compression::of(&magic);
        let whole = io::Cursor::new(magic).chain(counted);
        let buffered = |r| io::BufReader::with_capacity(DECOMPRESSOR_BUFFER_BYTES, r);
        let bytes: Box<dyn Read + Send + Sync> = match compression {
            Compression::None => Box::new(whole),
            Compression::Gzip => {
                bounded(flate2::bufread::MultiGzDecoder::new(buffered(whole)), &consumed_bytes)
            }
            Compression::Zstandard => {
                let decoder = zstd::stream::read::Decoder::with_buffer(buffered(whole))
                    .map_err(CaptureError::Read)?;
                bounded(decoder, &consumed_bytes)
            }
            Compression::Xz => {
                let stream = Stream::new_stream_decoder(XZ_MEMORY_BYTES, CONCATENATED)
                    .map_err(|error| CaptureError::Read(error.into()))?;
                bounded(XzDecoder::new_stream(buffered(whole), stream), &consumed_bytes)
            }
        };
        Ok(Self { bytes, compression, consumed_bytes, total_bytes })
    }
}

fn bounded(
    inner: impl Read + Send + Sync + 'static,
    packed_bytes: &Arc<AtomicU64>,
) -> Box<dyn Read + Send + Sync> {
    Box::new(Bounded { inner, expanded_bytes: 0, packed_bytes: Arc::clone(packed_bytes) })
}

/// Large enough that a read costs little per packet, small enough to stay in the processor's cache.
const BUFFER_BYTES: usize = 1 << 18;
/// What the buffers of all files take together, and one of them at least.
const ALL_BUFFERS_BYTES: usize = 1 << 26;
const SMALLEST_BUFFER_BYTES: usize = 1 << 12;

/// The size of the buffer of each of so many files.
pub(super) fn share_buffers(files: usize) -> usize {
    (ALL_BUFFERS_BYTES / files.max(1)).clamp(SMALLEST_BUFFER_BYTES, BUFFER_BYTES)
}

/// A window on a byte stream that grows when a record needs it. Buffered reads beat mmap where page
/// faults are dear.
pub(super) struct ReadBuffer {
    inner: Box<dyn Read + Send + Sync>,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Position of `bytes[start]` in the (decompressed) stream.
    offset: u64,
    finished: bool,
    failure: Option<io::Error>,
}

impl ReadBuffer {
    pub fn new(inner: Box<dyn Read + Send + Sync>, buffer_bytes: usize) -> Self {
        Self {
            inner,
            bytes: vec![0; buffer_bytes],
            start: 0,
            end: 0,
            offset: 0,
            finished: false,
            failure: None,
        }
    }

    /// What is in the buffer now.
    #[inline]
    pub fn window(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Bytes at a range given as positions in the window.
    #[inline]
    pub fn slice(&self, start: usize, length: usize) -> &[u8] {
        &self.bytes[self.start + start..self.start + start + length]
    }

    #[inline]
    pub fn consume(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }

    /// Position of the window in the decompressed stream.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The error that ended the stream, if one did.
    pub fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// How far the stream expanded, where that ended it.
    pub fn expands(&self) -> Option<Expands> {
        self.failure.as_ref()?.get_ref()?.downcast_ref().copied()
    }

    /// Makes at least `wanted` bytes available if the stream has them; returns whether it does.
    #[inline]
    pub fn fill(&mut self, wanted: usize) -> bool {
        self.end - self.start >= wanted || self.refill(wanted)
    }

    #[cold]
    fn refill(&mut self, wanted: usize) -> bool {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < wanted && !self.finished {
            if self.end == self.bytes.len() {
                // Grown by what has come, not by what is claimed.
                self.bytes.resize(2 * self.end, 0);
            }
            match self.inner.read(&mut self.bytes[self.end..]) {
                Ok(0) => self.finished = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failure = Some(error);
                    self.finished = true;
                }
            }
        }
        self.end >= wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_system_is_told_without_its_number() {
        let error = CaptureError::Open(io::Error::from_raw_os_error(2));
        assert_eq!(error.to_string(), "cannot be opened (No such file or directory)");
    }

    /// How many of 2 GiB a reader gives before it refuses, with so many packed bytes taken.
    fn given_bytes(packed_bytes: u64) -> u64 {
        let packed_bytes = Arc::new(AtomicU64::new(packed_bytes));
        let mut reader = bounded(io::repeat(0).take(2 << 30), &packed_bytes);
        let (mut target, mut given_bytes) = (vec![0; 1 << 20], 0);
        while let Ok(count @ 1..) = reader.read(&mut target) {
            given_bytes += count as u64;
        }
        given_bytes
    }

    #[test]
    fn what_expands_is_stopped_by_proportion_and_not_by_size() {
        assert!(given_bytes(1 << 20) <= ALWAYS_EXPANDED_BYTES + (1 << 20));
        assert_eq!(given_bytes(8 << 20), 2 << 30);
    }

    #[test]
    fn buffers_of_many_files_fit_into_the_room_for_all() {
        for files in [1, 256, 257, 1000, 16_384] {
            assert!(share_buffers(files) * files <= ALL_BUFFERS_BYTES);
        }
        assert_eq!(share_buffers(2), BUFFER_BYTES);
        assert_eq!(share_buffers(1_000_000), SMALLEST_BUFFER_BYTES);
    }
}
