//! Whole sessions over paths that nothing competes for, and sessions under loss.

use serde_json::{json, Value};

use crate::des::label::Phase;
use crate::des::{simulate, Outcome, Scenario, SessionEvent};

fn parameters(changes: &[(&str, Value)]) -> Value {
    let mut parameters = json!({
        "encoding_rate_kbps": 340,
        "encodings": [
            {"rate_kbps": 58, "audio_kbps": 16, "frames_per_s": 15},
            {"rate_kbps": 340, "audio_kbps": 40, "frames_per_s": 30},
            {"rate_kbps": 548, "audio_kbps": 48, "frames_per_s": 30},
            {"rate_kbps": 1128, "audio_kbps": 128, "frames_per_s": 30}
        ],
        "clip_s": 60.0, "silence_s": 5.0, "probe_delay_s": 0.3, "probe_wait_s": 3.0,
        "probe_packets": 3,
        "probe_packet_bytes": 1500, "packet_payload_bytes": 1000,
        "accelerated_share_of_capacity": 0.5,
        "acceleration_limit_share_of_capacity": 1.0, "multiples": [{"rate_kbps": 340,
        "multiple": 2.0}],
        "bursts_accelerated": {"idle_s": 0.3, "gap_s": 0.001}, "bursts_normal": {"idle_s": 0.475,
        "gap_s": 0.0015},
        "buffer_full_s": 16.5, "requests_buffering": 2, "requests_playing": 1,
        "request_interval_s": 1.0,
        "request_lifetime_s": 5.0, "packets_per_request": 6, "resend_share": 0.5,
        "reports_per_s": 12.0,
        "report_interval_s": 5.0, "verdict_start_s": 10.0, "verdict_seconds": 5,
        "verdict_loss_low": 0.03,
        "verdict_loss_high": 0.03, "response_s": 38.0, "response_share_of_capacity": 0.5,
        "half_frames_share": 0.5,
        "key_frames_share": 0.2, "key_frame_interval_s": 8.0, "sent_along_kbps": 58.0,
        "sent_along_share_of_capacity": 0.9, "rebuffer_s": 5.0
    });
    for (name, value) in changes {
        parameters[name] = value.clone();
    }
    parameters
}

fn run(rate_bps: f64, loss: &Value, changes: &[(&str, Value)]) -> Result<Outcome, String> {
    let scenario = json!({
        "seed": 3,
        "links": [
            {"name": "to client", "capacity": {"constant": {"rate_bps": rate_bps}},
            "delay_s": 0.045,
             "queue": {"packets": 80}, "loss": loss},
            {"name": "to server", "delay_s": 0.045}
        ],
        "agents": [{"name": "media", "kind": "wmedia9", "parameters": parameters(changes),
        "start_s": 0.0,
                    "awaited": true, "forward": [0], "reverse": [1]}],
        "end_s": 200.0
    });
    let scenario = Scenario::from_json(&scenario.to_string()).map_err(|error| error.to_string())?;
    simulate(&scenario).map_err(|error| error.to_string())
}

fn levels_bps(outcome: &Outcome) -> Vec<f64> {
    let events = outcome.agents[0].log.events.iter();
    events
        .filter_map(
            |(_, event)| {
                if let SessionEvent::Encoding { bps, .. } = event {
                    Some(*bps)
                } else {
                    None
                }
            },
        )
        .collect()
}

fn has(outcome: &Outcome, wanted: &SessionEvent) -> bool {
    outcome.agents[0].log.events.iter().any(|(_, event)| event == wanted)
}

fn media_payload_bytes(outcome: &Outcome) -> u64 {
    let rows = outcome.rows.iter();
    let media = rows.filter(|row| row.to_client && row.rtp.is_some() && !row.retransmission);
    media.map(|row| u64::from(row.payload_bytes) - 12).sum()
}

fn lost(rate: f64) -> Value {
    json!({"rate": rate, "mean_burst_packets": 1.0})
}

#[test]
fn a_clip_is_sent_whole_and_once_over_a_wide_link() -> Result<(), String> {
    let outcome = run(10e6, &Value::Null, &[])?;
    let clip_bytes = 340e3 / 8.0 * 60.0;
    assert!(
        (media_payload_bytes(&outcome) as f64 - clip_bytes).abs() < 10.0,
        "{}",
        media_payload_bytes(&outcome)
    );
    assert!(outcome.rows.iter().all(|row| row.rtp.is_none() || !row.retransmission));
    assert!(outcome.rows.iter().all(|row| row.drop.is_none()));
    assert!(outcome.agents[0].finished);
    Ok(())
}

#[test]
fn the_packet_pair_measures_the_link_and_picks_the_level_below_it() -> Result<(), String> {
    let ladder = json!([1128, 548, 340]);
    let outcome = run(725e3, &Value::Null, &[("ladder_kbps", ladder)])?;
    let estimate = outcome.agents[0].log.events.iter().find_map(|(_, event)| match event {
        SessionEvent::Fact { name: "estimate_bps", value } => Some(*value),
        _ => None,
    });
    assert!(estimate.is_some_and(|bps| (bps / 725e3 - 1.0).abs() < 1e-3), "{estimate:?}");
    // Video of 548, audio of 1128.
    assert_eq!(levels_bps(&outcome), [628e3]);
    assert_eq!(outcome.rows.iter().filter(|row| row.phase == Phase::Probe).count(), 3);
    Ok(())
}

#[test]
fn a_clip_above_half_of_the_capacity_buffers_at_its_own_rate() -> Result<(), String> {
    let buffering_s = |outcome: &Outcome| {
        let sent = outcome.rows.iter().filter(|row| row.phase == Phase::Buffering);
        sent.map(|row| row.time_ns)
            .max()
            .map(|last| (last - outcome.first_media.unwrap_or(0)) as f64 / 1e9)
    };
    let fast = run(725e3, &Value::Null, &[])?;
    let slow = run(600e3, &Value::Null, &[])?;
    assert!(
        buffering_s(&fast).is_some_and(|seconds| (7.8..9.0).contains(&seconds)),
        "{:?}",
        buffering_s(&fast)
    );
    assert!(
        buffering_s(&slow).is_some_and(|seconds| (16.0..17.5).contains(&seconds)),
        "{:?}",
        buffering_s(&slow)
    );
    Ok(())
}

#[test]
fn lost_packets_are_asked_for_and_come_again() -> Result<(), String> {
    let outcome = run(10e6, &lost(0.02), &[])?;
    let first_lost = outcome
        .rows
        .iter()
        .filter(|row| row.rtp.is_some() && !row.retransmission && row.drop.is_some());
    let again = outcome.rows.iter().filter(|row| row.retransmission && row.rtp.is_some());
    let (first_lost, again) = (first_lost.count() as f64, again.count() as f64);
    assert!(again >= 0.9 * first_lost, "{first_lost} lost, {again} sent again");
    Ok(())
}

#[test]
fn heavy_loss_near_the_start_thins_a_clip_of_one_rate_and_lowers_one_of_several(
) -> Result<(), String> {
    let loss = lost(0.15);
    let single = run(725e3, &loss, &[("encoding_rate_kbps", json!(548))])?;
    assert!(has(&single, &SessionEvent::Thinned));
    assert_eq!(levels_bps(&single), [548e3, 298e3]);
    let several = run(725e3, &loss, &[("ladder_kbps", json!([58, 340, 548]))])?;
    assert!(!has(&several, &SessionEvent::Thinned));
    assert_eq!(levels_bps(&several), [548e3, 348e3]);
    Ok(())
}

#[test]
fn a_narrow_link_leaves_the_audio_only() -> Result<(), String> {
    let outcome = run(250e3, &Value::Null, &[("encoding_rate_kbps", json!(548))])?;
    assert!(has(&outcome, &SessionEvent::AudioOnly));
    assert_eq!(levels_bps(&outcome), [548e3, 48e3]);
    assert!(outcome.agents[0].log.frames_dropped_at_sender > 300);
    Ok(())
}

#[test]
fn loss_that_starts_after_the_verdict_changes_nothing() -> Result<(), String> {
    let late = json!({"rate": 0.2, "mean_burst_packets": 1.0, "start_s": 16.0});
    let outcome = run(725e3, &late, &[("encoding_rate_kbps", json!(548))])?;
    assert_eq!(levels_bps(&outcome), [548e3]);
    Ok(())
}

#[test]
fn the_low_levels_go_along_only_where_there_is_room() -> Result<(), String> {
    let along = |outcome: &Outcome| {
        let number = outcome.flows.iter().position(|flow| flow.spec.name == "video-low");
        outcome.rows.iter().filter(|row| Some(row.flow as usize) == number).count()
    };
    let ladder = [("ladder_kbps", json!([58, 548]))];
    assert!(along(&run(725e3, &Value::Null, &ladder)?) > 50);
    assert_eq!(along(&run(650e3, &Value::Null, &ladder)?), 0);
    Ok(())
}

#[test]
fn nonsense_is_refused_by_name() {
    for (name, value) in
        [("encoding_rate_kbps", json!(999)), ("ladder_kbps", json!([])), ("clip_s", json!(0))]
    {
        let problem = run(1e6, &Value::Null, &[(name, value)]).err().unwrap_or_default();
        assert!(
            problem.contains("media") && (problem.contains(name) || problem.contains("999")),
            "{name}: {problem}"
        );
    }
}
