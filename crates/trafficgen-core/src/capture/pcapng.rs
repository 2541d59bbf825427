//! pcapng: several sections (each in its own byte order) and interfaces, any time resolution and
//! offset, enhanced, simple and obsolete packet blocks.
//!
//! The blocks are read here and not by pcap-parser, which refuses a packet whose trailing comments
//! break off, knows no obsolete packet block and reads an interface's time options in little-endian
//! order only.

use super::input::{CaptureError, ReadBuffer};
use super::pcap::MAX_CAPTURED_BYTES;
use super::record::{Found, LinkType, Stop};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Blocks that hold no packets (secrets, journals, custom data) may be long; longer than this is
/// damage.
const MAX_BLOCK_BYTES: usize = 16 << 20;
/// A machine has fewer; without a limit a file of nothing else would fill the memory.
const MAX_INTERFACES: usize = 1 << 20;
const OPTION_TIME_RESOLUTION: u16 = 9;
const OPTION_TIME_OFFSET: u16 = 14;
/// Half of what 64 bits hold, the year 2116: differences of times fit too.
const LATEST_NS: i64 = 1 << 62;

#[derive(Clone, Copy, Debug)]
struct Interface {
    link_type: LinkType,
    snap_bytes: u32,
    clock: Clock,
}

/// How an interface counts time.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// The option's byte: a power of ten, or of two where the highest bit is set.
    resolution: u8,
    offset_s: i64,
}

impl Clock {
    const MICROSECONDS: Self = Self { resolution: 6, offset_s: 0 };

    /// Nanoseconds since 1970; times beyond [`LATEST_NS`] are cut off there.
    #[inline]
    fn time_ns(self, units: u64) -> i64 {
        let usual = match self.resolution {
            6 => i64::try_from(units).ok().and_then(|us| us.checked_mul(1000)),
            9 => i64::try_from(units).ok(),
            _ => None,
        };
        match usual {
            Some(ns) if self.offset_s == 0 && ns <= LATEST_NS => ns,
            _ => self.unusual_time_ns(units),
        }
    }

    fn unusual_time_ns(self, units: u64) -> i64 {
        let exponent = u32::from(self.resolution & 0x7f);
        let units = i128::from(units);
        let ns = if self.resolution & 0x80 != 0 {
            // 2^-64 s and finer cannot reach a second within 64 bits; the shift stays below 128.
            (units * 1_000_000_000) >> exponent.min(126)
        } else if exponent <= 9 {
            units * 10_i128.pow(9 - exponent)
        } else {
            units / 10_i128.pow((exponent - 9).min(38))
        };
        let total = ns + i128::from(self.offset_s) * 1_000_000_000;
        total.clamp(-i128::from(LATEST_NS), i128::from(LATEST_NS)) as i64
    }
}

pub(super) struct PcapngReader {
    big_endian: bool,
    interfaces: Vec<Interface>,
}

impl PcapngReader {
    pub fn new(buffer: &mut ReadBuffer) -> Result<Self, CaptureError> {
        let mut reader = Self { big_endian: false, interfaces: Vec::new() };
        if !buffer.fill(12) {
            return Err(CaptureError::CutInHeader { available_bytes: buffer.window().len() });
        }
        reader
            .read_byte_order(buffer)
            .map_err(|_| CaptureError::BadHeader("its byte-order magic is wrong".to_owned()))?;
        Ok(reader)
    }

    /// Finds the next packet, passing over blocks that hold none; false at the end of the file.
    #[inline]
    pub fn next(&mut self, buffer: &mut ReadBuffer, found: &mut Found) -> Result<bool, Box<Stop>> {
        loop {
            let Some((kind, length)) = self.block_header(buffer)? else { return Ok(false) };
            let block = buffer.slice(0, length);
            match kind {
                ENHANCED_PACKET => self.enhanced_packet(block, found)?,
                SIMPLE_PACKET => self.simple_packet(block, found)?,
                OBSOLETE_PACKET => self.obsolete_packet(block, found)?,
                _ => {
                    match kind {
                        INTERFACE => self.add_interface(block)?,
                        SECTION_HEADER => self.interfaces.clear(),
                        _ => {}
                    }
                    buffer.consume(length);
                    continue;
                }
            }
            found.length = length;
            return Ok(true);
        }
    }

    fn u16_at(&self, bytes: &[u8], at: usize) -> u16 {
        let field = [bytes[at], bytes[at + 1]];
        if self.big_endian {
            u16::from_be_bytes(field)
        } else {
            u16::from_le_bytes(field)
        }
    }

    fn u32_at(&self, bytes: &[u8], at: usize) -> u32 {
        let field = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if self.big_endian {
            u32::from_be_bytes(field)
        } else {
            u32::from_le_bytes(field)
        }
    }

    fn read_byte_order(&mut self, buffer: &ReadBuffer) -> Result<(), Box<Stop>> {
        let magic = buffer.slice(8, 4);
        let magic = u32::from_le_bytes([magic[0], magic[1], magic[2], magic[3]]);
        self.big_endian = match magic {
            BYTE_ORDER_MAGIC => false,
            _ if magic == BYTE_ORDER_MAGIC.swap_bytes() => true,
            _ => return Err(damaged("a section header has a wrong byte-order magic".to_owned())),
        };
        Ok(())
    }

    /// Type and length of the block at the window's start, whole in the buffer; `None` at the end
    /// of the file.
    #[inline]
    fn block_header(&mut self, buffer: &mut ReadBuffer) -> Result<Option<(u32, usize)>, Box<Stop>> {
        if !buffer.fill(12) {
            return if buffer.window().is_empty() { Ok(None) } else { Err(Box::new(Stop::CutOff)) };
        }
        // The section header's type reads the same in both byte orders.
        if self.u32_at(buffer.window(), 0) == SECTION_HEADER {
            self.read_byte_order(buffer)?;
        }
        let kind = self.u32_at(buffer.window(), 0);
        let length = self.u32_at(buffer.window(), 4) as usize;
        if length < 12 || length % 4 != 0 || length > MAX_BLOCK_BYTES {
            return Err(damaged(format!(
                "a block of type {kind} has the impossible length {length}"
            )));
        }
        if !buffer.fill(length) {
            return Err(Box::new(Stop::CutOff));
        }
        let trailer = self.u32_at(buffer.window(), length - 4) as usize;
        if trailer != length {
            return Err(damaged(format!("a block's two lengths differ ({length} and {trailer})")));
        }
        Ok(Some((kind, length)))
    }

    fn add_interface(&mut self, block: &[u8]) -> Result<(), Box<Stop>> {
        if block.len() < 20 {
            return Err(damaged(format!(
                "an interface block of {} bytes is too short",
                block.len()
            )));
        }
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(damaged(format!("a section has more than {MAX_INTERFACES} interfaces")));
        }
        let link_type = LinkType(self.u16_at(block, 8));
        let snap_bytes = self.u32_at(block, 12);
        let clock = self.clock(&block[16..block.len() - 4]);
        self.interfaces.push(Interface { link_type, snap_bytes, clock });
        Ok(())
    }

    /// Reads the time options of an interface; an option list that breaks off ends where it breaks.
    fn clock(&self, mut options: &[u8]) -> Clock {
        let mut clock = Clock::MICROSECONDS;
        while options.len() >= 4 {
            let (code, length) = (self.u16_at(options, 0), usize::from(self.u16_at(options, 2)));
            let Some(value) = options.get(4..4 + length) else {
                break;
            };
            match (code, length) {
                (0, _) => break,
                (OPTION_TIME_RESOLUTION, 1..) => clock.resolution = value[0],
                (OPTION_TIME_OFFSET, 8..) => {
                    let field = [
                        value[0], value[1], value[2], value[3], value[4], value[5], value[6],
                        value[7],
                    ];
                    clock.offset_s = if self.big_endian {
                        i64::from_be_bytes(field)
                    } else {
                        i64::from_le_bytes(field)
                    };
                }
                _ => {}
            }
            options = options.get(4 + length.next_multiple_of(4)..).unwrap_or(&[]);
        }
        clock
    }

    fn interface(&self, index: u32) -> Result<Interface, Box<Stop>> {
        self.interfaces.get(index as usize).copied().ok_or_else(|| {
            damaged(format!(
                "a packet names interface {index}, of {} there are",
                self.interfaces.len()
            ))
        })
    }

    #[inline]
    fn enhanced_packet(&self, block: &[u8], found: &mut Found) -> Result<(), Box<Stop>> {
        if block.len() < 32 {
            return Err(damaged(format!(
                "an enhanced packet block of {} bytes is too short",
                block.len()
            )));
        }
        let interface = self.interface(self.u32_at(block, 8))?;
        self.timed_packet(block, interface, found)
    }

    /// The obsolete packet block has a 16-bit interface and a drop count where the enhanced one has
    /// 32 bits.
    fn obsolete_packet(&self, block: &[u8], found: &mut Found) -> Result<(), Box<Stop>> {
        if block.len() < 32 {
            return Err(damaged(format!("a packet block of {} bytes is too short", block.len())));
        }
        let interface = self.interface(u32::from(self.u16_at(block, 8)))?;
        self.timed_packet(block, interface, found)
    }

    #[inline]
    fn timed_packet(
        &self,
        block: &[u8],
        interface: Interface,
        found: &mut Found,
    ) -> Result<(), Box<Stop>> {
        let units = u64::from(self.u32_at(block, 12)) << 32 | u64::from(self.u32_at(block, 16));
        let captured = self.u32_at(block, 20) as usize;
        if captured > block.len() - 32 || captured > MAX_CAPTURED_BYTES {
            return Err(damaged(format!("a packet of {captured} bytes does not fit its block")));
        }
        found.time_ns = interface.clock.time_ns(units);
        found.has_time = true;
        found.original_bytes = self.u32_at(block, 24);
        found.link_type = interface.link_type;
        found.start = 28;
        found.captured = captured;
        Ok(())
    }

    /// A simple packet block belongs to the first interface, whose snapshot length tells how much
    /// was captured.
    fn simple_packet(&self, block: &[u8], found: &mut Found) -> Result<(), Box<Stop>> {
        if block.len() < 16 {
            return Err(damaged(format!(
                "a simple packet block of {} bytes is too short",
                block.len()
            )));
        }
        let interface = self.interface(0)?;
        let original_bytes = self.u32_at(block, 8);
        let snap_bytes = if interface.snap_bytes == 0 { u32::MAX } else { interface.snap_bytes };
        found.has_time = false;
        found.original_bytes = original_bytes;
        found.link_type = interface.link_type;
        found.start = 12;
        found.captured = (original_bytes.min(snap_bytes) as usize).min(block.len() - 16);
        Ok(())
    }
}

fn damaged(what: String) -> Box<Stop> {
    Box::new(Stop::Damaged(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_converts_powers_of_ten_and_two() {
        let ns = |resolution, offset_s, units| Clock { resolution, offset_s }.time_ns(units);
        assert_eq!(ns(6, 0, 1_500_000), 1_500_000_000);
        assert_eq!(ns(9, 0, 1_500_000_001), 1_500_000_001);
        assert_eq!(ns(12, 0, 1_500_000_001_999), 1_500_000_001);
        assert_eq!(ns(0x80 | 10, 0, 1536), 1_500_000_000);
        assert_eq!(ns(0, -2, 5), 3_000_000_000);
        assert_eq!(ns(0x80 | 127, 0, u64::MAX), 0);
        for resolution in [0, 6, 9, 10] {
            assert_eq!(ns(resolution, i64::MAX, u64::MAX), LATEST_NS);
            assert_eq!(ns(resolution, i64::MIN, 0), -LATEST_NS);
        }
        assert_eq!(ns(9, 0, i64::MAX as u64), LATEST_NS);
    }
}
