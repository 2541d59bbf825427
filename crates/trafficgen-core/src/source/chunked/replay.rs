//! What policies would have chosen in the place of a recorded player: each choice is made in the
//! situation that the recorded choices led to.

use super::parameters::Parameters;
use super::policy::{Decider, Download};

/// A segment as it was recorded; times in s.
#[derive(Clone, Copy, Debug)]
pub struct RecordedSegment {
    pub asked_at_s: f64,
    /// From the request to the last byte.
    pub elapsed_s: f64,
    pub bytes: u64,
    pub level: usize,
    /// In the buffer when it was asked for, and when it had come.
    pub buffer_before_s: f64,
    pub buffer_after_s: f64,
    /// For how long nothing was asked for before it, as the buffer was full.
    pub waited_s: f64,
}

/// Return the rung that the policy of `parameters` takes for each of the segments, where all
/// before it were at the recorded rungs.
///
/// # Errors
/// A sentence that names the parameter and what it must be, or a level that the ladder lacks.
pub fn replay_choices(
    parameters: &Parameters,
    segments: &[RecordedSegment],
) -> Result<Vec<usize>, String> {
    parameters.validate()?;
    let ladder = &parameters.ladder_kbps;
    if let Some(wrong) = segments.iter().find(|segment| segment.level >= ladder.len()) {
        return Err(format!("ladder_kbps has no level {}", wrong.level));
    }
    // The manifest tells a player how large the segments are, next to their rung's mean.
    let factor = |one: &RecordedSegment| {
        one.bytes as f64 / (125.0 * ladder[one.level] * parameters.segment_s)
    };
    let factors: Vec<f64> = segments.iter().map(factor).collect();
    let mut decider = Decider::new(parameters.policy_settings());
    let choose = |(number, segment): (usize, &RecordedSegment)| {
        if segment.waited_s > 0.0 {
            decider.waited(segment.waited_s);
        }
        let RecordedSegment { asked_at_s, buffer_before_s, .. } = *segment;
        let choice = decider.next(asked_at_s, buffer_before_s, false, number, &factors).level;
        decider.take(segment.level);
        decider.observe(&Download {
            bytes: segment.bytes,
            elapsed_s: segment.elapsed_s,
            counted_bytes: segment.bytes,
            counted_s: segment.elapsed_s,
            buffer_s: segment.buffer_after_s,
        });
        choice
    };
    Ok(segments.iter().enumerate().map(choose).collect())
}

#[cfg(test)]
mod unit_tests {
    use serde_json::json;

    use super::*;

    fn parameters(policy: &str) -> Parameters {
        let given = json!({
            "ladder_kbps": [500.0, 1000.0, 2000.0], "segment_s": 2.0, "duration_s": 60.0,
            "choice": "buffer", "connections": 1, "audio_kbps": 0.0, "buffer_s": 20.0,
            "start_s": 2.0, "resume_s": 2.0, "pace_share": 0.0, "size_sigma": 0.0,
            "reservoir_share": 0.25, "cushion_share": 0.5, "throughput_segments": 5,
            "safety_share": 0.85, "growth_empty_share": 0.875, "growth_full_share": 0.5,
            "request_bytes": 400, "response_header_bytes": 300, "manifest_bytes": 4000, "tcp": {},
            "policy": policy, "throughput_share": 0.8, "throughput_up_steps": 1,
        });
        serde_json::from_value(given).expect("parameters of a player")
    }

    /// A segment that came at 2,600 kbit/s, of which 0.8 are 2,080.
    fn segment(number: usize, level: usize, buffer_s: f64) -> RecordedSegment {
        let bytes = [125_000, 250_000, 500_000][level];
        let elapsed_s = bytes as f64 / 325_000.0;
        RecordedSegment {
            asked_at_s: 2.0 * number as f64,
            elapsed_s,
            bytes,
            level,
            buffer_before_s: buffer_s,
            buffer_after_s: buffer_s - elapsed_s + 2.0,
            waited_s: 0.0,
        }
    }

    #[test]
    fn each_choice_follows_the_recorded_rung_before_it() {
        let levels = [0, 1, 0, 0, 2];
        let recorded: Vec<_> =
            levels.iter().enumerate().map(|(at, level)| segment(at, *level, 1.0)).collect();
        // One rung up from the recorded one; the highest within 0.8 is the third.
        let choices = replay_choices(&parameters("throughput"), &recorded);
        assert_eq!(choices, Ok(vec![0, 1, 2, 1, 1]));
    }

    #[test]
    fn the_buffer_is_the_recorded_one() {
        // The map of BBA-0: 500 kbit/s at 4.5 s, 2 Mbit/s at 13.5 s, left when the next is passed.
        let recorded = [segment(0, 0, 1.0), segment(1, 0, 14.0), segment(2, 2, 5.0)];
        let choices = replay_choices(&parameters("buffer"), &recorded);
        assert_eq!(choices, Ok(vec![0, 2, 0]));
        let kept = [segment(0, 1, 9.0), segment(1, 1, 8.0)];
        assert_eq!(replay_choices(&parameters("buffer"), &kept), Ok(vec![1, 1]));
    }

    #[test]
    fn a_level_beyond_the_ladder_is_refused() {
        let mut one = segment(0, 0, 1.0);
        one.level = 3;
        let problem = "ladder_kbps has no level 3".to_owned();
        assert_eq!(replay_choices(&parameters("fixed"), &[one]), Err(problem));
    }
}
