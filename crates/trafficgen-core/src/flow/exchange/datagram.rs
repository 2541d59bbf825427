//! Exchanges over QUIC and other datagrams: requests are the client's larger packets, apart from
//! acknowledgements by a gap in the sizes of this connection.

use super::{Exchange, Exchanges};
use crate::flow::row::PacketRow;

/// Packets with payload after which it is settled who the client is: the end that sent less.
const PACKETS_TO_SETTLE: usize = 64;
/// The client's packets that are held until it is known which of them are requests.
const MAX_HELD: usize = 1 << 14;
/// The fewest packets of the client whose sizes show two kinds.
const FEWEST_SIZES: usize = 16;
/// The least ratio of the sizes of a request and an acknowledgement.
const LEAST_RATIO: f64 = 1.5;
/// No QUIC packet is smaller: header, number and tag (12 bytes before RFC 9001).
const SMALLEST_PACKET_BYTES: u32 = 20;
/// A short header, the tag and the header of a frame are no longer (RFC 9000, 17.3 and 19.8).
const LONGEST_HEADER_BYTES: u32 = 50;

/// A packet of the client, and what came from the server until the next.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    exchange: Exchange,
    packets: u64,
    is_handshake: bool,
}

/// A connection of datagrams.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    /// The first packets, until it is settled who the client is.
    first: Vec<PacketRow>,
    client: Option<usize>,
    turns: Vec<Turn>,
    smallest_bytes: Option<u32>,
    /// Largest size that is no request, once it was told.
    threshold: Option<u64>,
    is_untold: bool,
}

impl Datagrams {
    #[inline]
    pub fn take(&mut self, row: &PacketRow) {
        match self.client {
            Some(client) => self.add(row, client),
            None if row.payload_bytes > 0 => {
                self.first.push(*row);
                if self.first.len() == PACKETS_TO_SETTLE {
                    self.settle();
                }
            }
            None => {}
        }
    }

    #[cold]
    fn settle(&mut self) {
        let client = client_of(&self.first);
        self.client = Some(client);
        for row in std::mem::take(&mut self.first) {
            self.add(&row, client);
        }
    }

    #[inline]
    fn add(&mut self, row: &PacketRow, client: usize) {
        if self.is_untold || row.payload_bytes == 0 {
            return;
        }
        let bytes = u64::from(row.payload_bytes);
        let is_handshake = row.is(PacketRow::HANDSHAKE);
        if row.direction() == client {
            let request_ns = Some(row.time_ns);
            let exchange = Exchange { request_ns, request_bytes: bytes, ..Exchange::default() };
            self.turns.push(Turn { exchange, packets: 0, is_handshake });
            if self.turns.len() == MAX_HELD {
                self.join_turns();
            }
            return;
        }
        if !is_handshake && row.payload_bytes >= SMALLEST_PACKET_BYTES {
            let smallest = self.smallest_bytes.get_or_insert(row.payload_bytes);
            *smallest = row.payload_bytes.min(*smallest);
        }
        if self.turns.is_empty() {
            self.turns.push(Turn::default()); // the capture begins within a response
        }
        let header = self.header_bytes();
        if let Some(turn) = self.turns.last_mut() {
            turn.packets += 1;
            turn.exchange.response_bytes += bytes;
            // Acknowledgements of the server are little more than a header.
            if row.payload_bytes > 2 * header {
                turn.exchange.answer(0, row.time_ns);
            }
        }
    }

    /// What a packet of the server has apart from data: its smallest was all header.
    #[inline]
    fn header_bytes(&self) -> u32 {
        self.smallest_bytes.map_or(LONGEST_HEADER_BYTES, |bytes| bytes.min(LONGEST_HEADER_BYTES))
    }

    /// Keeps the requests alone, so that memory does not grow with acknowledgements.
    #[cold]
    fn join_turns(&mut self) {
        self.threshold = self.threshold.or_else(|| threshold_of(&self.turns));
        match self.threshold {
            Some(threshold) => self.turns = joined(&self.turns, threshold),
            None => self.turns.clear(),
        }
        self.is_untold = self.threshold.is_none() || self.turns.len() > MAX_HELD / 2;
    }

    /// The exchanges so far; `None` where there are too few packets to ask.
    pub fn exchanges(&self, initiator_is_client: bool) -> Option<Exchanges> {
        if self.client.is_none() && self.first.len() >= FEWEST_SIZES {
            let mut settled = Self { first: self.first.clone(), ..Self::default() };
            settled.settle();
            return settled.exchanges(initiator_is_client);
        }
        if self.client? != usize::from(!initiator_is_client) || self.is_untold {
            return Some(Exchanges::Untold);
        }
        let Some(threshold) = self.threshold.or_else(|| threshold_of(&self.turns)) else {
            return Some(Exchanges::Untold);
        };
        let header = u64::from(self.header_bytes());
        let turns = joined(&self.turns, threshold);
        let found = turns.iter().map(|turn| {
            let bytes = turn.exchange.response_bytes.saturating_sub(turn.packets * header);
            Exchange { response_bytes: bytes, is_control: turn.is_handshake, ..turn.exchange }
        });
        Some(Exchanges::Found(found.collect()))
    }
}

/// The end that sent less; who spoke first where they sent alike.
fn client_of(rows: &[PacketRow]) -> usize {
    let sent = |direction: usize| -> u64 {
        let of_end = rows.iter().filter(|row| row.direction() == direction);
        of_end.map(|row| u64::from(row.payload_bytes)).sum()
    };
    usize::from(sent(1) < sent(0))
}

/// The upper end of the acknowledgements' sizes: below the widest gap above the median, for most
/// packets of a client acknowledge. `None` where sizes do not part.
fn threshold_of(turns: &[Turn]) -> Option<u64> {
    let asked = turns.iter().filter(|turn| !turn.is_handshake && turn.exchange.request_bytes > 0);
    let mut sizes: Vec<u64> = asked.map(|turn| turn.exchange.request_bytes).collect();
    if sizes.len() < FEWEST_SIZES {
        return None;
    }
    sizes.sort_unstable();
    let upper = &sizes[sizes.len() / 2..];
    let (ratio, size) = upper
        .windows(2)
        .map(|pair| (pair[1] as f64 / pair[0] as f64, pair[0]))
        .fold((0.0, 0), |best, found| if found.0 > best.0 { found } else { best });
    (ratio >= LEAST_RATIO).then_some(size)
}

/// The turns of requests, each with what came until the next; requests without an answer between
/// them are one.
fn joined(turns: &[Turn], threshold: u64) -> Vec<Turn> {
    let mut kept: Vec<Turn> = Vec::new();
    for turn in turns {
        let asks = !turn.is_handshake && turn.exchange.request_bytes > threshold;
        match kept.last_mut() {
            Some(open) if !asks || is_unanswered(open) => {
                if asks {
                    open.exchange.request_bytes += turn.exchange.request_bytes;
                    open.exchange.merged += 1;
                }
                open.exchange.take_over(&turn.exchange);
                // An acknowledgement: the last one is that of the response's end.
                let heard_ns = turn.exchange.request_ns.filter(|_| !asks);
                open.exchange.heard_ns = open.exchange.heard_ns.max(heard_ns);
                open.packets += turn.packets;
            }
            _ => {
                let is_handshake = !asks;
                kept.push(Turn { is_handshake, ..*turn });
            }
        }
    }
    kept
}

fn is_unanswered(turn: &Turn) -> bool {
    !turn.is_handshake && turn.exchange.first_byte_ns.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(acknowledgement: u32, request: u32) -> Vec<PacketRow> {
        let packet = |time_ns, bytes, forward| PacketRow {
            time_ns,
            payload_bytes: bytes,
            marks: PacketRow::DATAGRAM | if forward { PacketRow::FORWARD } else { 0 },
            ..Default::default()
        };
        let mut rows = vec![];
        for exchange in 0..10 {
            let start = 1000 * exchange;
            rows.push(packet(start, request, true));
            for index in 0..10 {
                rows.push(packet(start + 10 * index + 5, 1030, false));
                rows.push(packet(start + 10 * index + 6, acknowledgement, true));
            }
            rows.push(packet(start + 200, 30, false)); // the server acknowledges
        }
        rows
    }

    fn measure(rows: &[PacketRow]) -> Option<Exchanges> {
        let mut datagrams = Datagrams::default();
        rows.iter().for_each(|row| datagrams.take(row));
        datagrams.exchanges(true)
    }

    fn found(rows: &[PacketRow]) -> Vec<Exchange> {
        match measure(rows) {
            Some(Exchanges::Found(found)) => found,
            _ => vec![],
        }
    }

    #[test]
    fn requests_are_the_larger_packets_of_the_client() {
        let found = found(&rows(40, 300));
        assert_eq!(found.len(), 10);
        for (index, exchange) in found.iter().enumerate() {
            let start = 1000 * index as i64;
            assert_eq!(exchange.request_ns, Some(start));
            assert_eq!((exchange.request_bytes, exchange.response_bytes), (300, 10_000));
            assert_eq!(exchange.first_byte_ns, Some(start + 5));
            assert_eq!(exchange.last_byte_ns, Some(start + 95));
            assert_eq!(exchange.heard_ns, Some(start + 96));
        }
    }

    #[test]
    fn sizes_that_do_not_part_tell_nothing() {
        assert_eq!(measure(&rows(40, 45)), Some(Exchanges::Untold));
        assert_eq!(measure(&rows(40, 300)[..10]), None);
    }

    #[test]
    fn a_long_connection_is_measured_as_a_short_one() {
        let long: Vec<PacketRow> = (0..MAX_HELD as i64 / 50)
            .flat_map(|round| {
                rows(40, 300)
                    .into_iter()
                    .map(move |row| PacketRow { time_ns: row.time_ns + 10_000 * round, ..row })
            })
            .collect();
        let found = found(&long);
        assert_eq!(found.len(), 10 * (MAX_HELD / 50));
        assert!(found.iter().all(|exchange| exchange.response_bytes == 10_000));
    }
}
