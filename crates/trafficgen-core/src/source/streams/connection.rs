//! A TCP connection of a source of streams: files that wait for room in the send buffer.

use std::collections::VecDeque;

use crate::des::{ConnectionId, End, Io, Label, Phase};

/// Tags of messages: the end of a file, a part before it, a request.
pub const LAST: u64 = 1;
const PART: u64 = 0;
const REQUEST: u64 = 2;
/// Files are written in parts of this size.
const PART_BYTES: u32 = 65_536;

#[derive(Debug)]
pub struct Connection {
    pub id: ConnectionId,
    pub flow: usize,
    pub sender: End,
    /// Whether it ends with its file.
    pub closes: bool,
    /// Bytes that are left of each file.
    files: VecDeque<u32>,
    /// A request that waits for the connection.
    request: Option<u32>,
    server_is_open: bool,
    client_is_open: bool,
    /// Files that have not arrived.
    under_way: usize,
}

impl Connection {
    pub fn new(id: ConnectionId, flow: usize, sender: End, closes: bool) -> Self {
        Self {
            id,
            flow,
            sender,
            closes,
            files: VecDeque::new(),
            request: None,
            server_is_open: false,
            client_is_open: false,
            under_way: 0,
        }
    }

    pub fn is_over(&self) -> bool {
        self.under_way == 0
    }

    fn is_open(&self, end: End) -> bool {
        match end {
            End::Server => self.server_is_open,
            End::Client => self.client_is_open,
        }
    }

    pub fn connected(&mut self, io: &mut Io, at: End) {
        match at {
            End::Server => self.server_is_open = true,
            End::Client => self.client_is_open = true,
        }
        if at == self.sender {
            self.flush(io);
        } else if let Some(bytes) = self.request.take() {
            self.ask(io, bytes);
        }
    }

    /// Let the receiver ask for an object.
    pub fn ask(&mut self, io: &mut Io, bytes: u32) {
        let receiver = self.sender.peer();
        if self.is_open(receiver) {
            io.write(self.id, receiver, bytes, REQUEST, Label::of(Phase::Signalling));
        } else {
            self.request = Some(bytes);
        }
    }

    pub fn put(&mut self, bytes: u32) {
        self.files.push_back(bytes.max(1));
        self.under_way += 1;
    }

    /// Write as much as there is room for.
    pub fn flush(&mut self, io: &mut Io) {
        while let (true, Some(left)) = (self.is_open(self.sender), self.files.front_mut()) {
            let part = (*left).min(PART_BYTES);
            let tag = if part == *left { LAST } else { PART };
            if !io.write(self.id, self.sender, part, tag, Label::of(Phase::Playout)) {
                return;
            }
            *left -= part;
            if *left == 0 {
                self.files.pop_front();
            }
        }
    }

    /// A file has arrived.
    pub fn delivered(&mut self, io: &mut Io) {
        self.under_way = self.under_way.saturating_sub(1);
        if self.closes && self.under_way == 0 {
            io.close(self.id, self.sender);
        }
    }
}
