//! Loops of the generator that are too slow in array operations: packets put in order of time,
//! series with a spectrum, keys of random streams, draws of whole numbers, quantiles of laws,
//! frames and bins filled with packets, trains of them, clocks of their headers.

mod alias_table;
mod bins;
mod clock;
mod correlated_order;
mod frames;
mod linear_table;
mod quantile_table;
mod radix;
mod spectral_ranks;
mod stream_key;
mod time_order;
mod toeplitz;
mod trains;

pub use alias_table::{alias_table, AliasColumns, AliasTable};
pub use bins::{place_in_bins, Filling, Pace};
pub use clock::{clock_ticks, rounded, Clock};
pub use correlated_order::correlated_order;
pub use frames::{frame_times, values_by_rank, FrameCutter, Gaps, Start};
pub use linear_table::LinearTable;
pub use quantile_table::{QuantileTable, PIECE_NUMBERS};
pub use radix::{mean_ranks, sort_values, stable_order};
pub use spectral_ranks::spectral_ranks;
pub use stream_key::stream_key;
pub use time_order::time_order;
pub use toeplitz::solve_toeplitz;
pub use trains::{
    deal_spacings, join_stretches, order_by_scores, order_sizes_by_scores, rank_scores,
    share_packets, StoredBursts,
};
