//! One capture file: format by magic number, records one after the other, and where the file broke
//! if it did.

use std::fmt;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use super::input::{reason_of, share_buffers, CaptureError, Compression, Input, ReadBuffer};
use super::pcap::PcapReader;
use super::pcapng::PcapngReader;
use super::record::{Found, Record, Stop};

/// Where reading of a file ended before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Number of the record that could not be read, from 1.
    pub record: u64,
    /// Where that record begins, in the decompressed data.
    pub offset_bytes: u64,
    /// Whether the offset counts decompressed data.
    pub compressed: bool,
    /// Bytes from there on that were not used, where the length of the data is known.
    pub unread_bytes: Option<u64>,
    pub reason: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.record - 1;
        let packets = if whole == 1 { "packet" } else { "packets" };
        let unit = if self.compressed { "byte of the decompressed data" } else { "byte" };
        write!(
            out,
            "{} in record {} at {unit} {}; {whole} {packets} read",
            self.reason, self.record, self.offset_bytes
        )?;
        match self.unread_bytes {
            Some(bytes) => write!(out, ", the remaining {bytes} bytes are left out"),
            None => write!(out, ", what follows is left out"),
        }
    }
}

enum Format {
    Pcap(PcapReader),
    Pcapng(PcapngReader),
}

/// A capture file that is being read.
pub struct CaptureFile {
    buffer: ReadBuffer,
    format: Format,
    compression: Compression,
    consumed_bytes: Arc<AtomicU64>,
    total_bytes: Option<u64>,
    records: u64,
    current: Found,
    damage: Option<Damage>,
}

impl CaptureFile {
    /// Opens a file (`-`: standard input) and reads its header.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        Self::open_beside(path, 1)
    }

    /// Opens a file as [`Self::open`] does, one of so many that share the room for buffers.
    pub fn open_beside(path: &Path, files: usize) -> Result<Self, CaptureError> {
        Self::new(Input::open(path)?, share_buffers(files))
    }

    /// Reads the header of a capture that comes from anywhere; `total_bytes` is its length where
    /// that is known.
    pub fn from_reader(
        reader: impl Read + Send + Sync + 'static,
        total_bytes: Option<u64>,
    ) -> Result<Self, CaptureError> {
        Self::new(Input::from_reader(reader, total_bytes)?, share_buffers(1))
    }

    fn new(input: Input, buffer_bytes: usize) -> Result<Self, CaptureError> {
        let mut buffer = ReadBuffer::new(input.bytes, buffer_bytes);
        let format = match open_format(&mut buffer) {
            Ok(format) => format,
            Err(error) => return Err(prefer_stream_failure(error, &buffer, input.compression)),
        };
        Ok(Self {
            buffer,
            format,
            compression: input.compression,
            consumed_bytes: input.consumed_bytes,
            total_bytes: input.total_bytes,
            records: 0,
            current: Found::NOTHING,
            damage: None,
        })
    }

    /// Moves to the next record; false at the end of what can be read.
    #[inline(always)]
    pub fn advance(&mut self) -> bool {
        self.buffer.consume(self.current.length);
        self.current.length = 0;
        let next = match &mut self.format {
            Format::Pcap(reader) => reader.next(&mut self.buffer, &mut self.current),
            Format::Pcapng(reader) => reader.next(&mut self.buffer, &mut self.current),
        };
        match next {
            Ok(true) => {
                self.records += 1;
                true
            }
            Ok(false) => {
                self.end_of_data();
                false
            }
            Err(stop) => {
                self.stop(*stop);
                false
            }
        }
    }

    /// The record that [`Self::advance`] moved to.
    #[inline(always)]
    pub fn record(&self) -> Record<'_> {
        let found = &self.current;
        Record {
            time_ns: found.has_time.then_some(found.time_ns),
            original_bytes: found.original_bytes,
            link_type: found.link_type,
            data: self.buffer.slice(found.start, found.captured),
        }
    }

    /// Where reading broke off, if it did.
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// Why the file is not to be read further although it goes on: it expands out of all
    /// proportion.
    pub fn refusal(&self) -> Option<CaptureError> {
        self.buffer.expands().map(CaptureError::Expands)
    }

    /// Bytes taken from the file so far, as they lie on disk.
    pub fn consumed_bytes(&self) -> u64 {
        self.consumed_bytes.load(Ordering::Relaxed)
    }

    /// Length of the file on disk; `None` for pipes.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }

    fn end_of_data(&mut self) {
        if self.buffer.failure().is_some() {
            self.stop(Stop::CutOff);
        }
    }

    #[cold]
    fn stop(&mut self, stop: Stop) {
        if self.damage.is_some() {
            return;
        }
        let compressed = self.compression != Compression::None;
        let reason = match (self.buffer.failure(), stop) {
            (Some(error), _) if compressed => format!("the compressed data breaks off ({error})"),
            (Some(error), _) => format!("reading failed ({})", reason_of(error)),
            (None, Stop::CutOff) => "cut off".to_owned(),
            (None, Stop::Damaged(what)) => format!("damaged ({what})"),
        };
        let offset_bytes = self.buffer.offset();
        let unread_bytes = match self.total_bytes {
            Some(total) if !compressed => Some(total.saturating_sub(offset_bytes)),
            _ => None,
        };
        let record = self.records + 1;
        self.damage = Some(Damage { record, offset_bytes, compressed, unread_bytes, reason });
    }
}

fn open_format(buffer: &mut ReadBuffer) -> Result<Format, CaptureError> {
    buffer.fill(8);
    let window = buffer.window();
    if window.is_empty() {
        return Err(CaptureError::Empty);
    }
    match window.get(..4) {
        Some([0x0a, 0x0d, 0x0d, 0x0a]) => Ok(Format::Pcapng(PcapngReader::new(buffer)?)),
        Some(
            [0xd4, 0xc3, 0xb2, 0xa1]
            | [0xa1, 0xb2, 0xc3, 0xd4]
            | [0x4d, 0x3c, 0xb2, 0xa1]
            | [0xa1, 0xb2, 0x3c, 0x4d]
            | [0x34, 0xcd, 0xb2, 0xa1],
        ) => Ok(Format::Pcap(PcapReader::new(buffer)?)),
        _ => Err(CaptureError::UnknownFormat(describe_unknown(window))),
    }
}

/// Names the formats that people mistake for pcap.
fn describe_unknown(window: &[u8]) -> String {
    let known: [(&[u8], &str); 6] = [
        (b"snoop\0\0\0", "it is a Solaris snoop file; convert it with `editcap -F pcap`"),
        (b"RTSS", "it is a Microsoft Network Monitor file; convert it with `editcap -F pcap`"),
        (b"GMBU", "it is a Microsoft Network Monitor file; convert it with `editcap -F pcap`"),
        (b"PAR1", "it is a Parquet file; give it the ending .parquet"),
        (b"PK\x03\x04", "it is a ZIP archive; unpack it first"),
        (b"BZh", "it is compressed with bzip2; unpack it first"),
    ];
    for (magic, text) in known {
        if window.starts_with(magic) {
            return text.to_owned();
        }
    }
    let magic: Vec<String> = window.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("it begins with the bytes {}", magic.join(" "))
}

/// A header that could not be read because decompression failed is the decompressor's news.
fn prefer_stream_failure(
    error: CaptureError,
    buffer: &ReadBuffer,
    compression: Compression,
) -> CaptureError {
    if let Some(expands) = buffer.expands() {
        return CaptureError::Expands(expands);
    }
    match buffer.failure() {
        Some(failure) if compression != Compression::None => CaptureError::UnknownFormat(format!(
            "its compressed data cannot be unpacked ({failure})"
        )),
        Some(failure) => {
            CaptureError::Read(std::io::Error::new(failure.kind(), failure.to_string()))
        }
        None => error,
    }
}
