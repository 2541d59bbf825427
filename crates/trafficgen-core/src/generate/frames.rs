//! Frames cut into packets, and packets put where their frames are sent.

/// Packets of a frame at most: a law of tiny packets does not cut a frame into millions.
const MOST_PACKETS: i64 = 4096;
/// An IP packet's length has 16 bits.
pub const LARGEST_IP_BYTES: f64 = 65_535.0;

/// Values in the order of ranks, for each type its own.
///
/// `ranks` are 0 to n - 1 in any order; `values` are those of type 0, ascending, then those of type
/// 1, and so on, as many as there are of each type.
///
/// # Panics
///
/// When a rank or a type is out of range.
#[must_use]
pub fn values_by_rank(ranks: &[i64], types: &[i64], values: &[f64]) -> Vec<f64> {
    let mut place_of = vec![0_u32; ranks.len()];
    for (place, rank) in (0_u32..).zip(ranks) {
        place_of[*rank as usize] = place;
    }
    let kinds = types.iter().max().map_or(0, |largest| *largest as usize + 1);
    let mut next = vec![0_usize; kinds + 1];
    for kind in types {
        next[*kind as usize + 1] += 1;
    }
    for kind in 0..kinds {
        next[kind + 1] += next[kind];
    }
    let mut ordered = vec![0.0; ranks.len()];
    for place in place_of {
        let kind = types[place as usize] as usize;
        ordered[place as usize] = values[next[kind]];
        next[kind] += 1;
    }
    ordered
}

/// Frames on their way to be packets.
#[derive(Debug, Default)]
pub struct FrameCutter {
    /// Bytes of each frame that are in no packet yet.
    left: Vec<i64>,
    /// Frames that have bytes left.
    open: Vec<u32>,
    /// Smallest packet of each frame; empty until frames are filled.
    smallest: Vec<i64>,
    counts: Vec<i64>,
    /// Packets in the order in which they were cut.
    cut: Vec<(u32, u32)>,
}

impl FrameCutter {
    /// Begins with frames of so many bytes, at least 1 each.
    #[must_use]
    pub fn new(left: Vec<i64>) -> Self {
        let open = (0..left.len() as u32).collect();
        Self { counts: vec![0; left.len()], left, open, ..Self::default() }
    }

    /// Takes a packet of so many bytes from each of some frames.
    pub fn take(&mut self, frames: &[i64], bytes: i64) {
        for frame in frames {
            self.add(*frame as usize, bytes);
        }
    }

    /// Takes a packet from each frame that is open, of the sizes given in whole bytes as far as
    /// there are, and returns how many are open still.
    pub fn fill(&mut self, sizes: &[f64]) -> usize {
        if self.smallest.is_empty() {
            let each = self.left.iter();
            self.smallest = each.map(|bytes| (bytes + MOST_PACKETS - 1) / MOST_PACKETS).collect();
        }
        let open = std::mem::take(&mut self.open);
        for (frame, size) in open.iter().map(|frame| *frame as usize).zip(sizes) {
            let whole = size.round_ties_even().clamp(1.0, LARGEST_IP_BYTES) as i64;
            self.add(frame, whole.max(self.smallest[frame]).min(self.left[frame]));
        }
        self.open = open;
        self.open.retain(|frame| self.left[*frame as usize] > 0);
        self.open.len()
    }

    /// Cuts what is left into as few packets of equal size, a byte more or less, as the largest
    /// allows.
    pub fn cut_equally(&mut self, largest: i64) {
        for frame in 0..self.left.len() {
            let left = self.left[frame];
            let count = (left + largest - 1) / largest;
            for number in 0..count {
                self.add(frame, left / count + i64::from(number < left % count));
            }
        }
    }

    /// How many packets each frame has, and the bytes of each packet, frame by frame.
    #[must_use]
    pub fn end(self) -> (Vec<i64>, Vec<u32>) {
        let mut next = Vec::with_capacity(self.counts.len());
        let mut total = 0;
        for count in &self.counts {
            next.push(total);
            total += *count as usize;
        }
        let mut sizes = vec![0; total];
        for (frame, bytes) in self.cut {
            let place = &mut next[frame as usize];
            sizes[*place] = bytes;
            *place += 1;
        }
        (self.counts, sizes)
    }

    fn add(&mut self, frame: usize, bytes: i64) {
        self.left[frame] -= bytes;
        self.counts[frame] += 1;
        self.cut.push((frame as u32, bytes as u32));
    }
}

/// What the gaps within frames are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gaps<'a> {
    None,
    /// Before each packet; that before a frame's first is the least gap after the frame before.
    OfPackets(&'a [f64]),
    /// From the first packet of each frame to where one more would be.
    OfFrames(&'a [f64]),
}

/// When each packet is sent, after `start_s`.
///
/// A frame is sent when it is ready and the one before is out (Lindley 1952).
///
/// # Panics
///
/// When there are not as many numbers of packets and gaps as needed.
#[must_use]
pub fn frame_times(ready_s: &[f64], counts: &[i64], gaps: Gaps<'_>, start_s: Start) -> Vec<f64> {
    let total = counts.iter().sum::<i64>() as usize;
    let mut times = Vec::with_capacity(total);
    // One running sum, as array operations have it: the last digits do not depend on the loop.
    let (mut elapsed_s, mut busy_sum_s, mut latest_s) = (0.0, 0.0, f64::NEG_INFINITY);
    let mut origin_s = None;
    let mut offsets: Vec<f64> = Vec::new();
    for (frame, (ready, count)) in ready_s.iter().zip(counts).enumerate() {
        let count = *count as usize;
        let mut after_s = 0.0;
        offsets.clear();
        match gaps {
            Gaps::None => offsets.resize(count, 0.0),
            Gaps::OfFrames(whole) => {
                let gap = whole[frame].max(0.0) / count as f64;
                offsets.extend((0..count).map(|number| gap * number as f64));
            }
            Gaps::OfPackets(gaps) => {
                let own = &gaps[times.len()..times.len() + count];
                after_s = own[0].max(0.0);
                let first_s = elapsed_s;
                offsets.push(0.0);
                for gap in &own[1..] {
                    elapsed_s += gap.max(0.0);
                    offsets.push(elapsed_s - first_s);
                }
            }
        }
        let busy_s = offsets[count - 1] + after_s;
        busy_sum_s += busy_s;
        let before_s = busy_sum_s - busy_s;
        latest_s = f64::max(latest_s, ready - before_s);
        let mut sent_s = latest_s + before_s;
        if start_s.first_at_start {
            sent_s -= *origin_s.get_or_insert(sent_s);
        }
        let sent_s = start_s.time_s + sent_s;
        times.extend(offsets.iter().map(|offset| sent_s + offset));
    }
    times
}

/// Where frames begin.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    pub time_s: f64,
    /// Whether the first frame is at that time.
    pub first_at_start: bool,
}

#[cfg(test)]
mod tests {
    use super::{frame_times, values_by_rank, FrameCutter, Gaps, Start};

    #[test]
    fn each_type_has_its_own_values_in_order_of_ranks() {
        let values = values_by_rank(&[3, 0, 2, 1], &[1, 0, 1, 0], &[1.0, 2.0, 10.0, 20.0]);
        assert_eq!(values, [20.0, 1.0, 10.0, 2.0]);
    }

    #[test]
    fn frames_are_cut_into_leads_and_packets_that_add_up() {
        let mut cutter = FrameCutter::new(vec![2500, 900, 100]);
        cutter.take(&[0], 40);
        assert_eq!(cutter.fill(&[1000.4, 1000.0, 0.0]), 2);
        assert_eq!(cutter.fill(&[1000.0, 70.0]), 2);
        assert_eq!(cutter.fill(&[9000.0, 9000.0]), 0);
        let (counts, sizes) = cutter.end();
        assert_eq!(counts, [4, 1, 3]);
        assert_eq!(sizes, [40, 1000, 1000, 460, 900, 1, 70, 29]);
        let mut cutter = FrameCutter::new(vec![10, 3]);
        cutter.cut_equally(4);
        assert_eq!(cutter.end(), (vec![3, 1], vec![4, 3, 3, 3]));
    }

    #[test]
    fn frames_wait_for_one_another() {
        let start = Start { time_s: 5.0, first_at_start: true };
        let gaps = [0.5, 1.0, 0.25, 2.0, 0.5];
        let times = frame_times(&[1.0, 1.5, 9.0], &[2, 1, 2], Gaps::OfPackets(&gaps), start);
        assert_eq!(times, [5.0, 6.0, 6.5, 13.0, 13.5]);
        let start = Start { time_s: 0.0, first_at_start: false };
        let times = frame_times(&[1.0, 1.5], &[2, 2], Gaps::OfFrames(&[1.0, 4.0]), start);
        assert_eq!(times, [1.0, 1.5, 1.5, 3.5]);
        assert_eq!(frame_times(&[1.0, 1.0], &[1, 1], Gaps::None, start), [1.0, 1.0]);
    }
}
