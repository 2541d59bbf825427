//! Sums over the record: series in bins of time, and totals of an interval.

use super::agent::FlowId;
use super::label::Phase;
use super::record::{Row, LOST};
use super::time::{seconds, Time};

/// Which packets count, and by which of their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// All that were sent, when they were sent.
    Sent,
    /// Those that arrived, when they arrived.
    Arrived,
    /// Those that a link dropped, when they were sent.
    Dropped,
}

/// Packets of some flows in one direction.
#[derive(Clone, Debug)]
pub struct Selection {
    wanted: Vec<bool>,
    to_client: bool,
    /// Packets that carry payload and are not probes, and no others.
    media_only: bool,
}

impl Selection {
    pub fn new(flows: &[FlowId], to_client: bool, media_only: bool) -> Self {
        let largest = flows.iter().max().map_or(0, |flow| *flow as usize + 1);
        let mut wanted = vec![false; largest];
        for flow in flows {
            wanted[*flow as usize] = true;
        }
        Self { wanted, to_client, media_only }
    }

    fn takes(&self, row: &Row) -> bool {
        row.to_client == self.to_client
            && self.wanted.get(row.flow as usize).copied().unwrap_or(false)
            && !(self.media_only && (row.payload_bytes == 0 || row.phase == Phase::Probe))
    }
}

fn time_by(row: &Row, by: By) -> Option<Time> {
    match by {
        By::Sent => Some(row.time_ns),
        By::Arrived => (row.arrival_ns != LOST).then_some(row.arrival_ns),
        By::Dropped => row.drop.map(|_| row.time_ns),
    }
}

/// IP bytes and packets in bins of `interval` from `origin` on.
pub fn binned(
    rows: &[Row],
    selection: &Selection,
    by: By,
    origin: Time,
    interval: Time,
    bins: usize,
) -> (Vec<u64>, Vec<u64>) {
    let (mut bytes, mut packets) = (vec![0; bins], vec![0; bins]);
    for row in rows.iter().filter(|row| selection.takes(row)) {
        let Some(since) = time_by(row, by).map(|time| time - origin).filter(|since| *since >= 0)
        else {
            continue;
        };
        let bin = (since / interval) as usize;
        if bin < bins {
            bytes[bin] += u64::from(row.ip_bytes);
            packets[bin] += 1;
        }
    }
    (bytes, packets)
}

/// Packets that arrived by their IP total length: entry n counts those of n bytes.
pub fn arrived_sizes(rows: &[Row], selection: &Selection) -> Vec<u64> {
    let mut counts = Vec::new();
    for row in rows.iter().filter(|row| row.arrival_ns != LOST && selection.takes(row)) {
        let size = row.ip_bytes as usize;
        if counts.len() <= size {
            counts.resize(size + 1, 0);
        }
        counts[size] += 1;
    }
    counts
}

/// Sums over the packets that were sent in an interval; delays over those of them that arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    pub sent_packets: u64,
    pub sent_bytes: u64,
    /// Packets that arrived in the interval, whenever they were sent.
    pub arrived_packets: u64,
    pub arrived_bytes: u64,
    pub dropped_packets: u64,
    pub retransmissions: u64,
    pub delay_sum_s: f64,
    pub delay_count: u64,
    pub first_sent: Option<Time>,
    pub last_sent: Option<Time>,
    pub first_arrived: Option<Time>,
    pub last_arrived: Option<Time>,
}

/// Totals from `start` (inclusive) to `end` (exclusive).
pub fn totals(rows: &[Row], selection: &Selection, start: Time, end: Time) -> Totals {
    let mut sums = Totals::default();
    for row in rows.iter().filter(|row| selection.takes(row)) {
        if (start..end).contains(&row.time_ns) {
            sums.sent_packets += 1;
            sums.sent_bytes += u64::from(row.ip_bytes);
            sums.dropped_packets += u64::from(row.drop.is_some());
            sums.retransmissions += u64::from(row.retransmission);
            sums.first_sent = sums.first_sent.or(Some(row.time_ns));
            sums.last_sent = Some(row.time_ns);
            if row.arrival_ns != LOST {
                sums.delay_sum_s += seconds(row.arrival_ns - row.time_ns);
                sums.delay_count += 1;
            }
        }
        if row.arrival_ns != LOST && (start..end).contains(&row.arrival_ns) {
            sums.arrived_packets += 1;
            sums.arrived_bytes += u64::from(row.ip_bytes);
            sums.first_arrived =
                Some(sums.first_arrived.map_or(row.arrival_ns, |first| first.min(row.arrival_ns)));
            sums.last_arrived =
                Some(sums.last_arrived.map_or(row.arrival_ns, |last| last.max(row.arrival_ns)));
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::des::label::Label;
    use crate::des::record::Record;
    use crate::des::End;

    #[test]
    fn sizes_count_what_arrived_at_the_client() {
        let mut record = Record::default();
        for (flow, from, bytes, arrives) in [
            (0, End::Server, 3, true),
            (0, End::Server, 3, true),
            (0, End::Server, 5, false),
            (0, End::Client, 2, true),
            (1, End::Server, 4, true),
        ] {
            let row = record.sent(0, flow, from, (bytes, 1), Label::of(Phase::Playout), None);
            if arrives {
                record.arrived(row, 7);
            }
        }
        assert_eq!(arrived_sizes(&record.rows, &Selection::new(&[0], true, false)), [0, 0, 0, 2]);
        assert!(arrived_sizes(&record.rows, &Selection::new(&[2], true, false)).is_empty());
    }
}
