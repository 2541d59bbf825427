use super::WriteError;

/// A column that may have nulls: values, and where they are known (`None`: everywhere).
#[derive(Clone, Copy, Debug)]
pub struct Nullable<'a, T> {
    pub values: &'a [T],
    pub known: Option<&'a [bool]>,
}

impl<T: Copy> Nullable<'_, T> {
    #[inline]
    fn get(&self, index: usize) -> Option<T> {
        match self.known {
            Some(known) if !known[index] => None,
            _ => Some(self.values[index]),
        }
    }
}

/// A batch of the packet table; all columns have the same length, columns of nulls only are `None`.
#[derive(Clone, Copy, Debug)]
pub struct PacketColumns<'a> {
    pub time_ns: &'a [i64],
    pub flow: &'a [u32],
    pub to_client: &'a [bool],
    pub ip_bytes: &'a [u32],
    pub payload_bytes: &'a [u32],
    pub rtp_ssrc: Option<Nullable<'a, u32>>,
    pub rtp_sequence: Option<Nullable<'a, u16>>,
    pub rtp_timestamp: Option<Nullable<'a, u32>>,
    pub rtp_marker: Option<Nullable<'a, bool>>,
    pub tcp_sequence: Option<Nullable<'a, u32>>,
    pub tcp_acknowledgement: Option<Nullable<'a, u32>>,
    pub tcp_flags: Option<Nullable<'a, u8>>,
    pub tcp_window: Option<Nullable<'a, u32>>,
}

/// One row of the packet table.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketRow {
    pub flow: u32,
    pub to_client: bool,
    pub ip_bytes: u32,
    pub payload_bytes: u32,
    pub rtp: Option<RtpFields>,
    pub tcp: TcpFields,
}

/// The RTP header fields of a packet (RFC 3550 section 5.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct RtpFields {
    /// `None`: the flow's.
    pub ssrc: Option<u32>,
    pub sequence: u16,
    pub timestamp: u32,
    pub marker: bool,
}

/// The TCP header fields of a packet (RFC 9293 section 3.1); what is `None` the frame builder makes
/// up.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpFields {
    pub sequence: Option<u32>,
    pub acknowledgement: Option<u32>,
    pub flags: Option<u8>,
    pub window: Option<u32>,
}

#[inline]
fn optional<T: Copy>(column: Option<Nullable<'_, T>>, index: usize) -> Option<T> {
    column.and_then(|column| column.get(index))
}

fn check<T>(column: &'static str, values: &[T], expected: usize) -> Result<(), WriteError> {
    if values.len() == expected {
        return Ok(());
    }
    Err(WriteError::ColumnLength { column, found: values.len(), expected })
}

fn check_nullable<T>(
    column: &'static str,
    values: Option<Nullable<'_, T>>,
    expected: usize,
) -> Result<(), WriteError> {
    let Some(values) = values else { return Ok(()) };
    check(column, values.values, expected)?;
    values.known.map_or(Ok(()), |known| check(column, known, expected))
}

impl PacketColumns<'_> {
    /// Number of packets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.time_ns.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.time_ns.is_empty()
    }

    /// Fails when a column is shorter or longer than `time_ns`.
    pub fn check_lengths(&self) -> Result<(), WriteError> {
        let expected = self.len();
        check("flow", self.flow, expected)?;
        check("to_client", self.to_client, expected)?;
        check("ip_bytes", self.ip_bytes, expected)?;
        check("payload_bytes", self.payload_bytes, expected)?;
        check_nullable("rtp_ssrc", self.rtp_ssrc, expected)?;
        check_nullable("rtp_sequence", self.rtp_sequence, expected)?;
        check_nullable("rtp_timestamp", self.rtp_timestamp, expected)?;
        check_nullable("rtp_marker", self.rtp_marker, expected)?;
        check_nullable("tcp_sequence", self.tcp_sequence, expected)?;
        check_nullable("tcp_acknowledgement", self.tcp_acknowledgement, expected)?;
        check_nullable("tcp_flags", self.tcp_flags, expected)?;
        check_nullable("tcp_window", self.tcp_window, expected)
    }

    /// One packet; a known RTP sequence number is what makes it an RTP packet.
    #[inline]
    #[must_use]
    pub fn row(&self, index: usize) -> PacketRow {
        PacketRow {
            flow: self.flow[index],
            to_client: self.to_client[index],
            ip_bytes: self.ip_bytes[index],
            payload_bytes: self.payload_bytes[index],
            rtp: optional(self.rtp_sequence, index).map(|sequence| RtpFields {
                ssrc: optional(self.rtp_ssrc, index),
                sequence,
                timestamp: optional(self.rtp_timestamp, index).unwrap_or(0),
                marker: optional(self.rtp_marker, index).unwrap_or(false),
            }),
            tcp: TcpFields {
                sequence: optional(self.tcp_sequence, index),
                acknowledgement: optional(self.tcp_acknowledgement, index),
                flags: optional(self.tcp_flags, index),
                window: optional(self.tcp_window, index),
            },
        }
    }
}
