//! What a compressed file expands to, in pieces: for the readers of text, which are not here.

use std::io::Cursor;
use std::path::Path;

use super::input::{share_buffers, CaptureError, Input, ReadBuffer};

/// A file, decompressed within the bounds of captures.
pub struct ExpandedFile {
    buffer: ReadBuffer,
}

impl ExpandedFile {
    /// Opens a file, or what is known of one: its first bytes.
    pub fn open(path: &Path, beginning: Option<Vec<u8>>) -> Result<Self, CaptureError> {
        let input = match beginning {
            Some(bytes) => Input::from_reader(Cursor::new(bytes), None)?,
            None => Input::open(path)?,
        };
        Ok(Self { buffer: ReadBuffer::new(input.bytes, share_buffers(1)) })
    }

    /// The next bytes, `most` of them except at the end; all that came before a fault is given.
    pub fn read(&mut self, most: usize) -> Result<Vec<u8>, CaptureError> {
        self.buffer.fill(most);
        let window = self.buffer.window();
        let bytes = window[..most.min(window.len())].to_vec();
        if bytes.is_empty() && most > 0 {
            if let Some(expands) = self.buffer.expands() {
                return Err(expands.into());
            }
            if let Some(failure) = self.buffer.failure() {
                let expanded_bytes = self.buffer.offset();
                return Err(CaptureError::CutInText {
                    expanded_bytes,
                    reason: failure.to_string(),
                });
            }
        }
        self.buffer.consume(bytes.len());
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).expect("memory takes all");
        encoder.finish().expect("memory takes all")
    }

    fn open(bytes: Vec<u8>) -> ExpandedFile {
        ExpandedFile::open(Path::new(""), Some(bytes)).expect("it has bytes")
    }

    #[test]
    fn pieces_are_the_text_compressed_or_not() {
        for bytes in [b"abcdef".to_vec(), packed(b"abcdef")] {
            let mut file = open(bytes);
            let pieces: Vec<_> = (0..3).map(|_| file.read(4).expect("it is whole")).collect();
            assert_eq!(pieces, [&b"abcd"[..], b"ef", b""]);
        }
    }

    #[test]
    fn what_came_before_a_fault_is_given_first() {
        let text: Vec<u8> = (0..40_000u32).flat_map(u32::to_le_bytes).collect();
        let bytes = packed(&text);
        let mut file = open(bytes[..bytes.len() / 2].to_vec());
        assert_eq!(file.read(100).expect("it begins well"), text[..100]);
        let fault = loop {
            match file.read(1 << 20) {
                Ok(piece) => assert!(!piece.is_empty(), "half a file is no whole one"),
                Err(error) => break error.to_string(),
            }
        };
        assert!(fault.contains("breaks off after"), "{fault}");
    }
}
