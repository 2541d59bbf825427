use std::net::IpAddr;

/// Why a packet table cannot become a capture file. `row` counts the packets in the order in which
/// they were given.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error(
        "packet {row} (flow {flow}): ip_bytes {ip_bytes} is too small for its headers, \
         which take {required_bytes}"
    )]
    TooSmall { row: u64, flow: u32, ip_bytes: u32, required_bytes: u32 },
    #[error(
        "packet {row} (flow {flow}): ip_bytes {ip_bytes} is more than the IP length field can say \
         ({allowed_bytes})"
    )]
    TooLarge { row: u64, flow: u32, ip_bytes: u32, allowed_bytes: u32 },
    #[error("packet {row}: flow {flow} is not in the flow table of {flows} rows")]
    UnknownFlow { row: u64, flow: u32, flows: usize },
    #[error(
        "packet {row} is {back_ns} ns earlier than the packet before it; sort the table by time"
    )]
    OutOfOrder { row: u64, back_ns: u64 },
    #[error("packet {row}: its time lies before 1970-01-01")]
    BeforeEpoch { row: u64 },
    #[error("packet {row}: its time is later than the file format can say")]
    TooLate { row: u64 },
    #[error("flow {flow}: server {server} and client {client} are not of the same IP version")]
    MixedVersions { flow: usize, server: IpAddr, client: IpAddr },
    #[error("column {column} has {found} values where time_ns has {expected}")]
    ColumnLength { column: &'static str, found: usize, expected: usize },
    #[error("the writer is already finished or has failed")]
    Closed,
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
