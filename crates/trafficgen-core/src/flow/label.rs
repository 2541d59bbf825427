//! What the first packets of a connection say of it: the protocol over UDP or TCP, and the server's
//! name.
//!
//! Names come from the TLS ClientHello (server_name, RFC 6066), the HTTP Host header (RFC 9112) or
//! the DNS answer for the server's address that came last before the connection (RFC 1035). QUIC is
//! told by its invariants (RFC 8999) and versions; its ClientHello is in its Initial packets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hashbrown::HashMap;

use crate::packet::{Decoded, UDP};

use super::assembly::Place;
use super::label_quic::Hello;
use super::label_text::{dns_answers, first_request, host_name, Request};

/// Packets with payload that are looked at in a connection.
const LOOKS: u8 = 8;
/// Bytes of one request that are looked at and held until its name has come, and requests that are
/// held at once.
const MAX_REQUEST_BYTES: usize = 8192;
const MAX_REQUESTS: usize = 2048;
/// Names that are kept, and addresses in each of two generations of DNS answers.
const MAX_NAMES: usize = 65_536;
const MAX_ADDRESSES: usize = 65_536;
const DNS_PORT: u16 = 53;
const NO_NAME: u32 = u32::MAX;

/// A protocol over UDP or TCP, as the first bytes show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Application {
    Quic,
    Tls,
    Http,
    Dns,
    Dtls,
    Stun,
}

impl Application {
    pub fn name(self) -> &'static str {
        match self {
            Self::Quic => "quic",
            Self::Tls => "tls",
            Self::Http => "http",
            Self::Dns => "dns",
            Self::Dtls => "dtls",
            Self::Stun => "stun",
        }
    }
}

#[derive(Clone, Copy)]
struct Label {
    looks_left: u8,
    application: Option<Application>,
    /// Place in the names, or [`NO_NAME`].
    name: u32,
}

/// A request of which more is to come.
struct Begun {
    forward: bool,
    next_sequence: u32,
    bytes: Vec<u8>,
}

/// Labels of all connections, by the number of their 5-tuple.
#[derive(Default)]
pub(super) struct Labels {
    flows: Vec<Label>,
    names: Vec<Box<str>>,
    number_of: HashMap<Box<str>, u32>,
    begun: HashMap<u32, Begun>,
    hellos: HashMap<u32, Hello>,
    addresses: HashMap<IpAddr, u32>,
    addresses_before: HashMap<IpAddr, u32>,
}

impl Labels {
    /// Looks at a TCP or UDP packet if it is one of the first of its connection, or of DNS.
    #[inline]
    pub fn look(&mut self, place: Place, packet: &Decoded<'_>) {
        let index = place.flow as usize;
        if index >= self.flows.len() {
            self.begin(index, packet);
        }
        if packet.payload_bytes == 0 {
            return;
        }
        let is_answer = packet.source_port == DNS_PORT && packet.protocol == UDP;
        if is_answer || self.flows[index].looks_left > 0 {
            self.look_inside(place, packet);
        }
    }

    pub fn application(&self, key: u32) -> Option<Application> {
        self.flows.get(key as usize)?.application
    }

    /// The server's name; empty where none was seen.
    pub fn name(&self, key: u32) -> &str {
        let number = self.flows.get(key as usize).map_or(NO_NAME, |label| label.name);
        self.names.get(number as usize).map_or("", |name| name)
    }

    /// Adds a connection, named by the DNS answer for one of its ends: first the one that the first
    /// packet goes to.
    #[cold]
    fn begin(&mut self, index: usize, packet: &Decoded<'_>) {
        let label = Label { looks_left: LOOKS, application: None, name: NO_NAME };
        self.flows.resize(index + 1, label);
        if self.addresses.is_empty() {
            return;
        }
        let (source, destination) = packet.addresses.to_ip();
        let known = [destination, source].into_iter().find_map(|address| {
            self.addresses.get(&address).or_else(|| self.addresses_before.get(&address)).copied()
        });
        self.flows[index].name = known.unwrap_or(NO_NAME);
    }

    #[cold]
    fn look_inside(&mut self, place: Place, packet: &Decoded<'_>) {
        let label = &mut self.flows[place.flow as usize];
        label.looks_left = label.looks_left.saturating_sub(1);
        if packet.has_tcp {
            self.look_into_tcp(place, packet);
        } else if [packet.source_port, packet.destination_port].contains(&DNS_PORT) {
            self.set_application(place.flow, Application::Dns);
            self.keep_answers(first_bytes(packet.payload));
        } else {
            match application_over_udp(packet.payload) {
                Some(Application::Quic) => self.look_into_quic(place.flow, packet.payload),
                Some(application) => self.set_application(place.flow, application),
                None => {}
            }
        }
        if self.flows[place.flow as usize].looks_left == 0 {
            self.begun.remove(&place.flow);
            self.hellos.remove(&place.flow);
        }
    }

    /// Puts the ClientHello together: it may take several packets.
    fn look_into_quic(&mut self, flow: u32, payload: &[u8]) {
        self.flows[flow as usize].application = Some(Application::Quic);
        if !self.hellos.contains_key(&flow) && self.hellos.len() >= MAX_REQUESTS {
            return;
        }
        if let Some(name) = self.hellos.entry(flow).or_default().add(payload) {
            self.set_name(flow, name.as_deref());
            self.set_application(flow, Application::Quic);
        }
    }

    fn set_name(&mut self, flow: u32, name: Option<&[u8]>) {
        let name = name.and_then(host_name);
        if let Some(number) = name.and_then(|name| self.number_of(name)) {
            self.flows[flow as usize].name = number;
        }
    }

    /// No further packets are looked at.
    fn set_application(&mut self, flow: u32, application: Application) {
        let label = &mut self.flows[flow as usize];
        label.application = Some(application);
        label.looks_left = 0;
    }

    fn look_into_tcp(&mut self, place: Place, packet: &Decoded<'_>) {
        // Segments that the network card put together have up to 256 kB.
        let payload = first_bytes(packet.payload);
        let cut = payload.len() < packet.payload_bytes as usize;
        let next_sequence = packet.tcp.sequence.wrapping_add(packet.payload_bytes);
        let request = match self.begun.get_mut(&place.flow) {
            Some(begun) if begun.forward != place.forward => return,
            Some(begun) if begun.next_sequence != packet.tcp.sequence => return,
            Some(begun) => {
                let room = MAX_REQUEST_BYTES.saturating_sub(begun.bytes.len());
                begun.bytes.extend_from_slice(&payload[..payload.len().min(room)]);
                begun.next_sequence = next_sequence;
                first_request(&begun.bytes, cut || begun.bytes.len() >= MAX_REQUEST_BYTES)
            }
            None => first_request(payload, cut),
        };
        match request {
            Request::Other => {}
            Request::Whole(application, name) => {
                let name = name.map(<[u8]>::to_vec);
                self.set_name(place.flow, name.as_deref());
                self.set_application(place.flow, application);
            }
            Request::Begun(application) => {
                self.flows[place.flow as usize].application = Some(application);
                if !self.begun.contains_key(&place.flow) && self.begun.len() < MAX_REQUESTS {
                    let bytes = payload.to_vec();
                    self.begun
                        .insert(place.flow, Begun { forward: place.forward, next_sequence, bytes });
                }
            }
        }
    }

    /// Keeps the addresses of a DNS answer, of which those of two generations are remembered.
    fn keep_answers(&mut self, payload: &[u8]) {
        let Some((name, addresses)) = dns_answers(payload) else { return };
        let Some(number) = host_name(&name).and_then(|name| self.number_of(name)) else { return };
        for address in addresses {
            if self.addresses.len() >= MAX_ADDRESSES {
                self.addresses_before = std::mem::take(&mut self.addresses);
            }
            self.addresses.insert(address, number);
        }
    }

    /// The number of a name; `None` where it is new and there is no room.
    fn number_of(&mut self, name: String) -> Option<u32> {
        if let Some(&number) = self.number_of.get(name.as_str()) {
            return Some(number);
        }
        if self.names.len() >= MAX_NAMES {
            return None;
        }
        let (number, name) = (self.names.len() as u32, name.into_boxed_str());
        self.names.push(name.clone());
        self.number_of.insert(name, number);
        Some(number)
    }
}

fn first_bytes(payload: &[u8]) -> &[u8] {
    payload.get(..MAX_REQUEST_BYTES).unwrap_or(payload)
}

/// What a UDP payload begins with.
fn application_over_udp(payload: &[u8]) -> Option<Application> {
    if is_quic(payload) {
        return Some(Application::Quic);
    }
    match *payload.get(..8)? {
        // RFC 9147, 4: content type and version.
        [20..=26, 0xfe, 0xfd | 0xff, ..] => Some(Application::Dtls),
        // RFC 8489, 5: the magic cookie.
        [0..=3, _, _, _, 0x21, 0x12, 0xa4, 0x42] => Some(Application::Stun),
        _ => None,
    }
}

/// A long header of QUIC (RFC 8999, 5.1) of a known version, or a packet of Google's QUIC with its
/// version.
fn is_quic(payload: &[u8]) -> bool {
    let is_google = |version: &[u8]| {
        matches!(version, [b'Q' | b'T', b'0', b'0'..=b'9', b'0'..=b'9']) // Q043, T051
    };
    let Some(&flags) = payload.first() else { return false };
    let version = payload.get(1..5).unwrap_or(&[]);
    if flags & 0x80 != 0 {
        let ids_fit = payload.get(5).is_some_and(|&length| length <= 20);
        let is_known = match version {
            [0, 0, 0, 0 | 1] | [0x6b, 0x33, 0x43, 0xcf] | [0xff, 0, 0, _] => true,
            // Versions that are there to be refused (RFC 9000, 15), and Facebook's.
            [0xfa, 0xce, 0xb0, _] => true,
            &[a, b, c, d] => [a, b, c, d].iter().all(|byte| byte & 0x0f == 0x0a),
            _ => false,
        };
        // The fixed bit tells it from RTP; a version negotiation need not have it.
        let is_fixed = flags & 0x40 != 0 || (version == [0; 4] && payload.len() >= 11);
        return is_fixed && (is_known && ids_fit || is_google(version));
    }
    // Flags of version and of a connection id of 8 bytes, the id, the version.
    flags & 0x09 == 0x09 && payload.get(9..13).is_some_and(is_google)
}

/// IPv4 and IPv6 addresses out of the data of A and AAAA records.
pub(super) fn address_of(kind: u16, data: &[u8]) -> Option<IpAddr> {
    match kind {
        1 => <[u8; 4]>::try_from(data).ok().map(|octets| Ipv4Addr::from(octets).into()),
        28 => <[u8; 16]>::try_from(data).ok().map(|octets| Ipv6Addr::from(octets).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Addresses, TcpFacts, TCP};

    fn over_udp(ports: (u16, u16), payload: &[u8]) -> Decoded<'_> {
        let mut packet = Decoded::empty();
        packet.protocol = UDP;
        (packet.source_port, packet.destination_port) = ports;
        packet.payload = payload;
        packet.payload_bytes = payload.len() as u32;
        packet
    }

    fn over_tcp(sequence: u32, payload: &[u8]) -> Decoded<'_> {
        let mut packet = over_udp((1024, 80), payload);
        packet.protocol = TCP;
        packet.has_tcp = true;
        packet.tcp = TcpFacts { sequence, ..TcpFacts::default() };
        packet
    }

    fn to_server(port: u16) -> Decoded<'static> {
        let mut packet = over_udp((port, 443), &[]);
        packet.addresses = Addresses::V4 { source: 0x0a00_0001, destination: 0xc000_0207 };
        packet
    }

    const FORWARD: Place = Place { flow: 0, forward: true };

    #[test]
    fn quic_dtls_and_stun_are_told_apart() {
        let id = [5; 20];
        let long = |version: &[u8]| [&[0xc3], version, &[8], &id[..]].concat();
        for version in
            [&[0, 0, 0, 1], &[0x6b, 0x33, 0x43, 0xcf], b"Q046", &[0x1a, 0x2a, 0x3a, 0x4a]]
        {
            assert_eq!(application_over_udp(&long(version)), Some(Application::Quic));
        }
        let google = [&[0x0d], &id[..8], b"Q043", &id[..]].concat();
        assert_eq!(application_over_udp(&google), Some(Application::Quic));
        assert_eq!(application_over_udp(&long(&[1, 2, 3, 4])), None);
        assert_eq!(application_over_udp(&[0x80; 20]), None);
        let dtls = [22, 0xfe, 0xfd, 0, 0, 0, 0, 0];
        assert_eq!(application_over_udp(&dtls), Some(Application::Dtls));
        let stun = [0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42];
        assert_eq!(application_over_udp(&stun), Some(Application::Stun));
        for end in 0..google.len() {
            application_over_udp(&google[..end]);
        }
    }

    #[test]
    fn a_request_over_several_segments_has_its_name() {
        let request = b"GET /a HTTP/1.1\r\nAccept: */*\r\nHost: video.example\r\n\r\n";
        let mut labels = Labels::default();
        for (place, piece) in request.chunks(10).enumerate() {
            let sequence = (u32::MAX - 5).wrapping_add(10 * place as u32);
            labels.look(FORWARD, &over_tcp(sequence, piece));
        }
        assert_eq!(labels.application(0), Some(Application::Http));
        assert_eq!(labels.name(0), "video.example");
        assert!(labels.begun.is_empty());
    }

    #[test]
    fn only_the_first_packets_are_looked_at() {
        let mut labels = Labels::default();
        for _ in 0..LOOKS {
            labels.look(FORWARD, &over_tcp(0, b"something else"));
        }
        labels.look(FORWARD, &over_tcp(0, b"GET / HTTP/1.1\r\nHost: late.example\r\n\r\n"));
        assert_eq!((labels.application(0), labels.name(0)), (None, ""));
    }

    #[test]
    fn requests_that_never_end_take_little() {
        let mut labels = Labels::default();
        for flow in 0..2 * MAX_REQUESTS as u32 {
            let begun = b"GET /a HTTP/1.1\r\n";
            labels.look(Place { flow, forward: true }, &over_tcp(0, begun));
        }
        assert_eq!(labels.begun.len(), MAX_REQUESTS);
        for look in 0..LOOKS {
            labels.look(FORWARD, &over_tcp(17 + 4000 * u32::from(look), &[b'x'; 4000]));
        }
        assert_eq!(labels.begun.len(), MAX_REQUESTS - 1);
    }

    /// A request of so many bytes in front of the header that has the name.
    fn request_with(before_host: usize) -> Vec<u8> {
        let mut request = b"GET /a HTTP/1.1\r\nCookie: ".to_vec();
        request.resize(before_host - 2, b'x');
        request.extend_from_slice(b"\r\nHost: video.example\r\n\r\n");
        request
    }

    #[test]
    fn names_are_looked_for_in_the_first_bytes_of_a_request_only() {
        let name_bytes = b"Host: video.example\r\n\r\n".len();
        let within = MAX_REQUEST_BYTES - name_bytes;
        for segment_bytes in [1460, 4000, MAX_REQUEST_BYTES, 256 * 1024] {
            for (before_host, name) in
                [(within, "video.example"), (MAX_REQUEST_BYTES, ""), (100_000, "")]
            {
                let mut labels = Labels::default();
                let mut sequence = 0;
                for piece in request_with(before_host).chunks(segment_bytes) {
                    labels.look(FORWARD, &over_tcp(sequence, piece));
                    sequence += piece.len() as u32;
                    let held: usize = labels.begun.values().map(|begun| begun.bytes.len()).sum();
                    assert!(held <= MAX_REQUEST_BYTES, "{held} bytes of {segment_bytes}");
                }
                assert_eq!(labels.application(0), Some(Application::Http));
                assert_eq!(labels.name(0), name, "{before_host} bytes in {segment_bytes}");
            }
        }
    }

    #[test]
    fn a_connection_is_named_by_the_answer_before_it() {
        let answer = b"\x12\x34\x81\x80\0\x01\0\x01\0\0\0\0\x01a\x07example\0\0\x01\0\x01\
            \xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x07";
        let mut labels = Labels::default();
        labels.look(FORWARD, &to_server(1024));
        labels.look(Place { flow: 1, forward: false }, &over_udp((DNS_PORT, 5000), answer));
        labels.look(Place { flow: 2, forward: true }, &to_server(1025));
        assert_eq!((labels.name(0), labels.name(2)), ("", "a.example"));
        assert_eq!(labels.application(1), Some(Application::Dns));
    }
}
