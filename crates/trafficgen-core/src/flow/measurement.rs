//! Measuring rows and keeping their columns: on a thread of its own once there is more than a batch
//! to do, so that one processor copies and parses while another one counts and fills columns.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::Mutex;
use std::thread::{Builder, JoinHandle};

use super::columns::Columns;
use super::exchange::ExchangeMeter;
use super::meter::FlowMeter;
use super::row::PacketRow;

/// Rows that are measured at a time: small enough to stay in the processor's cache.
pub(super) const BATCH_ROWS: usize = 8192;
/// Rows of one chunk of the kept table.
const CHUNK_ROWS: usize = 1 << 20;
/// Batches that may wait for the thread.
const WAITING_BATCHES: usize = 4;

/// The counts of flows, and the columns of the packets that are kept.
#[derive(Default)]
pub(super) struct Measurement {
    pub meter: FlowMeter,
    pub chunks: VecDeque<Columns>,
    /// `None` measures no exchanges.
    pub exchanges: Option<ExchangeMeter>,
    keep_packets: bool,
    keep_flows: Option<Vec<bool>>,
}

impl Measurement {
    pub fn new(meter: FlowMeter, keep_packets: bool, keep_flows: Option<Vec<bool>>) -> Self {
        Self { meter, chunks: VecDeque::new(), exchanges: None, keep_packets, keep_flows }
    }

    /// Counts rows in order of time and keeps those that are to be kept.
    fn take(&mut self, rows: &mut [PacketRow]) {
        self.meter.update(rows);
        if let Some(exchanges) = &mut self.exchanges {
            exchanges.update(rows);
        }
        if self.keep_packets {
            self.keep(rows);
        }
    }

    fn keep(&mut self, rows: &[PacketRow]) {
        if self.chunks.back().is_none_or(|chunk| chunk.len() + rows.len() > CHUNK_ROWS) {
            let mut chunk = Columns::default();
            if self.keep_flows.is_none() {
                chunk.reserve(CHUNK_ROWS);
            }
            self.chunks.push_back(chunk);
        }
        let Some(chunk) = self.chunks.back_mut() else { return };
        match self.keep_flows.as_deref() {
            None => chunk.extend(rows),
            Some(flows) => {
                let wanted = |row: &&PacketRow| flows.get(row.flow as usize) == Some(&true);
                let kept: Vec<PacketRow> = rows.iter().filter(wanted).copied().collect();
                chunk.extend(&kept);
            }
        }
    }
}

/// A thread that measures, and the way to it and back.
struct Worker {
    batches: SyncSender<Vec<PacketRow>>,
    /// Batches that come back to be filled again; never contended, the lock only lets the whole be
    /// shared.
    used: Mutex<Receiver<Vec<PacketRow>>>,
    thread: JoinHandle<Measurement>,
}

impl Worker {
    /// Starts a thread with a measurement; `None`, and the measurement untouched, where no thread
    /// can be had.
    fn start(measurement: &mut Measurement) -> Option<Self> {
        let (give, take) = sync_channel::<Measurement>(1);
        let (batches, waiting) = sync_channel::<Vec<PacketRow>>(WAITING_BATCHES);
        let (give_back, used) = sync_channel(WAITING_BATCHES);
        let work = move || {
            let mut measurement = take.recv().unwrap_or_default();
            while let Ok(mut batch) = waiting.recv() {
                measurement.take(&mut batch);
                batch.clear();
                // Nobody may want it back any more.
                let _ = give_back.try_send(batch);
            }
            measurement
        };
        let thread = Builder::new().name("measurement".into()).spawn(work).ok()?;
        let _ = give.send(std::mem::take(measurement));
        Some(Self { batches, used: Mutex::new(used), thread })
    }

    /// Hands over a batch and returns an empty one.
    fn hand_over(&mut self, batch: Vec<PacketRow>) -> Vec<PacketRow> {
        // The thread ends before its sender only by a panic, which `settle` passes on.
        let _ = self.batches.send(batch);
        let used = match self.used.get_mut() {
            Ok(used) => used.try_recv(),
            Err(poisoned) => poisoned.into_inner().try_recv(),
        };
        used.unwrap_or_else(|_| Vec::with_capacity(BATCH_ROWS))
    }
}

/// A measurement that rows are handed to; with the thread while there is one.
pub(super) struct Measuring {
    measurement: Measurement,
    worker: Option<Worker>,
}

impl Measuring {
    pub fn new(measurement: Measurement) -> Self {
        Self { measurement, worker: None }
    }

    /// Hands over a full batch, and gives an empty one for the next rows.
    pub fn hand_over(&mut self, mut batch: Vec<PacketRow>) -> Vec<PacketRow> {
        if self.worker.is_none() {
            self.worker = Worker::start(&mut self.measurement);
        }
        match &mut self.worker {
            Some(worker) => worker.hand_over(batch),
            None => {
                self.measurement.take(&mut batch);
                batch.clear();
                batch
            }
        }
    }

    /// Measures the last rows, here and now.
    pub fn finish(&mut self, rows: &mut [PacketRow]) {
        self.settle();
        self.measurement.take(rows);
    }

    /// The measurement as far as rows were handed over.
    pub fn settled(&mut self) -> &mut Measurement {
        self.settle();
        &mut self.measurement
    }

    fn settle(&mut self) {
        if let Some(worker) = self.worker.take() {
            drop(worker.batches);
            match worker.thread.join() {
                Ok(measurement) => self.measurement = measurement,
                Err(panic) => resume_unwind(panic),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: u32) -> Vec<PacketRow> {
        let row = |index: u32| PacketRow {
            time_ns: i64::from(index),
            flow: index % 7,
            frame_bytes: 100,
            marks: PacketRow::FORWARD,
            ..Default::default()
        };
        (0..count).map(row).collect()
    }

    #[test]
    fn a_thread_measures_what_would_be_measured_here() {
        let all = rows(5 * BATCH_ROWS as u32 + 17);
        let new = || Measurement::new(FlowMeter::default(), true, None);
        let mut here = new();
        for piece in all.chunks(BATCH_ROWS) {
            here.take(&mut piece.to_vec());
        }
        let mut beside = Measuring::new(new());
        let mut pieces = all.chunks_exact(BATCH_ROWS);
        for piece in pieces.by_ref() {
            assert!(beside.hand_over(piece.to_vec()).is_empty());
        }
        beside.finish(&mut pieces.remainder().to_vec());
        let beside = beside.settled();
        assert_eq!(beside.chunks, here.chunks);
        let counts = |measurement: &Measurement| {
            measurement
                .meter
                .flows()
                .iter()
                .map(|flow| (flow.key, flow.packets, flow.last_ns))
                .collect::<Vec<_>>()
        };
        assert_eq!(counts(beside), counts(&here));
    }
}
