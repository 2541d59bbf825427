//! The sending half: what is outstanding, when it is sent, sent again and given up.

mod acknowledgements;
mod burst;
mod pacing;
mod rack;
mod recovery;
mod timer;
mod transmit;
mod undo;

use burst::Burst;
use rack::LossProbe;
use recovery::Reduction;
use timer::Alarm;
use undo::{Doubt, Undo};

use super::congestion::{control, Control};
use super::pacing::Pacer;
use super::rack::Rack;
use super::rates::DeliveryRates;
use super::receiver::NEVER;
use super::rto::RetransmissionTimeout;
use super::scoreboard::Scoreboard;
use super::{TcpConfig, TcpStatistics, Time};

/// What the sender is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// Fast recovery.
    Recovery,
    /// Repair after a timeout.
    Timeout,
}

#[derive(Debug)]
pub(super) struct Sender {
    /// Everything below is acknowledged.
    una: u64,
    /// Next new offset.
    nxt: u64,
    /// Highest offset ever sent: a rejected window probe takes `nxt` back.
    sent: u64,
    /// End of what the application wrote.
    queued: u64,
    closing: bool,
    buffer_bytes: u64,
    mss: u64,
    /// Right edge of the other end's window, and the widest it was.
    edge: u64,
    widest_window: u64,
    phase: Phase,
    /// Recovery lasts until this is acknowledged.
    recovery_point: u64,
    /// Highest offset that had been sent at the last timeout.
    repeated_below: u64,
    duplicates: u64,
    /// Send the first outstanding segment again, whatever the window (NewReno).
    resend_head: bool,
    /// Let one segment pass that the window would hold back.
    free_pass: bool,
    /// What duplicate acknowledgements add to the window in NewReno recovery.
    inflation: u64,
    /// Whether the retransmission timer may be restarted by partial acknowledgements (RFC 6582 4).
    partial_seen: bool,
    reduction: Reduction,
    congestion: Box<dyn Control>,
    /// Kept for a control that goes by samples.
    rates: Option<Box<DeliveryRates>>,
    pacer: Pacer,
    board: Scoreboard,
    rto: RetransmissionTimeout,
    timer: Time,
    alarm: Alarm,
    /// Kept where losses are found by time.
    rack: Option<Box<Rack>>,
    /// When more of what is outstanding will be lost.
    late_at: Option<Time>,
    loss_probe: Option<LossProbe>,
    /// What the present repair, or the last one, took.
    undo: Option<Undo>,
    undoes: bool,
    doubt: Doubt,
    /// The acknowledgement at hand reports what was sent only once.
    original_came: bool,
    /// Something new has left since the timer was started.
    sent_new: bool,
    probing: bool,
    probes: u32,
    timeouts_in_row: u32,
    /// A segment whose round trip is timed, where there are no timestamps: its end and when it
    /// left.
    timed: Option<(u64, Time)>,
    last_sent: Time,
    burst: Burst,
    window_limited: bool,
    limited_at: u64,
    /// The most that was under way since the window was full, and when it was.
    most_used_bytes: u64,
    full_at: Time,
    shortest_rtt_ns: Time,
    gave_up: bool,
    sack: bool,
    timestamps: bool,
    /// Marks are heard of again once this is acknowledged, and the next new data tells that the
    /// window was reduced.
    reduced_until: u64,
    tells_reduction: bool,
    nagle: bool,
    restart_after_idle: bool,
    smooth_reduction: bool,
    /// Find retransmissions that were lost without waiting for the timer.
    repeats_again: bool,
}

impl Sender {
    pub fn new(config: &TcpConfig, mss: u64) -> Self {
        let congestion = control(config, mss);
        Self {
            una: 0,
            nxt: 0,
            sent: 0,
            queued: 0,
            closing: false,
            buffer_bytes: config.send_buffer_bytes,
            mss,
            edge: 0,
            widest_window: 0,
            phase: Phase::Open,
            recovery_point: 0,
            repeated_below: 0,
            duplicates: 0,
            resend_head: false,
            free_pass: false,
            inflation: 0,
            partial_seen: false,
            reduction: Reduction::default(),
            rates: congestion.goes_by_samples().then(Box::default),
            pacer: Pacer::default(),
            congestion,
            board: Scoreboard::default(),
            rto: RetransmissionTimeout::new(config),
            timer: NEVER,
            alarm: Alarm::Timeout,
            rack: config.uses_rack().then(Box::default),
            late_at: None,
            loss_probe: None,
            undo: None,
            undoes: config.undoes(),
            doubt: Doubt::None,
            original_came: false,
            sent_new: false,
            probing: false,
            probes: 0,
            timeouts_in_row: 0,
            timed: None,
            last_sent: 0,
            burst: Burst::default(),
            window_limited: false,
            limited_at: 0,
            most_used_bytes: 0,
            full_at: 0,
            shortest_rtt_ns: Time::MAX,
            gave_up: false,
            sack: false,
            timestamps: false,
            reduced_until: 0,
            tells_reduction: false,
            nagle: config.nagle,
            restart_after_idle: config.restart_after_idle,
            smooth_reduction: config.proportional_rate_reduction,
            repeats_again: config.lost_retransmission_detection,
        }
    }

    /// The handshake is over: what both ends agreed on, the round trip it took if it was not
    /// repeated, the window.
    pub fn open(
        &mut self,
        now: Time,
        sack: bool,
        timestamps: bool,
        round_trip_ns: Option<Time>,
        window_bytes: u32,
    ) {
        self.sack = sack;
        if !sack {
            self.rack = None;
        }
        self.timestamps = timestamps;
        if let Some(sample_ns) = round_trip_ns {
            self.rto.sample(sample_ns);
        }
        self.full_at = now;
        self.congestion.on_open(now, round_trip_ns);
        self.widen(u64::from(window_bytes));
    }

    /// Accepts what fits of `bytes` into the buffer.
    pub fn write(&mut self, bytes: u64) -> u64 {
        self.note_shortage();
        let accepted = if self.closing { 0 } else { bytes.min(self.space_bytes()) };
        self.queued += accepted;
        accepted
    }

    pub fn space_bytes(&self) -> u64 {
        self.buffer_bytes - (self.queued - self.una.min(self.queued))
    }

    pub fn close(&mut self) {
        self.closing = true;
    }

    /// Whether everything and the FIN were acknowledged.
    pub fn has_ended(&self) -> bool {
        self.closing && self.una > self.queued
    }

    pub fn gave_up(&self) -> bool {
        self.gave_up
    }

    pub fn timer(&self) -> Time {
        self.timer.min(self.pacer.timer())
    }

    /// The present retransmission timeout.
    pub fn timeout_ns(&self) -> Time {
        self.rto.timeout_ns()
    }

    /// Where the next new byte goes.
    pub fn next_offset(&self) -> u64 {
        self.nxt
    }

    /// Offset after the last byte, and after the FIN when there is to be one.
    fn end(&self) -> u64 {
        self.queued + u64::from(self.closing)
    }

    fn widen(&mut self, window_bytes: u64) {
        self.edge = self.edge.max(self.una + window_bytes);
        self.widest_window = self.widest_window.max(window_bytes);
    }

    fn pipe_bytes(&self) -> u64 {
        self.board.pipe_bytes(self.una, self.nxt)
    }

    pub fn report(&self, statistics: &mut TcpStatistics) {
        statistics.srtt_ns = self.rto.smoothed_ns();
        statistics.rto_ns = self.rto.timeout_ns();
        statistics.cwnd_bytes = self.congestion.window_bytes();
        statistics.ssthresh_bytes = self.congestion.threshold_bytes();
        statistics.acknowledged_bytes = self.una.min(self.queued);
        statistics.pipe_bytes = self.pipe_bytes();
    }
}
