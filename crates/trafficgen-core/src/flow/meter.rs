//! Counts of each flow, from rows of captured or synthetic tables alike.

use super::rate_bins::RateBins;
use super::row::PacketRow;
use super::rtp::{RtpCandidate, RtpStream};

/// Synchronisation sources kept for one flow; random bytes that look like RTP must not fill the
/// memory.
const MAX_STREAMS_PER_FLOW: usize = 32;
/// Share of a direction's payload packets that its RTP streams must have for the flow to be RTP.
const MIN_RTP_SHARE: f64 = 0.5;
/// Flows whose rate over time is kept; when there are more, the lighter half gives way.
const MAX_FLOWS_WITH_RATES: usize = 1024;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// What is counted of a flow; indices 0 and 1 are the two directions, from the initiator and to it.
#[derive(Clone, Debug)]
pub struct FlowCounts {
    /// The 5-tuple's own number: several flows share it when silence splits them.
    pub key: u32,
    pub first_ns: i64,
    pub last_ns: i64,
    pub packets: [u64; 2],
    pub frame_bytes: [u64; 2],
    pub payload_bytes: [u64; 2],
    pub payload_packets: [u64; 2],
    pub rtcp_packets: [u64; 2],
    pub syn_from_initiator: Option<bool>,
    pub syn_ack_from_initiator: Option<bool>,
    /// Frame bytes over time, from the second packet on; only of the heavier flows where there are
    /// many.
    pub rates: Option<Box<RateBins>>,
    streams: Vec<RtpCandidate>,
    last_stream: usize,
}

impl FlowCounts {
    fn new(key: u32, time_ns: i64) -> Self {
        Self {
            key,
            first_ns: time_ns,
            last_ns: time_ns,
            packets: [0; 2],
            frame_bytes: [0; 2],
            payload_bytes: [0; 2],
            payload_packets: [0; 2],
            rtcp_packets: [0; 2],
            syn_from_initiator: None,
            syn_ack_from_initiator: None,
            rates: None,
            streams: Vec::new(),
            last_stream: 0,
        }
    }

    #[inline]
    fn add(&mut self, row: &PacketRow) {
        let direction = row.direction();
        self.first_ns = self.first_ns.min(row.time_ns);
        self.last_ns = self.last_ns.max(row.time_ns);
        self.packets[direction] += 1;
        self.frame_bytes[direction] += u64::from(row.frame_bytes);
        self.payload_bytes[direction] += u64::from(row.payload_bytes);
        self.payload_packets[direction] += u64::from(row.payload_bytes > 0);
        if let Some(rates) = &mut self.rates {
            rates.add(row.time_ns, direction, u64::from(row.frame_bytes));
        }
        if row.is(PacketRow::RTP) {
            self.add_rtp(row);
        } else if row.is(PacketRow::RTCP) {
            self.rtcp_packets[direction] += 1;
        } else if row.is(PacketRow::TCP) && row.payload_type_or_flags & SYN != 0 {
            self.add_syn(row);
        }
    }

    fn add_syn(&mut self, row: &PacketRow) {
        let from_initiator = row.is(PacketRow::FORWARD);
        let seen = if row.payload_type_or_flags & ACK == 0 {
            &mut self.syn_from_initiator
        } else {
            &mut self.syn_ack_from_initiator
        };
        seen.get_or_insert(from_initiator);
    }

    #[inline]
    fn add_rtp(&mut self, row: &PacketRow) {
        let same = |stream: &RtpCandidate| stream.is_of(row);
        if let Some(stream) = self.streams.get_mut(self.last_stream).filter(|stream| same(stream)) {
            stream.add(row);
        } else if let Some(index) = self.streams.iter().position(same) {
            self.last_stream = index;
            self.streams[index].add(row);
        } else if self.streams.len() < MAX_STREAMS_PER_FLOW {
            self.last_stream = self.streams.len();
            if self.streams.is_empty() {
                self.streams.reserve_exact(1); // most flows have one
            }
            self.streams.push(RtpCandidate::new(row));
        }
    }

    /// RTP streams of the flow, most packets first; empty where the flow as a whole is not RTP.
    pub fn rtp_streams(&self) -> Vec<&RtpStream> {
        let known = self.streams.iter().filter_map(RtpCandidate::stream);
        let mut streams: Vec<&RtpStream> = known.filter(|stream| stream.is_rtp()).collect();
        let of_direction = |direction: usize| -> u64 {
            streams
                .iter()
                .filter(|stream| stream.direction == direction)
                .map(|stream| stream.packets)
                .sum()
        };
        let carried = [of_direction(0), of_direction(1)];
        streams.retain(|stream| {
            let direction = stream.direction;
            let media = self.payload_packets[direction] - self.rtcp_packets[direction];
            carried[direction] as f64 >= MIN_RTP_SHARE * media as f64
        });
        streams.sort_by_key(|stream| std::cmp::Reverse(stream.packets));
        streams
    }

    pub fn has_rtp(&self) -> bool {
        !self.streams.is_empty() && !self.rtp_streams().is_empty()
    }

    /// Whether most packets with payload are RTCP's.
    pub fn is_rtcp(&self) -> bool {
        let [forward, backward] = self.rtcp_packets;
        let payload: u64 = self.payload_packets.iter().sum();
        payload > 0 && 2 * (forward + backward) > payload
    }
}

/// Measures flows row by row, and splits them after silence where that is asked for.
pub struct FlowMeter {
    idle_timeout_ns: i64,
    /// Flows beyond which silence splits none: a 5-tuple's packets stay in the flow that they are
    /// in.
    most: usize,
    /// The flow that a 5-tuple's packets belong to now.
    current: Vec<u32>,
    flows: Vec<FlowCounts>,
    /// Flows whose rate over time is kept.
    with_rates: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Default for FlowMeter {
    fn default() -> Self {
        Self::new(None)
    }
}

impl FlowMeter {
    /// `idle_timeout_ns`: silence after which a 5-tuple's packets are a new flow; `None` never
    /// splits.
    pub fn new(idle_timeout_ns: Option<i64>) -> Self {
        Self {
            idle_timeout_ns: idle_timeout_ns.unwrap_or(i64::MAX),
            most: usize::MAX,
            current: Vec::new(),
            flows: Vec::new(),
            with_rates: Vec::new(),
        }
    }

    /// Keeps the number of flows down to `most`, as long as there are no more 5-tuples.
    #[must_use]
    pub fn with_most(self, most: u32) -> Self {
        Self { most: most as usize, ..self }
    }

    /// Counts rows whose `flow` is the 5-tuple's number, and puts the flow's number there instead.
    pub fn update(&mut self, rows: &mut [PacketRow]) {
        for row in rows {
            let key = row.flow as usize;
            if key >= self.current.len() {
                self.current.resize(key + 1, NONE);
            }
            let mut flow = self.current[key];
            if flow == NONE || (self.is_over(flow, row.time_ns) && self.flows.len() < self.most) {
                flow = self.begin(row);
            }
            let counts = &self.flows[flow as usize];
            if counts.rates.is_none() && counts.packets[0] + counts.packets[1] == 1 {
                self.begin_rates(flow);
            }
            self.flows[flow as usize].add(row);
            row.flow = flow;
        }
    }

    /// Whether a flow was silent for so long that what comes now is another.
    #[inline]
    fn is_over(&self, flow: u32, time_ns: i64) -> bool {
        time_ns.saturating_sub(self.flows[flow as usize].last_ns) > self.idle_timeout_ns
    }

    #[cold]
    fn begin(&mut self, row: &PacketRow) -> u32 {
        let flow = self.flows.len() as u32;
        self.flows.push(FlowCounts::new(row.flow, row.time_ns));
        self.current[row.flow as usize] = flow;
        flow
    }

    /// Begins the rates of a flow that has one packet so far: many have no other.
    fn begin_rates(&mut self, flow: u32) {
        if self.with_rates.len() == MAX_FLOWS_WITH_RATES {
            self.drop_lighter_rates();
        }
        self.with_rates.push(flow);
        let counts = &mut self.flows[flow as usize];
        let mut rates = Box::new(RateBins::new(counts.first_ns));
        for direction in 0..2 {
            rates.add(counts.first_ns, direction, counts.frame_bytes[direction]);
        }
        counts.rates = Some(rates);
    }

    /// Keeps the rates of the heavier half of the flows that have them: those that matter show
    /// early.
    fn drop_lighter_rates(&mut self) {
        let flows = &mut self.flows;
        self.with_rates.sort_by_key(|&flow| {
            let bytes: u64 = flows[flow as usize].frame_bytes.iter().sum();
            (std::cmp::Reverse(bytes), flow)
        });
        for flow in self.with_rates.drain(MAX_FLOWS_WITH_RATES / 2..) {
            flows[flow as usize].rates = None;
        }
    }

    /// All flows, in the order in which they began.
    pub fn flows(&self) -> &[FlowCounts] {
        &self.flows
    }

    /// Which flow a 5-tuple's packets belonged to when: for what is known of the 5-tuple alone.
    pub fn starts(&self) -> FlowStarts {
        let mut starts: Vec<(u32, i64, u32)> = self
            .flows
            .iter()
            .zip(0..)
            .map(|(flow, number)| (flow.key, flow.first_ns, number))
            .collect();
        // By 5-tuple, each in the order in which its flows began; where time stepped back, the
        // latest beginning so far.
        starts.sort_by_key(|&(key, _, number)| (key, number));
        for at in 1..starts.len() {
            if starts[at].0 == starts[at - 1].0 {
                starts[at].1 = starts[at].1.max(starts[at - 1].1);
            }
        }
        FlowStarts { starts }
    }
}

/// The beginnings of flows by 5-tuple.
pub struct FlowStarts {
    /// 5-tuple, beginning and number.
    starts: Vec<(u32, i64, u32)>,
}

impl FlowStarts {
    /// The flow of a 5-tuple at a time; its first where that is later, `None` where it has none.
    pub fn flow_at(&self, key: u32, time_ns: i64) -> Option<u32> {
        let first = self.starts.partition_point(|&(other, _, _)| other < key);
        let behind = self
            .starts
            .partition_point(|&(other, start_ns, _)| (other, start_ns) <= (key, time_ns));
        let found = self.starts.get(behind.saturating_sub(1).max(first))?;
        (found.0 == key).then_some(found.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(time_ns: i64, flow: u32) -> PacketRow {
        PacketRow {
            time_ns,
            flow,
            frame_bytes: 100,
            payload_bytes: 50,
            marks: PacketRow::FORWARD,
            ..Default::default()
        }
    }

    #[test]
    fn silence_splits_a_flow_only_when_asked() {
        let mut rows = [row(0, 0), row(5, 0), row(20, 0), row(21, 1)];
        let mut meter = FlowMeter::new(Some(10));
        meter.update(&mut rows);
        assert_eq!(rows.map(|row| row.flow), [0, 0, 1, 2]);
        assert_eq!(meter.flows()[0].packets, [2, 0]);
        let starts = meter.starts();
        let found = [(0, -1), (0, 7), (0, 30), (1, 0), (2, 0)]
            .map(|(key, time_ns)| starts.flow_at(key, time_ns));
        assert_eq!(found, [Some(0), Some(0), Some(1), Some(2), None]);
        let mut rows = [row(0, 0), row(20, 0)];
        let mut meter = FlowMeter::new(None);
        meter.update(&mut rows);
        assert_eq!(meter.flows().len(), 1);
    }

    #[test]
    fn rates_are_kept_of_the_heavier_flows_and_of_no_more_than_there_is_room_for() {
        let mut meter = FlowMeter::new(None);
        let flows = 10 * MAX_FLOWS_WITH_RATES as u32;
        for flow in 0..flows {
            let heavy = flow % 1000 == 0;
            let packets = if heavy { 50 } else { 2 };
            let mut rows: Vec<PacketRow> =
                (0..packets).map(|packet| row(i64::from(flow + packet), flow)).collect();
            meter.update(&mut rows);
        }
        let with_rates: Vec<usize> =
            (0..flows as usize).filter(|&flow| meter.flows()[flow].rates.is_some()).collect();
        assert!(with_rates.len() <= MAX_FLOWS_WITH_RATES);
        for heavy in (0..flows as usize).step_by(1000) {
            assert!(with_rates.contains(&heavy), "flow {heavy}");
        }
        let rates =
            meter.flows()[0].rates.as_ref().map(|rates| rates.up_to(49)[0].iter().sum::<u64>());
        assert_eq!(rates, Some(5000));
    }

    #[test]
    fn random_bytes_that_look_like_rtp_are_not_rtp() {
        let mut meter = FlowMeter::new(None);
        for index in 0..1000_u32 {
            let mut candidate = row(i64::from(index), 0);
            candidate.marks |= PacketRow::RTP;
            candidate.ssrc_or_sequence = index.wrapping_mul(2_654_435_761);
            meter.update(&mut [candidate]);
        }
        assert!(!meter.flows()[0].has_rtp());
        assert_eq!(meter.flows()[0].packets, [1000, 0]);
    }
}
