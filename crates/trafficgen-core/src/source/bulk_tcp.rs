//! A bulk flow over TCP or QUIC: a server that always has data, or a given number of bytes.

use rand::RngExt;

use crate::des::{ns, Agent, ConnectionId, End, FlowSpec, Io, Media, SessionEvent};
use crate::transport::quic::QuicConfig;
use crate::transport::TcpConfig;

#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    pub tcp: TcpConfig,
    /// None: it goes over TCP.
    pub quic: Option<QuicConfig>,
    /// Bytes to send; none: until it is stopped.
    pub bytes: Option<u64>,
    /// It starts up to this much late, evenly spread: programs do not start on the nanosecond.
    pub start_spread_s: f64,
}

#[derive(Debug)]
pub struct BulkTcp {
    tcp: TcpConfig,
    quic: Option<QuicConfig>,
    bytes_left: Option<u64>,
    start_spread_s: f64,
    connection: Option<ConnectionId>,
}

const OPEN: u32 = 0;

impl BulkTcp {
    pub fn new(parameters: Parameters) -> Result<Self, String> {
        parameters.tcp.validate()?;
        parameters.quic.map_or(Ok(()), |quic| quic.validate())?;
        let Parameters { tcp, quic, bytes, start_spread_s } = parameters;
        if !(0.0..=60.0).contains(&start_spread_s) {
            return Err(format!("start_spread_s must be from 0 to 60, not {start_spread_s}"));
        }
        Ok(Self { tcp, quic, bytes_left: bytes, start_spread_s, connection: None })
    }

    fn fill(&mut self, io: &mut Io, connection: ConnectionId) {
        match self.bytes_left.as_mut() {
            None => {
                io.write_bulk(connection, End::Server, u64::MAX / 4);
            }
            Some(left) => {
                *left -= io.write_bulk(connection, End::Server, *left);
                if *left == 0 {
                    io.close(connection, End::Server);
                    Self::end(io);
                }
            }
        }
    }

    fn end(io: &mut Io) {
        io.log(SessionEvent::End);
        io.finish();
    }
}

impl Agent for BulkTcp {
    fn start(&mut self, io: &mut Io) {
        let late: f64 = if self.start_spread_s > 0.0 {
            io.rng().random::<f64>() * self.start_spread_s
        } else {
            0.0
        };
        io.set_timer_in(OPEN, ns(late));
    }

    fn on_timer(&mut self, io: &mut Io, _timer: u32) {
        let spec = FlowSpec::new("bulk", Media::Bulk, 5001, 40_001);
        self.connection = Some(match &self.quic {
            Some(quic) => io.open_quic(spec, quic),
            None => io.open_tcp(spec, &self.tcp, &self.tcp),
        });
    }

    fn on_connected(&mut self, io: &mut Io, connection: ConnectionId, at: End) {
        if at == End::Server {
            self.fill(io, connection);
        }
    }

    fn on_writable(&mut self, io: &mut Io, connection: ConnectionId, at: End) {
        if at == End::Server {
            self.fill(io, connection);
        }
    }

    fn on_stop(&mut self, io: &mut Io) {
        io.clear_timer(OPEN);
        if let Some(connection) = self.connection {
            io.abort(connection);
        }
        Self::end(io);
    }
}
