//! Classic pcap: both byte orders, micro- and nanoseconds, and the "modified" variant with longer
//! record headers.
//!
//! Parsing of headers and records is pcap-parser's; here are the limits that tell a record from
//! damage.

use pcap_parser::{
    parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified, parse_pcap_header, PcapHeader,
};

use super::input::{CaptureError, ReadBuffer};
use super::record::{Found, LinkType, Stop};

const FILE_HEADER_BYTES: usize = 24;
/// No link carries more; a record that claims more is damage (Wireshark refuses the same).
pub(super) const MAX_CAPTURED_BYTES: usize = 262_144;
/// Bits of the link-type field that must be zero (pcap file format draft: 16 reserved, 28..31 and
/// 26 tell of the FCS).
const RESERVED_LINK_TYPE_BITS: u32 = 0x03ff_0000;

#[derive(Clone, Copy, Debug)]
enum Layout {
    LittleEndian,
    BigEndian,
    Modified,
}

pub(super) struct PcapReader {
    layout: Layout,
    link_type: LinkType,
    ns_per_unit: i64,
}

impl PcapReader {
    pub fn new(buffer: &mut ReadBuffer) -> Result<Self, CaptureError> {
        if !buffer.fill(FILE_HEADER_BYTES) {
            return Err(CaptureError::CutInHeader { available_bytes: buffer.window().len() });
        }
        let header = match parse_pcap_header(buffer.window()) {
            Ok((_, header)) => header,
            Err(_) => {
                return Err(CaptureError::BadHeader("its magic number is not one of pcap's".into()))
            }
        };
        buffer.consume(FILE_HEADER_BYTES);
        Ok(Self {
            layout: layout(&header),
            link_type: link_type(&header)?,
            ns_per_unit: if header.is_nanosecond_precision() { 1 } else { 1000 },
        })
    }

    /// Finds the next record; false at the end of the file.
    #[inline(always)]
    pub fn next(&self, buffer: &mut ReadBuffer, found: &mut Found) -> Result<bool, Box<Stop>> {
        let header_bytes = match self.layout {
            Layout::Modified => 24,
            _ => 16,
        };
        loop {
            let window = buffer.window();
            let parsed = match self.layout {
                Layout::LittleEndian => parse_pcap_frame(window),
                Layout::BigEndian => parse_pcap_frame_be(window),
                Layout::Modified => parse_pcap_frame_modified(window),
            };
            if let Ok((_, frame)) = parsed {
                if frame.data.len() > MAX_CAPTURED_BYTES {
                    return Err(too_long(frame.caplen));
                }
                found.time_ns = i64::from(frame.ts_sec) * 1_000_000_000
                    + i64::from(frame.ts_usec) * self.ns_per_unit;
                found.has_time = true;
                found.original_bytes = frame.origlen;
                found.link_type = self.link_type;
                found.start = header_bytes;
                found.captured = frame.data.len();
                found.length = header_bytes + frame.data.len();
                return Ok(true);
            }
            if !self.make_room(buffer, header_bytes)? {
                return Ok(false);
            }
        }
    }

    /// Reads on until the next record is whole; false at the end of the file.
    #[cold]
    fn make_room(&self, buffer: &mut ReadBuffer, header_bytes: usize) -> Result<bool, Box<Stop>> {
        if !buffer.fill(header_bytes) {
            return if buffer.window().is_empty() {
                Ok(false)
            } else {
                Err(Box::new(Stop::CutOff))
            };
        }
        let field = buffer.slice(8, 4);
        let field = [field[0], field[1], field[2], field[3]];
        let captured = match self.layout {
            Layout::BigEndian => u32::from_be_bytes(field),
            _ => u32::from_le_bytes(field),
        };
        if captured as usize > MAX_CAPTURED_BYTES {
            return Err(too_long(captured));
        }
        if buffer.fill(header_bytes + captured as usize) {
            Ok(true)
        } else {
            Err(Box::new(Stop::CutOff))
        }
    }
}

fn layout(header: &PcapHeader) -> Layout {
    if header.is_modified_format() {
        Layout::Modified
    } else if header.is_bigendian() {
        Layout::BigEndian
    } else {
        Layout::LittleEndian
    }
}

fn link_type(header: &PcapHeader) -> Result<LinkType, CaptureError> {
    let field = u32::from_le_bytes(header.network.0.to_le_bytes());
    if field & RESERVED_LINK_TYPE_BITS != 0 {
        return Err(CaptureError::BadHeader(format!(
            "link type {field:#010x} has reserved bits set"
        )));
    }
    Ok(LinkType((field & 0xffff) as u16))
}

fn too_long(captured: u32) -> Box<Stop> {
    Box::new(Stop::Damaged(format!(
        "it claims {captured} captured bytes, more than any link carries"
    )))
}
