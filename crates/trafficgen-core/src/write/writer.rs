use std::io::Write;

use super::columns::PacketColumns;
use super::container::{Container, RecordFacts};
use super::flow::{EndMacs, FlowEnds};
use super::frame::{Frame, FrameBuilder};
use super::output::BlockOutput;
use super::WriteError;

/// How a capture file is to be written.
#[derive(Clone, Copy, Debug)]
pub struct WriteOptions {
    pub container: Container,
    /// Time of `time_ns == 0` since 1970, ns.
    pub origin_ns: i64,
    /// Bytes kept of a frame; its original length is told all the same.
    pub snaplen_bytes: u32,
    /// Packets too small for their headers become just large enough instead of failing.
    pub raise_small: bool,
    /// Addresses of the ends' network cards; `None` makes them from the IP addresses.
    pub macs: Option<EndMacs>,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteSummary {
    pub packets: u64,
    /// Packets of flows without IP, left out.
    pub packets_left_out: u64,
    /// Packets raised to the size of their headers.
    pub packets_raised: u64,
    /// TCP windows above 65535 written as 65535.
    pub windows_cut: u64,
    /// IP lengths that were written.
    pub ip_bytes: u64,
    /// Lengths of the frames with their Ethernet headers.
    pub frame_bytes: u64,
    pub file_bytes: u64,
}

/// Writes batches of the packet table as one capture file.
#[derive(Debug)]
pub struct CaptureWriter<W: Write> {
    options: WriteOptions,
    frames: FrameBuilder,
    output: BlockOutput<W>,
    summary: WriteSummary,
    rows: u64,
    latest_ns: u64,
}

impl<W: Write> CaptureWriter<W> {
    /// Begins the file.
    pub fn new(sink: W, flows: &[FlowEnds], options: WriteOptions) -> Result<Self, WriteError> {
        let mut output = BlockOutput::new(sink);
        output.block().extend(options.container.file_head(options.snaplen_bytes));
        Ok(Self {
            options,
            frames: FrameBuilder::new(flows, options.raise_small, options.macs)?,
            output,
            summary: WriteSummary::default(),
            rows: 0,
            latest_ns: 0,
        })
    }

    /// Appends packets, which must not be earlier than those before them.
    pub fn write(&mut self, columns: &PacketColumns<'_>) -> Result<(), WriteError> {
        columns.check_lengths()?;
        let mut frame = Frame::default();
        for index in 0..columns.len() {
            let row = columns.row(index);
            if self.frames.build(self.rows, &row, &mut frame)? {
                let time_ns = self.time_since_1970(columns.time_ns[index])?;
                self.summary.packets_raised += u64::from(frame.ip_bytes != row.ip_bytes);
                self.write_frame(time_ns, &frame)?;
            } else {
                self.summary.packets_left_out += 1;
            }
            self.rows += 1;
        }
        Ok(())
    }

    /// Ends the file and says what it holds.
    pub fn finish(self) -> Result<(W, WriteSummary), WriteError> {
        let (sink, file_bytes) = self.output.finish()?;
        Ok((sink, WriteSummary { file_bytes, ..self.summary }))
    }

    #[inline]
    fn time_since_1970(&mut self, time_ns: i64) -> Result<u64, WriteError> {
        let row = self.rows;
        let since_1970 = i128::from(self.options.origin_ns) + i128::from(time_ns);
        if since_1970 < 0 {
            return Err(WriteError::BeforeEpoch { row });
        }
        let time_ns = u64::try_from(since_1970).map_err(|_| WriteError::TooLate { row })?;
        if time_ns > self.options.container.latest_ns() {
            return Err(WriteError::TooLate { row });
        }
        if time_ns < self.latest_ns {
            let back_ns = self.latest_ns - time_ns;
            return Err(WriteError::OutOfOrder { row, back_ns });
        }
        self.latest_ns = time_ns;
        Ok(time_ns)
    }

    #[inline]
    fn write_frame(&mut self, time_ns: u64, frame: &Frame) -> Result<(), WriteError> {
        let captured_bytes = frame.frame_bytes.min(self.options.snaplen_bytes as usize);
        let facts = RecordFacts {
            time_ns,
            captured_bytes: captured_bytes as u32,
            frame_bytes: frame.frame_bytes as u32,
        };
        let block = self.output.block();
        self.options.container.put_record_head(&facts, block);
        let header_bytes = frame.header_bytes.min(captured_bytes);
        block.extend_from_slice(&frame.bytes[..header_bytes]);
        block.resize(block.len() + captured_bytes - header_bytes, 0);
        self.options.container.put_record_tail(&facts, block);
        self.output.write_if_full()?;

        self.summary.packets += 1;
        self.summary.ip_bytes += u64::from(frame.ip_bytes);
        self.summary.frame_bytes += frame.frame_bytes as u64;
        self.summary.windows_cut += u64::from(frame.window_cut);
        Ok(())
    }
}
