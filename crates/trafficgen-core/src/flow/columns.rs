//! Rows turned into the columns of the packet table, with flow numbers, directions and RTP as finally decided.

use super::row::PacketRow;

/// What was decided about the flows once all packets were seen; indexed by the meter's flow number.
#[derive(Clone, Debug, Default)]
pub struct FlowPlan {
    /// Number in the flow table, or `None` where the flow's packets are left out.
    pub number: Vec<Option<u32>>,
    pub initiator_is_client: Vec<bool>,
    /// Synchronisation sources that proved to be RTP.
    pub rtp_sources: Vec<Vec<u32>>,
}

/// Columns of the packet table. Booleans and validity are bit-packed, least significant bit first, as Arrow has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    pub time_ns: Vec<i64>,
    pub flow: Vec<u32>,
    pub to_client: Vec<u8>,
    pub frame_bytes: Vec<u32>,
    pub ip_bytes: Vec<u32>,
    pub payload_bytes: Vec<u32>,
    pub rtp_known: Vec<u8>,
    pub rtp_ssrc: Vec<u32>,
    pub rtp_sequence: Vec<u16>,
    pub rtp_timestamp: Vec<u32>,
    pub rtp_marker: Vec<u8>,
    pub tcp_known: Vec<u8>,
    pub tcp_sequence: Vec<u32>,
    pub tcp_acknowledgement: Vec<u32>,
    pub tcp_flags: Vec<u8>,
    pub tcp_window: Vec<u32>,
}

impl Columns {
    /// Converts rows, leaving out those of flows that the plan leaves out. Times are counted from `origin_ns`.
    pub fn from_rows(rows: &[PacketRow], plan: &FlowPlan, origin_ns: i64) -> Self {
        let kept = |row: &&PacketRow| plan.number[row.flow as usize].is_some();
        let mut columns = Self::with_capacity(rows.iter().filter(kept).count());
        for row in rows {
            if let Some(flow) = plan.number[row.flow as usize] {
                columns.push(row, flow, plan, origin_ns);
            }
        }
        columns
    }

    fn with_capacity(count: usize) -> Self {
        let bits = || vec![0; count.div_ceil(8)];
        Self {
            time_ns: Vec::with_capacity(count),
            flow: Vec::with_capacity(count),
            to_client: bits(),
            frame_bytes: Vec::with_capacity(count),
            ip_bytes: Vec::with_capacity(count),
            payload_bytes: Vec::with_capacity(count),
            rtp_known: bits(),
            rtp_ssrc: Vec::with_capacity(count),
            rtp_sequence: Vec::with_capacity(count),
            rtp_timestamp: Vec::with_capacity(count),
            rtp_marker: bits(),
            tcp_known: bits(),
            tcp_sequence: Vec::with_capacity(count),
            tcp_acknowledgement: Vec::with_capacity(count),
            tcp_flags: Vec::with_capacity(count),
            tcp_window: Vec::with_capacity(count),
        }
    }

    #[inline]
    fn push(&mut self, row: &PacketRow, flow: u32, plan: &FlowPlan, origin_ns: i64) {
        let (word, bit) = (self.time_ns.len() / 8, self.time_ns.len() % 8);
        let old = row.flow as usize;
        let rtp = row.is(PacketRow::RTP) && plan.rtp_sources[old].contains(&row.ssrc_or_sequence);
        let tcp = row.is(PacketRow::TCP);
        let set = |bits: &mut Vec<u8>, on: bool| bits[word] |= u8::from(on) << bit;
        self.time_ns.push(row.time_ns.saturating_sub(origin_ns));
        self.flow.push(flow);
        set(&mut self.to_client, row.is(PacketRow::FORWARD) != plan.initiator_is_client[old]);
        self.frame_bytes.push(row.frame_bytes);
        self.ip_bytes.push(row.ip_bytes);
        self.payload_bytes.push(row.payload_bytes);
        set(&mut self.rtp_known, rtp);
        set(&mut self.rtp_marker, rtp && row.is(PacketRow::RTP_MARKER));
        set(&mut self.tcp_known, tcp);
        let or_zero = |known: bool, value: u32| if known { value } else { 0 };
        self.rtp_ssrc.push(or_zero(rtp, row.ssrc_or_sequence));
        self.rtp_sequence.push(or_zero(rtp, row.sequence_or_window) as u16);
        self.rtp_timestamp.push(or_zero(rtp, row.timestamp_or_acknowledgement));
        self.tcp_sequence.push(or_zero(tcp, row.ssrc_or_sequence));
        self.tcp_acknowledgement.push(or_zero(tcp, row.timestamp_or_acknowledgement));
        self.tcp_flags.push(or_zero(tcp, u32::from(row.payload_type_or_flags)) as u8);
        self.tcp_window.push(or_zero(tcp, row.sequence_or_window));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_flows_and_rtp_follow_the_plan() {
        let plan = FlowPlan {
            number: vec![Some(1), None, Some(0)],
            initiator_is_client: vec![true, true, false],
            rtp_sources: vec![vec![], vec![], vec![7]],
        };
        let row =
            |flow, marks, ssrc| PacketRow { time_ns: 15, flow, marks, ssrc_or_sequence: ssrc, ..Default::default() };
        let rows = [
            row(0, PacketRow::FORWARD | PacketRow::TCP, 3),
            row(1, PacketRow::FORWARD, 0),
            row(2, PacketRow::FORWARD | PacketRow::RTP | PacketRow::RTP_MARKER, 7),
            row(2, PacketRow::RTP, 8),
        ];
        let columns = Columns::from_rows(&rows, &plan, 10);
        assert_eq!(columns.time_ns, [5, 5, 5]);
        assert_eq!(columns.flow, [1, 0, 0]);
        assert_eq!(columns.to_client, [0b010]);
        assert_eq!((columns.rtp_known[0], columns.rtp_marker[0], columns.tcp_known[0]), (0b010, 0b010, 0b001));
        assert_eq!((columns.rtp_ssrc.clone(), columns.tcp_sequence.clone()), (vec![0, 7, 0], vec![3, 0, 0]));
    }
}
