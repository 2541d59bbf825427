//! The ClientHello in the first packets of QUIC: in the plain in Google's QUIC, hidden from nobody
//! in Initial packets, whose keys follow from a connection id that they show (RFC 9001, 5.2).
//!
//! Packets are not authenticated, so that captures that cut packets serve too: what does not parse
//! is no ClientHello.

use std::ops::Range;

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aes::Aes128;
use hkdf::Hkdf;
use sha2::Sha256;

use super::label_text::{client_hello_name, Cursor};

/// Bytes of a ClientHello that are held, and pieces that it may come in.
const MAX_HELLO_BYTES: u64 = 8192;
const MAX_PIECES: usize = 64;
/// Bytes after the start of the packet number's field at which the sample for its mask begins, and
/// those of the authentication tag (RFC 9001, 5.4.2 and 5.3).
const SAMPLE_AFTER: usize = 4;
const TAG_BYTES: usize = 16;

/// A version with Initial packets that can be opened.
struct Version {
    salt: [u8; 20],
    /// Type bits of an Initial packet.
    initial: u8,
    labels: [&'static str; 3],
}

const LABELS: [&str; 3] = ["quic key", "quic iv", "quic hp"];
const V1: Version = Version {
    salt: [
        0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c,
        0xad, 0xcc, 0xbb, 0x7f, 0x0a,
    ],
    initial: 0,
    labels: LABELS,
};
/// RFC 9369, 3.3.
const V2: Version = Version {
    salt: [
        0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26, 0x9d,
        0xcb, 0xf9, 0xbd, 0x2e, 0xd9,
    ],
    initial: 1,
    labels: ["quicv2 key", "quicv2 iv", "quicv2 hp"],
};
const DRAFTS_29_TO_32: Version = Version {
    salt: [
        0xaf, 0xbf, 0xec, 0x28, 0x99, 0x93, 0xd2, 0x4c, 0x9e, 0x97, 0x86, 0xf1, 0x9c, 0x61, 0x11,
        0xe0, 0x43, 0x90, 0xa8, 0x99,
    ],
    initial: 0,
    labels: LABELS,
};

/// Pieces of a ClientHello that is to be put together.
#[derive(Default)]
pub(super) struct Hello {
    pieces: Vec<(usize, Vec<u8>)>,
}

impl Hello {
    /// Adds what a datagram has of the ClientHello; its name once that is there. `Some(None)`: it
    /// has none.
    pub fn add(&mut self, datagram: &[u8]) -> Option<Option<Vec<u8>>> {
        if let Some(name) = google_name(datagram) {
            return Some(Some(name.to_vec()));
        }
        self.add_initial(datagram)?;
        let bytes = self.first_bytes();
        // Type, length and version of a ClientHello (RFC 8446, 4).
        if !matches!(bytes[..], [1, 0, _, _, 3, 3, ..]) {
            return None;
        }
        client_hello_name(&bytes).map(|name| name.map(<[u8]>::to_vec))
    }

    /// The bytes from the beginning on, as far as they are there.
    fn first_bytes(&mut self) -> Vec<u8> {
        self.pieces.sort_by_key(|piece| piece.0);
        let mut bytes = Vec::new();
        for (offset, piece) in &self.pieces {
            let Some(overlap) = bytes.len().checked_sub(*offset) else { break };
            bytes.extend_from_slice(piece.get(overlap..).unwrap_or(&[]));
        }
        bytes
    }

    /// Adds the pieces of the Initial packet that begins a datagram.
    fn add_initial(&mut self, datagram: &[u8]) -> Option<()> {
        let frames = open_initial(datagram)?;
        let mut cursor = Cursor { rest: &frames };
        while let Some(kind) = cursor.u8() {
            match kind {
                0 | 1 => {} // PADDING, PING (RFC 9000, 19)
                2 | 3 => cursor.acknowledgement(kind == 3)?,
                6 => {
                    let (offset, length) = (cursor.varint()?, cursor.varint()?);
                    if offset.checked_add(length)? > MAX_HELLO_BYTES {
                        return None;
                    }
                    let piece = cursor.rest.get(..length as usize).unwrap_or(cursor.rest);
                    cursor.take(piece.len())?;
                    let held: usize = self.pieces.iter().map(|piece| piece.1.len()).sum();
                    let has_room = held + piece.len() <= MAX_HELLO_BYTES as usize;
                    if has_room && self.pieces.len() < MAX_PIECES {
                        self.pieces.push((offset as usize, piece.to_vec()));
                    }
                }
                _ => return None,
            }
        }
        Some(())
    }
}

impl Cursor<'_> {
    /// Reads a number of variable length (RFC 9000, 16).
    fn varint(&mut self) -> Option<u64> {
        let first = self.u8()?;
        let rest = self.take((1 << (first >> 6)) - 1)?;
        Some(rest.iter().fold(u64::from(first & 0x3f), |value, &byte| value << 8 | u64::from(byte)))
    }

    /// Reads over an ACK frame (RFC 9000, 19.3).
    fn acknowledgement(&mut self, has_ecn: bool) -> Option<()> {
        let (_, _, ranges) = (self.varint()?, self.varint()?, self.varint()?);
        let numbers = ranges.checked_mul(2)?.checked_add(if has_ecn { 4 } else { 1 })?;
        (0..numbers).try_for_each(|_| self.varint().map(|_| ()))
    }
}

/// The frames of a client's first Initial packet, as far as the capture has them.
fn open_initial(datagram: &[u8]) -> Option<Vec<u8>> {
    let mut cursor = Cursor { rest: datagram };
    let flags = cursor.u8()?;
    let version = match cursor.take(4)? {
        [0, 0, 0, 1] => V1,
        [0x6b, 0x33, 0x43, 0xcf] => V2,
        [0xff, 0, 0, 29..=32] => DRAFTS_29_TO_32,
        _ => return None,
    };
    if flags & 0x30 != version.initial << 4 {
        return None;
    }
    let destination = cursor.u8()?;
    let destination = cursor.take(destination.into())?;
    let source = cursor.u8()?;
    cursor.take(source.into())?;
    let token = cursor.varint()?;
    cursor.take(usize::try_from(token).ok()?)?;
    let length = usize::try_from(cursor.varint()?).ok()?;
    let head = datagram.len() - cursor.rest.len();
    let body = head..head.checked_add(length)?;
    decrypt(datagram, body, &version, destination)
}

/// Takes the mask off the header, and the key off what follows it.
fn decrypt(
    datagram: &[u8],
    body: Range<usize>,
    version: &Version,
    connection: &[u8],
) -> Option<Vec<u8>> {
    let (key, iv, mask) = client_keys(version, connection)?;
    let sample = datagram.get(body.start + SAMPLE_AFTER..)?.get(..16)?;
    let mask = encrypt(&Aes128::new(&mask.into()), sample.try_into().ok()?);
    let flags = datagram[0] ^ mask[0] & 0x0f;
    if flags & 0x0c != 0 {
        return None; // reserved bits: these keys are not those of the packet
    }
    let number_bytes = usize::from(flags & 3) + 1;
    let number = datagram[body.start..body.start + number_bytes]
        .iter()
        .zip(&mask[1..])
        .fold(0, |number, (byte, mask)| number << 8 | u32::from(byte ^ mask));
    let end = body.end.checked_sub(TAG_BYTES)?.min(datagram.len());
    let mut frames = datagram.get(body.start + number_bytes..end)?.to_vec();
    let mut nonce = iv;
    nonce.iter_mut().rev().zip(number.to_le_bytes()).for_each(|(byte, part)| *byte ^= part);
    let cipher = Aes128::new(&key.into());
    // AES-128-GCM (NIST SP 800-38D) counts blocks from 2 on; block 1 is the tag's.
    for (count, block) in (2_u32..).zip(frames.chunks_mut(16)) {
        let mut counter = [0; 16];
        counter[..12].copy_from_slice(&nonce);
        counter[12..].copy_from_slice(&count.to_be_bytes());
        let stream = encrypt(&cipher, counter);
        block.iter_mut().zip(stream).for_each(|(byte, key)| *byte ^= key);
    }
    Some(frames)
}

/// Key, nonce and header key of a client's Initial packets to a connection id.
fn client_keys(version: &Version, connection: &[u8]) -> Option<([u8; 16], [u8; 12], [u8; 16])> {
    let secret: [u8; 32] = expand(&Hkdf::new(Some(&version.salt), connection), "client in")?;
    let keys = Hkdf::from_prk(&secret).ok()?;
    let [key, iv, mask] = version.labels;
    Some((expand(&keys, key)?, expand(&keys, iv)?, expand(&keys, mask)?))
}

fn encrypt(cipher: &Aes128, block: [u8; 16]) -> [u8; 16] {
    let mut block = block.into();
    cipher.encrypt_block(&mut block);
    block.into()
}

/// HKDF-Expand-Label without a context (RFC 8446, 7.1).
fn expand<const N: usize>(keys: &Hkdf<Sha256>, label: &str) -> Option<[u8; N]> {
    let (length, label_bytes) = ((N as u16).to_be_bytes(), (label.len() + 6) as u8);
    let info: [&[u8]; 5] = [&length, &[label_bytes], b"tls13 ", label.as_bytes(), &[0]];
    let mut out = [0; N];
    keys.expand_multi_info(&info, &mut out).ok()?;
    Some(out)
}

/// The tag SNI of a ClientHello of Google's QUIC, which is a list of tags with the ends of their
/// values (QUIC Crypto, 2016).
fn google_name(datagram: &[u8]) -> Option<&[u8]> {
    const SEARCHED: usize = 64;
    let start = datagram.get(..SEARCHED)?.windows(4).position(|text| text == b"CHLO")?;
    let mut cursor = Cursor { rest: &datagram[start + 4..] };
    let count = usize::from(cursor.u16()?.swap_bytes());
    cursor.take(2)?;
    let tags = cursor.take(count.checked_mul(8)?)?;
    let mut begin = 0;
    for tag in tags.chunks_exact(8) {
        let end = u32::from_le_bytes([tag[4], tag[5], tag[6], tag[7]]) as usize;
        if tag[..4] == *b"SNI\0" {
            return cursor.rest.get(begin..end);
        }
        begin = end;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The beginning of the packet of RFC 9001, appendix A.2, up to the end of its ClientHello.
    const EXAMPLE: &str = "\
        c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11\
        d242b123dc9bd8bab936b47d92ec356c0bab7df5976d27cd449f63300099f399\
        1c260ec4c60d17b31f8429157bb35a1282a643a8d2262cad67500cadb8e7378c\
        8eb7539ec4d4905fed1bee1fc8aafba17c750e2c7ace01e6005f80fcb7df6212\
        30c83711b39343fa028cea7f7fb5ff89eac2308249a02252155e2347b63d58c5\
        457afd84d05dfffdb20392844ae812154682e9cf012f9021a6f0be17ddd0c208\
        4dce25ff9b06cde535d0f920a2db1bf362c23e596d11a4f5a6cf3948838a3aec\
        4e15daf8500a6ef69ec4e3feb6b1d98e610ac8b7ec3faf6ad760b7bad1db4ba3\
        485e8a94dc250ae3fdb41ed15fb6a8e5eba0fc3dd60bc8e30c5c4287e53805db";

    fn bytes_of(hex: &str) -> Vec<u8> {
        let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
        digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
    }

    /// An Initial packet of a client, sealed but for its tag.
    fn seal(version: &Version, number: [u8; 4], head: &[u8], frames: &[u8]) -> Vec<u8> {
        let connection = [7; 8];
        let length = (4 + frames.len() + TAG_BYTES) as u16 | 0x4000;
        let start = [head, &[8], &connection, &[0, 0], &length.to_be_bytes()].concat();
        // The mask is taken off by putting it on: an opened packet is one that is to be sealed.
        let (key, iv, mask) = client_keys(version, &connection).expect("keys");
        let mut nonce = iv;
        nonce[8..].iter_mut().zip(number).for_each(|(byte, part)| *byte ^= part);
        let cipher = Aes128::new(&key.into());
        let mut sealed = [frames, &[0; TAG_BYTES]].concat();
        for (count, block) in (2_u32..).zip(sealed.chunks_mut(16)) {
            let counter: Vec<u8> = [&nonce[..], &count.to_be_bytes()].concat();
            let stream = encrypt(&cipher, counter.try_into().expect("16 bytes"));
            block.iter_mut().zip(stream).for_each(|(byte, key)| *byte ^= key);
        }
        let mask = encrypt(&Aes128::new(&mask.into()), sealed[..16].try_into().expect("16 bytes"));
        let mut packet = [&start[..], &number, &sealed].concat();
        packet[0] ^= (mask[0] & 0x0f) ^ 3;
        for (byte, mask) in packet[start.len()..].iter_mut().zip(&mask[1..5]) {
            *byte ^= mask;
        }
        packet
    }

    fn crypto(offset: u8, bytes: &[u8]) -> Vec<u8> {
        [&[6, 0x40, offset, 0x40, bytes.len() as u8], bytes].concat()
    }

    /// The ClientHello of the example: the first frame's 241 bytes.
    fn example_hello() -> Vec<u8> {
        open_initial(&bytes_of(EXAMPLE)).expect("frames")[4..][..241].to_vec()
    }

    #[test]
    fn keys_are_those_of_the_standards() {
        let connection = bytes_of("8394c8f03e515708");
        let (key, iv, mask) = client_keys(&V1, &connection).expect("keys");
        assert_eq!(key.to_vec(), bytes_of("1f369613dd76d5467730efcbe3b1a22d"));
        assert_eq!(iv.to_vec(), bytes_of("fa044b2f42a3fd3b46fb255c"));
        assert_eq!(mask.to_vec(), bytes_of("9f50449e04a0e810283a1e9933adedd2"));
        let (key, iv, mask) = client_keys(&V2, &connection).expect("keys"); // RFC 9369, A.1
        assert_eq!(key.to_vec(), bytes_of("8b1a0bc121284290a29e0971b5cd045d"));
        assert_eq!(iv.to_vec(), bytes_of("91f73e2351d8fa91660e909f"));
        assert_eq!(mask.to_vec(), bytes_of("45b95e15235d6f45a6b19cbcb0294ba9"));
    }

    #[test]
    fn the_example_of_the_standard_has_its_name() {
        let name = Hello::default().add(&bytes_of(EXAMPLE));
        assert_eq!(name, Some(Some(b"example.com".to_vec())));
        assert_eq!(Hello::default().add(&bytes_of(EXAMPLE)[..60]), None);
    }

    #[test]
    fn pieces_come_in_any_order_and_packet() {
        let hello = example_hello();
        let heads = [(V1, vec![0xc0, 0, 0, 0, 1]), (V2, vec![0xd0, 0x6b, 0x33, 0x43, 0xcf])];
        for (version, head) in heads {
            let late = [&[1, 2, 0x10, 0x20, 0, 0][..], &crypto(40, &hello[40..]), &[0; 9]].concat();
            let early = [crypto(30, &hello[30..60]), crypto(0, &hello[..30])].concat();
            let mut put_together = Hello::default();
            assert_eq!(put_together.add(&seal(&version, [0, 0, 0, 9], &head, &late)), None);
            let name = put_together.add(&seal(&version, [1, 2, 3, 4], &head, &early));
            assert_eq!(name, Some(Some(b"example.com".to_vec())));
        }
    }

    #[test]
    fn pieces_that_overlap_take_little() {
        let frame = [&[6, 0x41, 0, 0x4f, 0xa0][..], &[0; 4000]].concat(); // 4,000 bytes from 256 on
        let mut hello = Hello::default();
        for number in 0..8 {
            let packet = seal(&V1, [0, 0, 0, number], &[0xc0, 0, 0, 0, 1], &frame);
            assert_eq!(hello.add(&packet), None);
        }
        let held: usize = hello.pieces.iter().map(|piece| piece.1.len()).sum();
        assert_eq!(held, 8000);
    }

    #[test]
    fn google_tags_are_read() {
        let tags = b"CHLO\x02\0\0\0PAD\0\x03\0\0\0SNI\0\x0e\0\0\0...www.example";
        let packet = [&[0x0d; 30][..], tags, &[0; 40]].concat();
        assert_eq!(Hello::default().add(&packet), Some(Some(b"www.example".to_vec())));
        assert_eq!(google_name(&packet[..63]), None);
    }

    proptest! {
        #[test]
        fn damaged_packets_are_no_harm(
            bytes in prop::collection::vec(any::<u8>(), 0..100),
            at in 0_usize..300,
            end in 0_usize..300,
        ) {
            let mut damaged = bytes_of(EXAMPLE);
            for (place, &byte) in damaged.iter_mut().skip(at).zip(&bytes) {
                *place = byte;
            }
            damaged.truncate(end);
            let mut hello = Hello::default();
            hello.add(&damaged);
            hello.add(&bytes);
            // Any frames at all, well sealed.
            hello.add(&seal(&V1, [0; 4], &[0xc0, 0, 0, 0, 1], &[&bytes[..], &[0; 20]].concat()));
            prop_assert!(hello.pieces.len() <= MAX_PIECES);
        }
    }
}
