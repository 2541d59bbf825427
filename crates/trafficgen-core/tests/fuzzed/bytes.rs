//! Numbers and pieces from the fuzzer's bytes; zeros where they are used up.

pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub fn array<const COUNT: usize>(&mut self) -> [u8; COUNT] {
        let mut found = [0; COUNT];
        let taken = self.piece(COUNT);
        found[..taken.len()].copy_from_slice(taken);
        found
    }

    pub fn byte(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    pub fn i64(&mut self) -> i64 {
        i64::from_le_bytes(self.array())
    }

    pub fn piece(&mut self, length: usize) -> &'a [u8] {
        let (piece, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        piece
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
