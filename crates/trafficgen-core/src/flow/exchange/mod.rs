//! Exchanges: a request of the client and the response to it, on one connection (the a-b pairs of
//! connection vectors: Hernández-Campos, Jeffay, Smith 2006).

mod datagram;
mod tcp;

use super::row::PacketRow;
use datagram::Datagrams;
use tcp::TcpSide;

/// Connections whose exchanges are measured; later ones of a network's millions are not.
const MAX_CONNECTIONS: usize = 65_536;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// A request and its response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// `None` where the capture does not have the request.
    pub request_ns: Option<i64>,
    pub request_bytes: u64,
    /// `None` where nothing was answered.
    pub first_byte_ns: Option<i64>,
    pub last_byte_ns: Option<i64>,
    /// When the client had heard of the whole response, as far as the capture's place shows it.
    pub heard_ns: Option<i64>,
    pub response_bytes: u64,
    /// Further requests that came before the response and are not told apart from it.
    pub merged: u32,
    /// Part of the handshake, or a few bytes that ask for nothing.
    pub is_control: bool,
}

impl Exchange {
    /// Adds response bytes that came at a time.
    fn answer(&mut self, bytes: u64, time_ns: i64) {
        self.response_bytes += bytes;
        self.first_byte_ns.get_or_insert(time_ns);
        self.last_byte_ns = Some(self.last_byte_ns.map_or(time_ns, |last| last.max(time_ns)));
    }

    /// Adds the response of what proved to be no request of its own.
    fn take_over(&mut self, other: &Self) {
        self.response_bytes += other.response_bytes;
        self.first_byte_ns = self.first_byte_ns.or(other.first_byte_ns);
        self.last_byte_ns = self.last_byte_ns.max(other.last_byte_ns);
        self.heard_ns = self.heard_ns.max(other.heard_ns);
    }
}

/// What was found on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exchanges {
    Found(Vec<Exchange>),
    /// Datagrams whose requests are not told from acknowledgements by their sizes.
    Untold,
}

enum Connection {
    /// Index 0: as if the initiator were the client, 1: as if the responder were. One alone where
    /// the SYN was seen.
    Tcp([Option<TcpSide>; 2]),
    Datagrams(Datagrams),
}

/// Measures exchanges row by row; `flow` of a row is the meter's number.
#[derive(Default)]
pub struct ExchangeMeter {
    connections: Vec<Option<Box<Connection>>>,
    begun: usize,
}

impl ExchangeMeter {
    /// Takes rows in order of time.
    pub fn update(&mut self, rows: &[PacketRow]) {
        for row in rows {
            if !row.is(PacketRow::TCP | PacketRow::DATAGRAM) {
                continue;
            }
            let flow = row.flow as usize;
            match self.connections.get_mut(flow) {
                Some(Some(connection)) => connection.take(row),
                _ => self.begin(row),
            }
        }
    }

    #[cold]
    fn begin(&mut self, row: &PacketRow) {
        if self.begun == MAX_CONNECTIONS {
            return;
        }
        self.begun += 1;
        let mut connection = Box::new(if row.is(PacketRow::TCP) {
            Connection::tcp(row)
        } else {
            Connection::Datagrams(Datagrams::default())
        });
        connection.take(row);
        let flow = row.flow as usize;
        if flow >= self.connections.len() {
            self.connections.resize_with(flow + 1, || None);
        }
        self.connections[flow] = Some(connection);
    }

    /// The exchanges of a flow; `None` where it is no connection that could have any.
    pub fn of_flow(&self, flow: u32, initiator_is_client: bool) -> Option<Exchanges> {
        match self.connections.get(flow as usize)?.as_deref()? {
            Connection::Tcp(sides) => {
                let side = sides[usize::from(!initiator_is_client)].as_ref()?;
                Some(Exchanges::Found(side.exchanges())).filter(|found| !found.is_empty())
            }
            Connection::Datagrams(datagrams) => datagrams.exchanges(initiator_is_client),
        }
    }
}

impl Exchanges {
    fn is_empty(&self) -> bool {
        matches!(self, Self::Found(found) if found.is_empty())
    }
}

impl Connection {
    fn tcp(row: &PacketRow) -> Self {
        let flags = row.payload_type_or_flags;
        if flags & SYN == 0 {
            return Self::Tcp([Some(TcpSide::default()), Some(TcpSide::default())]);
        }
        // The SYN is the client's, the SYN with ACK the server's.
        let initiator = row.is(PacketRow::FORWARD) == (flags & ACK == 0);
        Self::Tcp([initiator, !initiator].map(|is_client| is_client.then(TcpSide::default)))
    }

    #[inline]
    fn take(&mut self, row: &PacketRow) {
        match self {
            Self::Tcp(sides) => {
                for (client, side) in sides.iter_mut().enumerate() {
                    match side {
                        Some(side) if row.direction() == client => side.take_from_client(row),
                        Some(side) => side.take_from_server(row),
                        None => {}
                    }
                }
            }
            Self::Datagrams(datagrams) => datagrams.take(row),
        }
    }
}
