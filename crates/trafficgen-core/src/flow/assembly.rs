//! Flow keys: the bidirectional 5-tuple over the whole capture, with fragments joined to their
//! first fragment's flow.

use std::hash::Hash;
use std::net::IpAddr;

use foldhash::fast::RandomState;
use hashbrown::hash_map::Entry;
use hashbrown::HashMap;

use crate::packet::{Addresses, Decoded, Fragment, TcpFacts};

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    pub address: IpAddr,
    pub port: u16,
}

/// Who talks to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowKey {
    /// The end that sent the flow's first packet.
    pub initiator: Endpoint,
    pub responder: Endpoint,
    /// IP protocol number.
    pub protocol: u8,
}

/// What identifies the fragments of one datagram: source, destination, identification and (IPv4)
/// protocol. The upper protocol of later IPv6 fragments is that of the first (RFC 8200, 4.5), so it
/// is not part of their key.
type FragmentKey = (u128, u128, u32, u8);

type Map<K, V> = HashMap<K, V, RandomState>;
/// IPv4 ends as `address << 16 | port`, lower first; the protocol above the lower one's 48 bits.
type KeyV4 = (u64, u64);
/// IPv6 ends, lower first, then both ports and the protocol.
type KeyV6 = (u128, u128, u64);

/// Fragmented datagrams whose first fragment is remembered; older ones are forgotten.
const MAX_FRAGMENTED_DATAGRAMS: usize = 65_536;
const SYN: u8 = 0x02;

/// State of one flow that packets need: which end was first, and the window scales of the
/// handshake.
#[derive(Clone, Copy, Debug)]
struct FlowState {
    initiator_is_lower: bool,
    /// Window shift offered by the initiator and by the responder.
    window_shift: [Option<u8>; 2],
}

/// Where a packet belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub flow: u32,
    pub forward: bool,
}

/// All flows seen so far, as many as there is room for.
pub(super) struct FlowAssembly {
    most: usize,
    v4: Map<KeyV4, u32>,
    v6: Map<KeyV6, u32>,
    states: Vec<FlowState>,
    keys: Vec<FlowKey>,
    fragments: Map<FragmentKey, u32>,
    fragments_before: Map<FragmentKey, u32>,
}

impl FlowAssembly {
    /// `most`: flows that are kept; packets of others have no place.
    pub fn new(most: u32) -> Self {
        Self {
            most: most as usize,
            v4: Map::default(),
            v6: Map::default(),
            states: Vec::new(),
            keys: Vec::new(),
            fragments: Map::default(),
            fragments_before: Map::default(),
        }
    }

    /// The flow of a packet, made when it is new; `None` where it is new and there is no room for
    /// it.
    #[inline]
    pub fn place(&mut self, packet: &Decoded<'_>) -> Option<Place> {
        match packet.fragment {
            Fragment::Whole => self.place_by_ports(packet),
            Fragment::First(identification) => {
                let place = self.place_by_ports(packet)?;
                self.remember_fragment(fragment_key(packet, identification), place.flow);
                Some(place)
            }
            Fragment::Later(identification) => {
                self.place_of_fragment(packet, fragment_key(packet, identification))
            }
        }
    }

    /// The TCP window in bytes: shifted when both ends offered a window scale in their SYN (RFC
    /// 7323, 2.2).
    #[inline]
    pub fn window_bytes(&mut self, place: Place, tcp: &TcpFacts) -> u32 {
        let state = &mut self.states[place.flow as usize];
        let sender = usize::from(!place.forward);
        if tcp.flags & SYN != 0 {
            state.window_shift[sender] = tcp.window_shift;
            return u32::from(tcp.window);
        }
        match (state.window_shift[sender], state.window_shift[1 - sender]) {
            (Some(shift), Some(_)) => u32::from(tcp.window) << shift,
            _ => u32::from(tcp.window),
        }
    }

    pub fn keys(&self) -> &[FlowKey] {
        &self.keys
    }

    #[inline]
    fn place_by_ports(&mut self, packet: &Decoded<'_>) -> Option<Place> {
        let next = self.keys.len() as u32;
        let full = self.keys.len() >= self.most;
        let (flow, source_is_lower) = match packet.addresses {
            Addresses::V4 { source, destination } => {
                let from = u64::from(source) << 16 | u64::from(packet.source_port);
                let to = u64::from(destination) << 16 | u64::from(packet.destination_port);
                let key = (from.min(to) | u64::from(packet.protocol) << 48, from.max(to));
                (place_in(&mut self.v4, key, next, full)?, from <= to)
            }
            Addresses::V6(_) => {
                let (source, destination) = packet.addresses.to_bits();
                let (from, to) =
                    ((source, packet.source_port), (destination, packet.destination_port));
                let (lower, upper) = (from.min(to), from.max(to));
                let rest = u64::from(lower.1) << 32
                    | u64::from(upper.1) << 16
                    | u64::from(packet.protocol);
                (place_in(&mut self.v6, (lower.0, upper.0, rest), next, full)?, from <= to)
            }
        };
        if flow == next {
            self.add(packet, source_is_lower);
        }
        Some(Place {
            flow,
            forward: self.states[flow as usize].initiator_is_lower == source_is_lower,
        })
    }

    #[cold]
    fn add(&mut self, packet: &Decoded<'_>, source_is_lower: bool) {
        let (source, destination) = packet.addresses.to_ip();
        self.keys.push(FlowKey {
            initiator: Endpoint { address: source, port: packet.source_port },
            responder: Endpoint { address: destination, port: packet.destination_port },
            protocol: packet.protocol,
        });
        self.states
            .push(FlowState { initiator_is_lower: source_is_lower, window_shift: [None; 2] });
    }

    /// Keeps two generations of datagrams, so that memory stays bounded without sorting by age.
    fn remember_fragment(&mut self, key: FragmentKey, flow: u32) {
        if self.fragments.len() >= MAX_FRAGMENTED_DATAGRAMS {
            self.fragments_before = std::mem::take(&mut self.fragments);
        }
        match self.fragments.entry(key) {
            Entry::Occupied(mut known) => {
                known.insert(flow);
            }
            Entry::Vacant(new) => {
                new.insert(flow);
            }
        }
    }

    /// A later fragment follows its first; where that was not seen, it is a flow of its hosts
    /// without ports.
    #[cold]
    fn place_of_fragment(&mut self, packet: &Decoded<'_>, key: FragmentKey) -> Option<Place> {
        match self.fragments.get(&key).or_else(|| self.fragments_before.get(&key)) {
            Some(&flow) => {
                let (source, _) = packet.addresses.to_ip();
                Some(Place { flow, forward: self.keys[flow as usize].initiator.address == source })
            }
            None => self.place_by_ports(packet),
        }
    }
}

/// The number of a key, `next` where it is new; `None` where it is new and there is no room.
#[inline]
fn place_in<K: Hash + Eq>(numbers: &mut Map<K, u32>, key: K, next: u32, full: bool) -> Option<u32> {
    if full {
        return numbers.get(&key).copied();
    }
    Some(*numbers.entry(key).or_insert(next))
}

fn fragment_key(packet: &Decoded<'_>, identification: u32) -> FragmentKey {
    let (source, destination) = packet.addresses.to_bits();
    let protocol =
        if matches!(packet.addresses, Addresses::V4 { .. }) { packet.protocol } else { 0 };
    (source, destination, identification, protocol)
}
