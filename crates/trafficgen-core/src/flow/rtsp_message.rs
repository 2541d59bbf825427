//! An RTSP message that arrives in pieces, and the messages that are kept: both within limits that
//! no capture can lift.

use super::rtsp::RtspMessage;

const END_OF_HEADERS: &[u8] = b"\r\n\r\n";
const MAX_HEADER_BYTES: usize = 1 << 14;
const MAX_BODY_BYTES: usize = 1 << 16;
/// Bytes looked at in one go for the end of the headers: what lies behind the message is not copied
/// with it.
const PIECE_BYTES: usize = 512;
/// Messages kept in all, and their bytes; a camera that is asked for its parameters every second
/// must not fill the memory.
const MAX_MESSAGES: usize = 100_000;
const MAX_KEPT_BYTES: usize = 64 << 20;
/// Bytes of all messages that are not whole yet.
const MAX_HELD_BYTES: usize = 64 << 20;

/// A message that is not whole yet.
#[derive(Default)]
pub(super) struct Partial {
    pub time_ns: i64,
    text: Vec<u8>,
    /// Its length with the body, once the headers are whole.
    total_bytes: Option<usize>,
}

impl Partial {
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub fn is_whole(&self) -> bool {
        self.total_bytes.is_some_and(|total| self.text.len() >= total)
    }

    fn is_too_long(&self) -> bool {
        self.text.len() > MAX_HEADER_BYTES + MAX_BODY_BYTES
    }

    /// Takes what belongs to the message from the front of some bytes, and returns how many those
    /// are.
    fn take(&mut self, data: &[u8]) -> usize {
        let mut taken = 0;
        while taken < data.len() && !self.is_whole() && !self.is_too_long() {
            let wanted = self.total_bytes.map_or(PIECE_BYTES, |total| total - self.text.len());
            let piece = &data[taken..][..wanted.min(data.len() - taken)];
            let searched = self.text.len();
            self.text.extend_from_slice(piece);
            taken += piece.len();
            if self.total_bytes.is_none() {
                self.total_bytes = message_bytes(&self.text, searched);
                let surplus = self.text.len()
                    - self.total_bytes.map_or(self.text.len(), |total| total.min(self.text.len()));
                self.text.truncate(self.text.len() - surplus);
                taken -= surplus;
            }
        }
        taken
    }
}

/// Length of the message that a buffer begins with, body included, when its headers are whole; they
/// were not within the first `searched` bytes.
fn message_bytes(buffer: &[u8], searched: usize) -> Option<usize> {
    let from = searched.saturating_sub(END_OF_HEADERS.len() - 1);
    let found =
        buffer[from..].windows(END_OF_HEADERS.len()).position(|window| window == END_OF_HEADERS)?;
    let head = from + found;
    let body = buffer[..head]
        .split(|&byte| byte == b'\n')
        .filter_map(|line| std::str::from_utf8(line).ok()?.trim().split_once(':'))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse::<usize>().ok())
        .unwrap_or(0);
    Some(head + END_OF_HEADERS.len() + body.min(MAX_BODY_BYTES))
}

/// Messages that are kept, and how many bytes there are of them and of those that are not whole.
#[derive(Default)]
pub(super) struct Messages {
    kept: Vec<RtspMessage>,
    kept_bytes: usize,
    held_bytes: usize,
}

impl Messages {
    /// Gives a message what belongs to it, and returns how many bytes those are; forgets it where
    /// it grows too long.
    pub fn extend(&mut self, partial: &mut Partial, data: &[u8]) -> usize {
        let before = partial.text.len();
        let taken = partial.take(data);
        self.held_bytes = self.held_bytes + partial.text.len() - before;
        if !partial.is_whole() && (partial.is_too_long() || self.held_bytes > MAX_HELD_BYTES) {
            self.release(partial);
        }
        taken
    }

    /// Keeps a message as far as it came, if it is one, and makes room for the next.
    pub fn flush(
        &mut self,
        partial: &mut Partial,
        key: u32,
        forward: bool,
        is_message: fn(&[u8]) -> bool,
    ) {
        let time_ns = partial.time_ns;
        let mut text = self.release(partial);
        let room = self.kept.len() < MAX_MESSAGES && self.kept_bytes + text.len() <= MAX_KEPT_BYTES;
        if room && is_message(&text) {
            text.shrink_to_fit();
            self.kept_bytes += text.len();
            self.kept.push(RtspMessage { time_ns, key, forward, text });
        }
    }

    fn release(&mut self, partial: &mut Partial) -> Vec<u8> {
        let text = std::mem::take(partial).text;
        self.held_bytes -= text.len();
        text
    }

    /// All messages in order of time.
    pub fn finish(&mut self) -> Vec<RtspMessage> {
        let mut messages = std::mem::take(&mut self.kept);
        messages.sort_by_key(|message| (message.time_ns, message.key, !message.forward));
        messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_takes_its_own_bytes_and_no_more_however_it_is_cut() {
        let one = b"ANNOUNCE rtsp://h/c RTSP/1.0\r\nContent-Length: 600\r\n\r\n";
        let whole = [one.as_slice(), &[b'x'; 600]].concat();
        let stream = [whole.clone(), whole.clone()].concat();
        for piece in [1, 3, 511, 512, 513, 654, 2000] {
            let (mut messages, mut partial) = (Messages::default(), Partial::default());
            for mut data in stream.chunks(piece) {
                while !data.is_empty() {
                    data = &data[messages.extend(&mut partial, data)..];
                    if partial.is_whole() {
                        messages.flush(&mut partial, 0, true, |_| true);
                    }
                }
            }
            let texts: Vec<Vec<u8>> =
                messages.finish().into_iter().map(|message| message.text).collect();
            assert_eq!(texts, [whole.clone(), whole.clone()], "in pieces of {piece}");
            assert_eq!(messages.held_bytes, 0);
        }
    }

    #[test]
    fn what_never_ends_is_forgotten_and_what_is_kept_has_limits() {
        let (mut messages, mut partials) = (Messages::default(), Vec::new());
        for _ in 0..2000 {
            let mut partial = Partial::default();
            messages.extend(&mut partial, &[b'x'; MAX_HEADER_BYTES + MAX_BODY_BYTES]);
            partials.push(partial);
            assert!(messages.held_bytes <= MAX_HELD_BYTES);
        }
        for partial in &mut partials {
            messages.flush(partial, 0, true, |_| true);
        }
        assert!(messages.kept_bytes <= MAX_KEPT_BYTES && messages.held_bytes == 0);
        let mut endless = Partial::default();
        messages.extend(&mut endless, &[b'x'; 1 << 20]);
        assert!(endless.is_empty());
    }
}
