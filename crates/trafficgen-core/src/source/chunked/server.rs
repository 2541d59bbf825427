//! The server: it writes what it was asked for into the send buffers of its connections.

use std::collections::VecDeque;

use crate::des::{ConnectionId, End, Io, Label};
use crate::transport::quic::StreamId;

/// A response is written in pieces of at most this, so that any send buffer takes it.
pub const PIECE_BYTES: u32 = 16 * 1024;

/// A part of a response.
#[derive(Clone, Copy, Debug)]
struct Piece {
    bytes: u32,
    tag: u64,
    label: Label,
}

/// What is still to be written, connection by connection.
#[derive(Debug, Default)]
pub struct Server {
    connections: Vec<(ConnectionId, VecDeque<Piece>)>,
}

/// Tag of a piece: the request it answers, and whether it is the last of the answer.
pub fn answered_by(tag: u64) -> (usize, bool) {
    ((tag >> 1) as usize, tag & 1 == 1)
}

/// Over QUIC each request has a stream of its own.
pub fn stream_of(request: u64) -> StreamId {
    request as StreamId
}

impl Server {
    /// A request has come: the answer to request number `request` is `bytes` long.
    pub fn answer(
        &mut self,
        io: &mut Io,
        connection: ConnectionId,
        request: usize,
        bytes: u32,
        label: Label,
    ) {
        let queue = self.queue(connection);
        let mut left = bytes;
        while left > 0 {
            let size = left.min(PIECE_BYTES);
            left -= size;
            queue.push_back(Piece {
                bytes: size,
                tag: (request as u64) << 1 | u64::from(left == 0),
                label,
            });
        }
        self.write(io, connection);
    }

    /// Write as many pieces as the send buffer takes.
    pub fn write(&mut self, io: &mut Io, connection: ConnectionId) {
        let queue = self.queue(connection);
        while let Some(piece) = queue.front() {
            let Piece { bytes, tag, label } = *piece;
            let stream = stream_of(tag >> 1);
            if !io.write_into(connection, End::Server, stream, bytes, tag, label) {
                return;
            }
            queue.pop_front();
        }
    }

    fn queue(&mut self, connection: ConnectionId) -> &mut VecDeque<Piece> {
        let known = self.connections.iter().position(|(number, _)| *number == connection);
        let place = known.unwrap_or_else(|| {
            self.connections.push((connection, VecDeque::new()));
            self.connections.len() - 1
        });
        &mut self.connections[place].1
    }
}
