//! Where the bytes go: blocks that are written when full, by the thread that fills them.
//!
//! A writing thread of its own was measured and did not pay: filling takes a sixth of the time, the
//! rest is the kernel's, and blocks that change processors leave the cache (5 million packets of
//! 800 bytes, two processors).

use std::io::{self, Write};

/// Small enough to stay in the processor's cache between being filled and being written.
const BLOCK_BYTES: usize = 1 << 18;

/// Collects bytes in a block and writes it when full.
#[derive(Debug)]
pub(super) struct BlockOutput<W: Write> {
    sink: W,
    block: Vec<u8>,
    written_bytes: u64,
}

impl<W: Write> BlockOutput<W> {
    pub fn new(sink: W) -> Self {
        Self { sink, block: Vec::with_capacity(2 * BLOCK_BYTES), written_bytes: 0 }
    }

    /// The block to append one record to.
    #[inline]
    pub fn block(&mut self) -> &mut Vec<u8> {
        &mut self.block
    }

    /// Writes the block if it is full; called after every record.
    #[inline]
    pub fn write_if_full(&mut self) -> io::Result<()> {
        if self.block.len() < BLOCK_BYTES {
            return Ok(());
        }
        self.write_block()
    }

    fn write_block(&mut self) -> io::Result<()> {
        self.sink.write_all(&self.block)?;
        self.written_bytes += self.block.len() as u64;
        self.block.clear();
        Ok(())
    }

    /// Writes what is left and returns the sink and the number of bytes written in all.
    pub fn finish(mut self) -> io::Result<(W, u64)> {
        self.write_block()?;
        self.sink.flush()?;
        Ok((self.sink, self.written_bytes))
    }
}
