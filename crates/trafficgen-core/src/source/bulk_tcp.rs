//! A bulk TCP flow: a server that always has data, or a given number of bytes.

use crate::des::{Agent, ConnectionId, End, FlowSpec, Io, Media, SessionEvent};
use crate::transport::TcpConfig;

#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    pub tcp: TcpConfig,
    /// Bytes to send; none: until it is stopped.
    pub bytes: Option<u64>,
}

#[derive(Debug)]
pub struct BulkTcp {
    tcp: TcpConfig,
    bytes_left: Option<u64>,
    connection: ConnectionId,
}

impl BulkTcp {
    pub fn new(parameters: Parameters) -> Result<Self, String> {
        parameters.tcp.validate()?;
        Ok(Self { tcp: parameters.tcp, bytes_left: parameters.bytes, connection: 0 })
    }

    fn fill(&mut self, io: &mut Io) {
        match self.bytes_left.as_mut() {
            None => {
                io.write_bulk(self.connection, End::Server, u64::MAX / 4);
            }
            Some(left) => {
                *left -= io.write_bulk(self.connection, End::Server, *left);
                if *left == 0 {
                    self.end(io);
                }
            }
        }
    }

    fn end(&mut self, io: &mut Io) {
        io.close(self.connection, End::Server);
        io.log(SessionEvent::End);
        io.finish();
    }
}

impl Agent for BulkTcp {
    fn start(&mut self, io: &mut Io) {
        let spec = FlowSpec::new("bulk", Media::Bulk, 5001, 40_001);
        self.connection = io.open_tcp(spec, &self.tcp, &self.tcp);
    }

    fn on_connected(&mut self, io: &mut Io, _connection: ConnectionId, at: End) {
        if at == End::Server {
            self.fill(io);
        }
    }

    fn on_writable(&mut self, io: &mut Io, _connection: ConnectionId, at: End) {
        if at == End::Server {
            self.fill(io);
        }
    }

    fn on_stop(&mut self, io: &mut Io) {
        io.abort(self.connection);
        io.log(SessionEvent::End);
        io.finish();
    }
}
