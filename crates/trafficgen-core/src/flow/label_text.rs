//! Names in the first bytes of TLS, HTTP and DNS. All input may be damaged or hostile: what runs
//! beyond the bytes that are there is no name.

use std::net::IpAddr;

use super::label::{address_of, Application};

/// Longest name in DNS (RFC 1035, 2.3.4).
const MAX_NAME_BYTES: usize = 253;
const MAX_ANSWERS: u16 = 64;
/// Head of a TLS record (RFC 8446, 5.1).
const RECORD_BYTES: usize = 5;
const METHODS: [&[u8]; 8] =
    [b"GET ", b"POST ", b"HEAD ", b"PUT ", b"OPTIONS ", b"CONNECT ", b"DELETE ", b"PATCH "];

/// What the first bytes of one direction of a TCP connection are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request<'a> {
    Other,
    /// More bytes are needed for the name.
    Begun(Application),
    Whole(Application, Option<&'a [u8]>),
}

/// Reads the first bytes of a TCP stream. `cut`: no more of the same request will come.
pub(super) fn first_request(bytes: &[u8], cut: bool) -> Request<'_> {
    let (application, name) = match bytes {
        // A TLS record with a ClientHello (1) or ServerHello (2).
        [0x16, 3, _, _, _, 1, ..] => (Application::Tls, client_hello_name(&bytes[RECORD_BYTES..])),
        [0x16, 3, _, _, _, 2, ..] => (Application::Tls, Some(None)),
        _ if bytes.starts_with(b"HTTP/1.") || bytes.starts_with(b"PRI * HTTP/2") => {
            (Application::Http, Some(None))
        }
        _ if METHODS.iter().any(|method| bytes.starts_with(method)) => {
            match lines(bytes).next() {
                Some(line) if !contains(line, b" HTTP/1.") => return Request::Other, // RTSP
                None if cut => return Request::Other,
                _ => (Application::Http, host_header(bytes)),
            }
        }
        _ => return Request::Other,
    };
    match name {
        Some(name) => Request::Whole(application, name),
        None if cut => Request::Whole(application, None),
        None => Request::Begun(application),
    }
}

/// The name as it may be printed: lower case without the port; `None` where it is an address or has
/// what no host name has.
pub(super) fn host_name(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes.get(..MAX_NAME_BYTES + 7).unwrap_or(bytes)).ok()?;
    let text = text.trim_matches([' ', '\t']);
    let host = match text.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => text,
    };
    let host = host.trim_end_matches('.');
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_name = !host.is_empty()
        && host.len() <= MAX_NAME_BYTES
        && host.bytes().all(is_allowed)
        && host.parse::<IpAddr>().is_err();
    is_name.then(|| host.to_ascii_lowercase())
}

/// The name that a DNS response was asked for, and its addresses.
pub(super) fn dns_answers(payload: &[u8]) -> Option<(Vec<u8>, Vec<IpAddr>)> {
    let mut cursor = Cursor { rest: payload };
    cursor.take(2)?;
    let flags = cursor.u16()?;
    let (questions, answers) = (cursor.u16()?, cursor.u16()?);
    cursor.take(4)?;
    // A response (RFC 1035, 4.1.1) to a standard query, without an error.
    if flags & 0xf80f != 0x8000 || questions != 1 {
        return None;
    }
    let mut name = Vec::new();
    cursor.domain(&mut name)?;
    cursor.take(4)?;
    let mut addresses = Vec::new();
    for _ in 0..answers.min(MAX_ANSWERS) {
        let Some((kind, data)) = cursor.answer() else { break };
        addresses.extend(address_of(kind, data));
    }
    Some((name, addresses))
}

/// The name in a ClientHello (RFC 8446, 4.1.2; RFC 6066, 3): `None` where it goes on beyond the
/// bytes, `Some(None)` where it has none.
pub(super) fn client_hello_name(bytes: &[u8]) -> Option<Option<&[u8]>> {
    let mut cursor = Cursor { rest: bytes };
    cursor.take(4 + 2 + 32)?; // type and length, version, random
    let session = cursor.u8()?;
    cursor.take(session.into())?;
    let ciphers = cursor.u16()?;
    cursor.take(ciphers.into())?;
    let compressions = cursor.u8()?;
    cursor.take(compressions.into())?;
    let mut left = usize::from(cursor.u16()?);
    while left >= 4 {
        let (kind, length) = (cursor.u16()?, usize::from(cursor.u16()?));
        let body = cursor.take(length)?;
        if kind == 0 {
            return Some(server_name(body));
        }
        left = left.saturating_sub(4 + length);
    }
    Some(None)
}

/// The first name of the extension server_name.
fn server_name(body: &[u8]) -> Option<&[u8]> {
    let mut cursor = Cursor { rest: body };
    cursor.take(2)?;
    let kind = cursor.u8()?;
    let length = cursor.u16()?;
    let name = cursor.take(length.into())?;
    (kind == 0).then_some(name)
}

/// The value of the header Host: `None` where the headers go on beyond the bytes.
fn host_header(bytes: &[u8]) -> Option<Option<&[u8]>> {
    for line in lines(bytes) {
        if line.is_empty() {
            return Some(None);
        }
        if line.len() >= 5 && line[..5].eq_ignore_ascii_case(b"host:") {
            return Some(Some(&line[5..]));
        }
    }
    None
}

/// Lines whose end is there.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes
        .split_inclusive(|&byte| byte == b'\n')
        .filter_map(|line| line.strip_suffix(b"\n"))
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

fn contains(line: &[u8], text: &[u8]) -> bool {
    line.windows(text.len()).any(|window| window == text)
}

/// Bytes still to be read; what is beyond them is `None`.
pub(super) struct Cursor<'a> {
    pub rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.rest.get(..count)?;
        self.rest = &self.rest[count..];
        Some(taken)
    }

    pub fn u8(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// Reads a domain name, with dots; one that points elsewhere ends there.
    fn domain(&mut self, name: &mut Vec<u8>) -> Option<()> {
        loop {
            let length = self.u8()?;
            match length >> 6 {
                0 if length == 0 => return Some(()),
                0 => {
                    let label = self.take(length.into())?;
                    if !name.is_empty() {
                        name.push(b'.');
                    }
                    name.extend_from_slice(label);
                }
                3 => return self.take(1).map(|_| ()),
                _ => return None,
            }
        }
    }

    /// Reads a resource record: its type and data.
    fn answer(&mut self) -> Option<(u16, &'a [u8])> {
        self.domain(&mut Vec::new())?;
        let kind = self.u16()?;
        self.take(6)?;
        let length = self.u16()?;
        Some((kind, self.take(length.into())?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hello(name: &[u8], padding: usize) -> Vec<u8> {
        let length = |bytes: &[u8]| (bytes.len() as u16).to_be_bytes();
        let entry = [&[0], &length(name)[..], name].concat();
        let list = [&length(&entry)[..], &entry].concat();
        let other = vec![0; padding];
        let extensions =
            [&[0, 51], &length(&other)[..], &other, &[0, 0], &length(&list)[..], &list].concat();
        let fixed = [&[3, 3][..], &[7; 32], &[0], &[0, 2, 0x13, 1], &[1, 0]].concat();
        let body = [&fixed[..], &length(&extensions)[..], &extensions].concat();
        let head = [0x16, 3, 1, 0, 0, 1, 0, 0, 0];
        [&head[..], &body].concat()
    }

    fn answer() -> Vec<u8> {
        let question = b"\x03www\x07example\x03com\x00\x00\x01\x00\x01";
        let alias = b"\xc0\x0c\x00\x05\x00\x01\x00\x00\x00\x3c\x00\x02\xc0\x10";
        let address = b"\xc0\x10\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc0\x00\x02\x07";
        [b"\x12\x34\x81\x80\x00\x01\x00\x02\x00\x00\x00\x00", &question[..], alias, address]
            .concat()
    }

    #[test]
    fn names_are_read_from_hellos_requests_and_answers() {
        let hello = hello(b"media.example.net", 40);
        assert_eq!(
            first_request(&hello, false),
            Request::Whole(Application::Tls, Some(b"media.example.net"))
        );
        assert_eq!(first_request(&hello[..60], false), Request::Begun(Application::Tls));
        assert_eq!(first_request(&hello[..60], true), Request::Whole(Application::Tls, None));
        let request = b"GET /a HTTP/1.1\r\nAccept: */*\r\nhost: Video.example.com:8080\r\n\r\n";
        let host = b" Video.example.com:8080";
        assert_eq!(first_request(request, false), Request::Whole(Application::Http, Some(host)));
        assert_eq!(host_name(host).as_deref(), Some("video.example.com"));
        assert_eq!(first_request(&request[..20], false), Request::Begun(Application::Http));
        assert_eq!(first_request(b"OPTIONS rtsp://h/ RTSP/1.0\r\n\r\n", false), Request::Other);
        let (name, addresses) = dns_answers(&answer()).expect("an answer");
        assert_eq!(name, b"www.example.com");
        assert_eq!(addresses, ["192.0.2.7".parse::<IpAddr>().expect("an address")]);
    }

    #[test]
    fn what_is_no_host_name_is_not_one() {
        for text in ["", ".", "10.0.0.1", "[2001:db8::1]:80", "a b", "a\x1b[31mb", "ü.example"] {
            assert_eq!(host_name(text.as_bytes()), None, "{text}");
        }
        assert_eq!(host_name(&[b'a'; 254]), None);
        assert_eq!(host_name(b"A.Example.").as_deref(), Some("a.example"));
    }

    proptest! {
        #[test]
        fn damaged_bytes_are_no_harm(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            at in 0_usize..100,
            end in 0_usize..200,
            cut: bool
        ) {
            for whole in [hello(b"a.example", 9), answer(), b"GET / HTTP/1.1\r\nHost: a".to_vec()] {
                let mut damaged = whole;
                for (place, &byte) in damaged.iter_mut().skip(at).zip(&bytes) {
                    *place = byte;
                }
                damaged.truncate(end);
                if let Request::Whole(_, Some(name)) = first_request(&damaged, cut) {
                    host_name(name);
                }
                dns_answers(&damaged);
            }
            first_request(&bytes, cut);
            dns_answers(&bytes);
        }
    }
}
