//! Exchanges over TCP, by sequence and acknowledgement numbers: what the capture missed counts,
//! what was sent twice counts once, and a byte of the server belongs to the last request that its
//! packet acknowledges, wherever the capture was made.

use super::{Exchange, ACK, SYN};
use crate::flow::row::PacketRow;

/// Half a sequence space below the first number, so that earlier ones stay above 0.
const ORIGIN: u64 = 1 << 32;
/// A step in sequence numbers beyond this is damage.
const LONGEST_STEP: u64 = 1 << 30;
/// Gaps in the server's bytes that are remembered; of older ones the filling is not seen.
const MAX_HOLES: usize = 64;
/// TLS records up to this asked for nothing: two WINDOW_UPDATE, a PING or an acknowledgement of
/// SETTINGS (RFC 9113, 6) with header and tag (RFC 8446, 5.2).
const LONGEST_TLS_CONTROL_BYTES: u64 = 55;
/// A handshake is answered by no more than this: chains of certificates are shorter.
const LONGEST_HANDSHAKE_BYTES: u64 = 1 << 15;
const NONE: usize = usize::MAX;

/// An exchange under way, with its places in the sequence spaces.
#[derive(Clone, Copy, Debug, Default)]
struct Begun {
    exchange: Exchange,
    request_end: u64,
    response_start: u64,
    is_handshake: bool,
}

/// A connection, one of whose ends is taken for the client.
#[derive(Debug)]
pub(super) struct TcpSide {
    /// Ends of what was seen of the client's and the server's bytes.
    up: Option<u64>,
    down: Option<u64>,
    /// Bytes of the server that were passed over, in order.
    holes: Vec<(u64, u64)>,
    begun: Vec<Begun>,
    /// Where the exchanges of the present sequence spaces begin: ports are used again.
    from: usize,
    /// Whose response the server's bytes are.
    owner: usize,
    has_tls: bool,
}

impl Default for TcpSide {
    fn default() -> Self {
        Self {
            up: None,
            down: None,
            holes: Vec::new(),
            begun: Vec::new(),
            from: 0,
            owner: NONE,
            has_tls: false,
        }
    }
}

/// A number in 64 bits, the nearest to `reference` that has these lower 32.
#[inline]
fn extend(number: u32, reference: Option<u64>) -> u64 {
    match reference {
        None => ORIGIN + u64::from(number),
        Some(reference) => {
            reference.wrapping_add_signed(i64::from(number.wrapping_sub(reference as u32) as i32))
        }
    }
}

impl TcpSide {
    #[inline]
    pub fn take_from_client(&mut self, row: &PacketRow) {
        let flags = row.payload_type_or_flags;
        if flags & SYN != 0 {
            self.open(row);
            return;
        }
        if flags & ACK != 0 {
            self.hear_client(row);
        }
        if row.payload_bytes > 0 {
            self.ask(row);
        }
    }

    #[inline]
    pub fn take_from_server(&mut self, row: &PacketRow) {
        let flags = row.payload_type_or_flags;
        if flags & SYN != 0 {
            self.down.get_or_insert(extend(row.ssrc_or_sequence.wrapping_add(1), None));
            return;
        }
        let mut acknowledged = None;
        if flags & ACK != 0 {
            acknowledged = Some(self.hear_server(row));
        }
        if row.payload_bytes > 0 {
            let start = extend(row.ssrc_or_sequence, self.down);
            self.receive(start, start + u64::from(row.payload_bytes), row.time_ns, acknowledged);
        }
    }

    /// Begins anew with the first SYN, or one of another connection between the same ports.
    #[cold]
    fn open(&mut self, row: &PacketRow) {
        let start = row.ssrc_or_sequence.wrapping_add(1);
        let is_known = self.begun.len() == self.from && self.up.map(|up| up as u32) == Some(start);
        if !is_known {
            let from = self.begun.len();
            let begun = std::mem::take(&mut self.begun);
            *self = Self { up: Some(extend(start, None)), begun, from, ..Self::default() };
        }
    }

    /// What the client acknowledges has come, seen or not.
    #[inline]
    fn hear_client(&mut self, row: &PacketRow) {
        let heard = extend(row.timestamp_or_acknowledgement, self.down);
        let down = *self.down.get_or_insert(heard);
        // A FIN takes a number of its own.
        if heard > down + 1 && heard - down < LONGEST_STEP {
            self.receive(down, heard, row.time_ns, None);
        }
        if heard >= down {
            if let Some(begun) = self.begun.get_mut(self.owner) {
                begun.exchange.heard_ns.get_or_insert(row.time_ns);
            }
        }
    }

    /// What the server acknowledges was asked, seen or not; returns how far that is.
    #[inline]
    fn hear_server(&mut self, row: &PacketRow) -> u64 {
        let heard = extend(row.timestamp_or_acknowledgement, self.up);
        let up = *self.up.get_or_insert(heard);
        if heard > up + 1 && heard - up < LONGEST_STEP {
            let exchange = Exchange { request_bytes: heard - up, ..Exchange::default() };
            self.begun.push(Begun { exchange, request_end: heard, ..Begun::default() });
            self.up = Some(heard);
        }
        heard
    }

    fn ask(&mut self, row: &PacketRow) {
        let start = extend(row.ssrc_or_sequence, self.up);
        let end = start + u64::from(row.payload_bytes);
        let up = *self.up.get_or_insert(start);
        if end <= up || end - up > LONGEST_STEP {
            self.find_request(start, row.time_ns);
            return;
        }
        self.up = Some(end);
        let (is_handshake, begins) = (row.is(PacketRow::HANDSHAKE), row.is(PacketRow::MESSAGE));
        self.has_tls |= is_handshake;
        let is_tls = self.has_tls;
        let open = self.begun[self.from..].last_mut().filter(|open| {
            open.exchange.response_bytes == 0
                && !(open.is_handshake && begins && !is_handshake)
                && !(is_tls && is_control(open))
        });
        if let Some(open) = open {
            open.exchange.request_bytes += end - up;
            open.exchange.merged += u32::from(begins && !is_tls);
            open.request_end = end;
            return;
        }
        let exchange = Exchange {
            request_ns: Some(row.time_ns),
            request_bytes: end - up,
            ..Exchange::default()
        };
        self.begun.push(Begun { exchange, request_end: end, is_handshake, ..Begun::default() });
    }

    /// Sets the time of a request that an acknowledgement told of before it was seen.
    #[cold]
    fn find_request(&mut self, start: u64, time_ns: i64) {
        if let Some(last) = self.begun[self.from..].last_mut() {
            let exchange = &mut last.exchange;
            if exchange.request_ns.is_none() && start + exchange.request_bytes >= last.request_end {
                exchange.request_ns = Some(time_ns);
            }
        }
    }

    /// Takes bytes of the server, of which `acknowledged` of the client's it had heard.
    #[inline]
    fn receive(&mut self, start: u64, end: u64, time_ns: i64, acknowledged: Option<u64>) {
        let down = *self.down.get_or_insert(start);
        if start < down && !self.holes.is_empty() {
            self.fill(start, end.min(down), time_ns);
        }
        if end <= down || end - down > LONGEST_STEP {
            return;
        }
        if start > down {
            if self.holes.len() == MAX_HOLES {
                self.holes.remove(0);
            }
            self.holes.push((down, start));
        }
        let owner = self.find_owner(acknowledged, down);
        let exchange = &mut self.begun[owner].exchange;
        exchange.answer(end - down, time_ns);
        exchange.heard_ns = None;
        self.down = Some(end);
    }

    /// The last exchange whose request the server had heard of.
    #[inline]
    fn find_owner(&mut self, acknowledged: Option<u64>, down: u64) -> usize {
        let mut next = if self.owner == NONE { self.from } else { self.owner + 1 };
        let heard = acknowledged.unwrap_or(u64::MAX);
        let before = self.owner;
        while self.begun.get(next).is_some_and(|begun| begun.request_end <= heard) {
            self.owner = next;
            next += 1;
        }
        if self.owner == NONE {
            // The capture begins within a response, or the server speaks first.
            self.begun.insert(self.from, Begun::default());
            self.owner = self.from;
        }
        if self.owner != before {
            self.begun[self.owner].response_start = down;
        }
        self.owner
    }

    /// Bytes that were passed over come now: their response lasts until now.
    #[cold]
    fn fill(&mut self, start: u64, end: u64, time_ns: i64) {
        let mut filled = None;
        let mut left = Vec::with_capacity(self.holes.len() + 1);
        for &(low, high) in &self.holes {
            if end <= low || high <= start {
                left.push((low, high));
                continue;
            }
            filled.get_or_insert(low.max(start));
            if low < start {
                left.push((low, start));
            }
            if end < high {
                left.push((end, high));
            }
        }
        self.holes = left;
        let Some(at) = filled else { return };
        let known = self.begun[self.from..].iter_mut().rev();
        let mut answered = known.filter(|begun| begun.exchange.response_bytes > 0);
        if let Some(begun) = answered.find(|begun| begun.response_start <= at) {
            begun.exchange.answer(0, time_ns);
        }
    }

    /// The exchanges so far; records that ask for nothing are part of those before them.
    pub fn exchanges(&self) -> Vec<Exchange> {
        let mut found: Vec<Exchange> = Vec::with_capacity(self.begun.len());
        for (place, begun) in self.begun.iter().enumerate() {
            let asks_nothing = self.has_tls && is_control(begun);
            if let Some(before) = found.last_mut().filter(|_| asks_nothing && place > self.from) {
                before.take_over(&begun.exchange);
                continue;
            }
            let short = begun.exchange.response_bytes <= LONGEST_HANDSHAKE_BYTES;
            let is_control = (begun.is_handshake && short) || asks_nothing;
            found.push(Exchange { is_control, ..begun.exchange });
        }
        found
    }
}

fn is_control(begun: &Begun) -> bool {
    let bytes = begun.exchange.request_bytes;
    !begun.is_handshake && 0 < bytes && bytes <= LONGEST_TLS_CONTROL_BYTES
}

#[cfg(test)]
#[path = "tcp_tests.rs"]
mod unit_tests;
