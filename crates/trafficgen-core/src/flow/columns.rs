//! Rows turned into the columns of the packet table; what is decided about flows at the end is put
//! in afterwards.

use super::row::PacketRow;

/// What was decided about the flows once all packets were seen; indexed by the meter's flow number.
#[derive(Clone, Debug, Default)]
pub struct FlowPlan {
    /// Number in the flow table.
    pub number: Vec<u32>,
    pub initiator_is_client: Vec<bool>,
    /// Synchronisation sources that proved to be RTP.
    pub rtp_sources: Vec<Vec<u32>>,
}

/// Columns of the packet table. Booleans and validity are bit-packed, least significant bit first,
/// as Arrow has them. No packet is both RTP and TCP, and what lies under a null is nobody's
/// business: so two columns serve both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    pub time_ns: Vec<i64>,
    pub flow: Vec<u32>,
    pub to_client: Vec<u8>,
    pub frame_bytes: Vec<u32>,
    pub ip_bytes: Vec<u32>,
    pub payload_bytes: Vec<u32>,
    pub rtp_known: Vec<u8>,
    pub tcp_known: Vec<u8>,
    pub ssrc_or_sequence: Vec<u32>,
    pub timestamp_or_acknowledgement: Vec<u32>,
    pub rtp_sequence: Vec<u16>,
    pub rtp_marker: Vec<u8>,
    pub tcp_flags: Vec<u8>,
    pub tcp_window: Vec<u32>,
}

impl Columns {
    /// Makes room for a number of packets.
    pub(super) fn reserve(&mut self, count: usize) {
        self.time_ns.reserve(count);
        for column in [
            &mut self.flow,
            &mut self.frame_bytes,
            &mut self.ip_bytes,
            &mut self.payload_bytes,
            &mut self.ssrc_or_sequence,
            &mut self.timestamp_or_acknowledgement,
            &mut self.tcp_window,
        ] {
            column.reserve(count);
        }
        self.rtp_sequence.reserve(count);
        self.tcp_flags.reserve(count);
        for bits in
            [&mut self.to_client, &mut self.rtp_known, &mut self.rtp_marker, &mut self.tcp_known]
        {
            bits.reserve(count.div_ceil(8));
        }
    }

    pub fn len(&self) -> usize {
        self.time_ns.len()
    }

    pub fn is_empty(&self) -> bool {
        self.time_ns.is_empty()
    }

    /// Adds rows as they are: flows by the meter's number, directions as forward or not, RTP as
    /// candidates.
    pub(super) fn extend(&mut self, rows: &[PacketRow]) {
        let at = self.len();
        let (first, rest) = rows.split_at(rows.len().min(at.wrapping_neg() % 8));
        let bytes = rest.chunks_exact(8);
        for (bits, mark) in [
            (&mut self.to_client, PacketRow::FORWARD),
            (&mut self.rtp_known, PacketRow::RTP),
            (&mut self.rtp_marker, PacketRow::RTP_MARKER),
            (&mut self.tcp_known, PacketRow::TCP),
        ] {
            push_bits(bits, at, first, mark);
            bits.extend(bytes.clone().map(|rows| byte_of(rows, mark)));
            push_bits(bits, 0, bytes.remainder(), mark);
        }
        self.time_ns.extend(rows.iter().map(|row| row.time_ns));
        self.flow.extend(rows.iter().map(|row| row.flow));
        self.frame_bytes.extend(rows.iter().map(|row| row.frame_bytes));
        self.ip_bytes.extend(rows.iter().map(|row| row.ip_bytes));
        self.payload_bytes.extend(rows.iter().map(|row| row.payload_bytes));
        self.ssrc_or_sequence.extend(rows.iter().map(|row| row.ssrc_or_sequence));
        self.timestamp_or_acknowledgement
            .extend(rows.iter().map(|row| row.timestamp_or_acknowledgement));
        self.rtp_sequence.extend(rows.iter().map(|row| row.sequence_or_window as u16));
        self.tcp_flags.extend(rows.iter().map(|row| row.payload_type_or_flags));
        self.tcp_window.extend(rows.iter().map(|row| row.sequence_or_window));
    }

    /// Puts in what was decided about the flows, and counts times from `origin_ns`.
    pub(super) fn decide(&mut self, plan: &FlowPlan, origin_ns: i64) {
        for time_ns in &mut self.time_ns {
            *time_ns = time_ns.saturating_sub(origin_ns);
        }
        for (word, flows) in self.flow.chunks_mut(8).enumerate() {
            let (mut clients, mut other) = (0, 0);
            for (at, flow) in flows.iter_mut().enumerate() {
                let (old, bit) = (*flow as usize, 1 << at);
                if plan.initiator_is_client[old] {
                    clients |= bit;
                }
                if self.rtp_known[word] & bit != 0
                    && !plan.rtp_sources[old].contains(&self.ssrc_or_sequence[8 * word + at])
                {
                    other |= bit;
                }
                *flow = plan.number[old];
            }
            // Forward is from the client.
            self.to_client[word] ^= clients;
            self.rtp_known[word] &= !other;
            self.rtp_marker[word] &= !other;
        }
    }
}

/// One bit of each of eight rows: a multiplication moves bit 8 n to bit 56 + n.
#[inline]
fn byte_of(rows: &[PacketRow], mark: u8) -> u8 {
    let mut marks = [0; 8];
    for (byte, row) in marks.iter_mut().zip(rows) {
        *byte = row.marks & mark;
    }
    let bits = u64::from_le_bytes(marks) >> mark.trailing_zeros();
    (bits.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// Appends one bit a row, of which `at` are there already.
fn push_bits(bits: &mut Vec<u8>, at: usize, rows: &[PacketRow], mark: u8) {
    let mut bit = at % 8;
    let mut word = if bit == 0 { 0 } else { bits.pop().unwrap_or(0) };
    for row in rows {
        word |= u8::from(row.is(mark)) << bit;
        bit += 1;
        if bit == 8 {
            bits.push(word);
            (bit, word) = (0, 0);
        }
    }
    if bit > 0 {
        bits.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_flows_and_rtp_follow_the_plan() {
        let plan = FlowPlan {
            number: vec![1, 0],
            initiator_is_client: vec![true, false],
            rtp_sources: vec![vec![], vec![7]],
        };
        let row = |flow, marks, ssrc| PacketRow {
            time_ns: 15,
            flow,
            marks,
            ssrc_or_sequence: ssrc,
            ..Default::default()
        };
        let mut columns = Columns::default();
        columns.extend(&[row(0, PacketRow::FORWARD | PacketRow::TCP, 3)]);
        columns.extend(&[
            row(1, PacketRow::FORWARD | PacketRow::RTP | PacketRow::RTP_MARKER, 7),
            row(1, PacketRow::RTP, 8),
        ]);
        columns.decide(&plan, 10);
        assert_eq!(columns.time_ns, [5, 5, 5]);
        assert_eq!(columns.flow, [1, 0, 0]);
        assert_eq!(columns.to_client, [0b010]);
        assert_eq!(
            (columns.rtp_known[0], columns.rtp_marker[0], columns.tcp_known[0]),
            (0b010, 0b010, 0b001)
        );
        assert_eq!(columns.ssrc_or_sequence, [3, 7, 8]);
    }

    #[test]
    fn bits_of_pieces_of_any_length_join() {
        let rows: Vec<PacketRow> = (0..37_u8)
            .map(|index| PacketRow { marks: u8::from(index % 3 == 0), ..Default::default() })
            .collect();
        let mut whole = Columns::default();
        whole.extend(&rows);
        let mut pieces = Columns::default();
        for piece in rows.chunks(5) {
            pieces.extend(piece);
        }
        assert_eq!(whole, pieces);
        assert_eq!(whole.to_client, [0x49, 0x92, 0x24, 0x49, 0x12]);
    }
}
