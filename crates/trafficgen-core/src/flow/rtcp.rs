//! RTCP sender and receiver reports (RFC 3550, 6.4), one row for each reception block.

use super::row::PacketRow;

const SENDER_REPORT: u8 = 200;
const RECEIVER_REPORT: u8 = 201;
const HEADER_BYTES: usize = 8;
const SENDER_INFO_BYTES: usize = 20;
const BLOCK_BYTES: usize = 24;
const WORD_BYTES: usize = 4;
/// Reports kept in all; a conference of days must not fill the memory.
const MAX_REPORTS: usize = 200_000;

/// What a sender says of its own stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderInfo {
    /// Wall clock, 32.32 fixed point seconds since 1900.
    pub ntp: u64,
    pub rtp_timestamp: u32,
    pub packets: u32,
    pub payload_bytes: u32,
}

/// What a receiver says of one source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceptionBlock {
    pub ssrc: u32,
    /// Loss since the last report, in 1/256.
    pub fraction_lost: u8,
    pub cumulative_lost: i32,
    pub highest_sequence: u32,
    /// Interarrival jitter, timestamp units.
    pub jitter: u32,
    /// Middle 32 bits of the last sender report's NTP time; 0 where none came.
    pub last_sender_report: u32,
    /// Since then, in 1/65536 s.
    pub delay_since_last: u32,
}

/// One report: a sender's, a reception block, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtcpReport {
    pub time_ns: i64,
    /// Number of the 5-tuple.
    pub key: u32,
    pub forward: bool,
    pub reporter: u32,
    pub sender: Option<SenderInfo>,
    pub block: Option<ReceptionBlock>,
}

/// All reports of a capture, in the order of the files.
#[derive(Default)]
pub(super) struct RtcpReports {
    reports: Vec<RtcpReport>,
}

impl RtcpReports {
    /// Takes a UDP payload that looks like RTCP; what was cut off or is of another kind is passed
    /// over.
    #[cold]
    pub fn packet(&mut self, row: &PacketRow, payload: &[u8]) {
        let mut rest = payload;
        while let [first, kind, high, low, ..] = *rest {
            if first >> 6 != 2 {
                return;
            }
            let length = WORD_BYTES * (usize::from(u16::from_be_bytes([high, low])) + 1);
            let part = &rest[..length.min(rest.len())];
            if matches!(kind, SENDER_REPORT | RECEIVER_REPORT) && part.len() >= HEADER_BYTES {
                self.report(row, part, kind == SENDER_REPORT, usize::from(first & 0x1f));
            }
            rest = rest.get(length..).unwrap_or(&[]);
        }
    }

    fn report(&mut self, row: &PacketRow, part: &[u8], is_sender: bool, count: usize) {
        let reporter = word(part, WORD_BYTES);
        let mut at = HEADER_BYTES;
        let mut sender = None;
        if is_sender {
            let Some(info) = part.get(at..at + SENDER_INFO_BYTES) else { return };
            sender = Some(sender_info(info));
            at += SENDER_INFO_BYTES;
        }
        let blocks: Vec<_> =
            part[at..].chunks_exact(BLOCK_BYTES).take(count).map(reception_block).collect();
        let mut keep = |sender, block| {
            if self.reports.len() < MAX_REPORTS {
                let forward = row.is(PacketRow::FORWARD);
                self.reports.push(RtcpReport {
                    time_ns: row.time_ns,
                    key: row.flow,
                    forward,
                    reporter,
                    sender,
                    block,
                });
            }
        };
        if blocks.is_empty() {
            if sender.is_some() {
                keep(sender, None);
            }
            return;
        }
        for (index, block) in blocks.into_iter().enumerate() {
            keep(sender.filter(|_| index == 0), Some(block));
        }
    }

    /// All reports in order of time.
    pub fn finish(&mut self) -> Vec<RtcpReport> {
        let mut reports = std::mem::take(&mut self.reports);
        reports.sort_by_key(|report| report.time_ns);
        reports
    }
}

/// The big-endian word at a place that is known to be there.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn sender_info(info: &[u8]) -> SenderInfo {
    SenderInfo {
        ntp: u64::from(word(info, 0)) << 32 | u64::from(word(info, 4)),
        rtp_timestamp: word(info, 8),
        packets: word(info, 12),
        payload_bytes: word(info, 16),
    }
}

fn reception_block(block: &[u8]) -> ReceptionBlock {
    ReceptionBlock {
        ssrc: word(block, 0),
        fraction_lost: block[4],
        // 24 bits with a sign: shifted up and back, so that the sign is carried along.
        cumulative_lost: (word(block, 4) << 8) as i32 >> 8,
        highest_sequence: word(block, 8),
        jitter: word(block, 12),
        last_sender_report: word(block, 16),
        delay_since_last: word(block, 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(payload: &[u8]) -> Vec<RtcpReport> {
        let mut reports = RtcpReports::default();
        reports.packet(
            &PacketRow { time_ns: 5, flow: 3, marks: PacketRow::FORWARD, ..Default::default() },
            payload,
        );
        reports.finish()
    }

    fn words(values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_be_bytes()).collect()
    }

    const BLOCK: [u32; 6] = [9, 0x40ff_fffe, 70_000, 12, 0xabcd_ef01, 65_536];

    #[test]
    fn a_sender_report_with_a_block_and_what_follows_it_are_read() {
        let mut packet = words(&[0x81c8_000c, 7, 1, 2, 3, 4, 5]);
        packet.extend(words(&BLOCK));
        packet.extend(words(&[0x81ca_0001, 7]));
        packet.extend(words(&[0x81c9_0007, 8]));
        packet.extend(words(&BLOCK));
        let reports = read(&packet);
        assert_eq!(reports.len(), 2);
        let (first, second) = (reports[0], reports[1]);
        assert_eq!((first.time_ns, first.key, first.forward, first.reporter), (5, 3, true, 7));
        let sender =
            SenderInfo { ntp: 1 << 32 | 2, rtp_timestamp: 3, packets: 4, payload_bytes: 5 };
        assert_eq!(first.sender, Some(sender));
        let block = first.block.unwrap_or_default();
        assert_eq!((block.ssrc, block.fraction_lost, block.cumulative_lost), (9, 0x40, -2));
        assert_eq!((block.highest_sequence, block.jitter), (70_000, 12));
        assert_eq!((block.last_sender_report, block.delay_since_last), (0xabcd_ef01, 65_536));
        assert_eq!((second.reporter, second.sender, second.block), (8, None, first.block));
    }

    #[test]
    fn cut_and_foreign_packets_give_no_report() {
        assert!(read(&words(&[0x81c8_000c, 7, 1])).is_empty());
        assert!(read(&words(&[0x80c9_0001, 7])).is_empty());
        assert!(read(&words(&[0x81ca_0001, 7])).is_empty());
        assert!(read(&words(&[0x0000_0001, 7])).is_empty());
        assert_eq!(read(&words(&[0x80c8_0006, 7, 1, 2, 3, 4, 5])).len(), 1);
    }
}
