//! From the parameters to the settings of the policies; a number that is not given is that of the
//! paper or the player that the policy comes from.

use super::bola::BolaSettings;
use super::choice::{Choice, ChoiceSettings};
use super::mpc::MpcSettings;
use super::parameters::{AudioOrder, Parameters};
use super::policy::{Policy, PolicySettings};
use super::throughput::{EstimatorSettings, ThroughputSettings};
use super::track::Track;

impl Parameters {
    /// A segment is asked for when no more than this is in the buffer, s, whatever the rung.
    pub fn target_s(&self) -> f64 {
        self.buffer_target_s.unwrap_or(self.buffer_s - self.segment_s)
    }

    /// What the buffer may hold while rung `level` is played, s.
    pub fn capacity_s(&self, level: usize) -> f64 {
        let mut capacity_s = match self.buffer_target_s {
            Some(target_s) => target_s + self.segment_s,
            None => self.buffer_s,
        };
        if let (Some(top_s), true) = (self.top_buffer_target_s, level + 1 == self.ladder_kbps.len())
        {
            capacity_s = capacity_s.max(top_s + self.segment_s);
        }
        if let Some(bytes) = self.buffer_bytes {
            let by_bytes_s = bytes / (125.0 * self.ladder_kbps[level]);
            let longest_s = self.longest_buffer_s.unwrap_or(f64::INFINITY);
            capacity_s = capacity_s.max(by_bytes_s.min(longest_s) + self.segment_s);
        }
        capacity_s
    }

    /// One request at a time, for audio and video over the same connections.
    pub fn asks_in_turn(&self) -> bool {
        self.audio_kbps > 0.0 && self.audio_order == Some(AudioOrder::InTurn)
    }

    /// Audio that has a clock of its own; None where there is none.
    pub fn audio_track(&self) -> Option<Track> {
        if self.audio_kbps <= 0.0 || self.audio_order.unwrap_or_default() == AudioOrder::Together {
            return None;
        }
        let segment_s = self.audio_segment_s.unwrap_or(self.segment_s);
        let video_s = f64::from(self.segments()) * self.segment_s;
        Some(Track::new(segment_s, (video_s / segment_s).ceil() as u32))
    }

    pub fn policy_settings(&self) -> PolicySettings {
        let ladder_bps: Vec<f64> = self.ladder_kbps.iter().map(|kbps| 1000.0 * kbps).collect();
        let policy = self.policy.unwrap_or(match self.choice {
            Choice::Buffer => Policy::Buffer,
            Choice::Rate => Policy::Rate,
            Choice::Hybrid => Policy::Hybrid,
        });
        PolicySettings {
            policy,
            segment_s: self.segment_s,
            choice: self.choice_settings(policy, &ladder_bps),
            estimator: self.estimator_settings(),
            throughput: self.throughput_settings(),
            bola: self.bola_settings(&ladder_bps),
            mpc: MpcSettings {
                horizon: self.mpc_horizon_segments.unwrap_or(5) as usize,
                forecast_segments: self.mpc_forecast_segments.unwrap_or(5) as usize,
                robust: self.mpc_robust.unwrap_or(true),
                stall_weight: self.mpc_stall_weight.unwrap_or(4.3),
                change_weight: self.mpc_change_weight.unwrap_or(1.0),
            },
            dynamic_on_s: self.dynamic_on_s.unwrap_or(12.0),
            dynamic_off_s: self.dynamic_off_s.unwrap_or(6.0),
            buffer_share: self.buffer_share,
            fixed_bps: 1000.0 * self.fixed_kbps.unwrap_or(f64::INFINITY),
            ladder_bps,
        }
    }

    /// Settings of the choice; its shares are of what the buffer can hold when a segment is asked
    /// for.
    fn choice_settings(&self, policy: Policy, ladder_bps: &[f64]) -> ChoiceSettings {
        let room_s = self.target_s();
        ChoiceSettings {
            choice: match policy {
                Policy::Buffer => Choice::Buffer,
                Policy::Rate => Choice::Rate,
                _ => Choice::Hybrid,
            },
            ladder_bps: ladder_bps.to_vec(),
            segment_s: self.segment_s,
            reservoir_s: self.reservoir_share * room_s,
            cushion_s: self.cushion_share * room_s,
            throughput_segments: self.throughput_segments as usize,
            safety_share: self.safety_share,
            growth_empty_share: self.growth_empty_share,
            growth_full_share: self.growth_full_share,
        }
    }

    fn estimator_settings(&self) -> EstimatorSettings {
        EstimatorSettings {
            average: self.throughput_average.unwrap_or_default(),
            half_lives_s: [
                self.throughput_fast_half_life_s.unwrap_or(3.0),
                self.throughput_slow_half_life_s.unwrap_or(8.0),
            ],
            weight_multiple: self.throughput_weight_multiple.unwrap_or(1.0),
            newest_share: self.throughput_newest_share.unwrap_or(0.3),
            segments: self.throughput_window_segments.unwrap_or(4) as usize,
            min_bytes: u64::from(self.throughput_least_bytes.unwrap_or(0)),
            min_s: self.throughput_least_s.unwrap_or(0.0),
            trusted_bytes: u64::from(self.throughput_trusted_bytes.unwrap_or(0)),
            start_bps: self.start_kbps.map(|kbps| 1000.0 * kbps),
        }
    }

    fn throughput_settings(&self) -> ThroughputSettings {
        let share = self.throughput_share.unwrap_or(0.9);
        ThroughputSettings {
            share,
            up_share: self.throughput_up_share.unwrap_or(share),
            up_steps: self.throughput_up_steps.map_or(usize::MAX, |steps| steps as usize),
            interval_s: self.throughput_interval_s.unwrap_or(0.0),
            up_buffer_s: self.up_buffer_s.unwrap_or(0.0),
            down_buffer_s: self.down_buffer_s.unwrap_or(f64::INFINITY),
            starvation_s: self.starvation_s,
        }
    }

    fn bola_settings(&self, ladder_bps: &[f64]) -> BolaSettings {
        BolaSettings {
            form: self.bola_form.unwrap_or_default(),
            ladder_bps: ladder_bps.to_vec(),
            segment_s: self.segment_s,
            capacity_s: self.target_s() + self.segment_s,
            gp: self.bola_gp.unwrap_or(5.0),
            target_s: self.target_s(),
            low_s: self.bola_low_s.unwrap_or(10.0),
            rung_s: self.bola_rung_s.unwrap_or(2.0),
        }
    }
}
