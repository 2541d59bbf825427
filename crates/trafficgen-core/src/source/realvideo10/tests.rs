//! The state machine by parts, and whole sessions over paths that show one mechanism each.

use serde_json::{json, Value};

use super::packet::{MediaPacket, Report};
use super::parameters::Parameters;
use super::player::{Change, Player};
use super::response::{Action, LossResponse};
use crate::des::scenario::ScenarioError;
use crate::des::{ns, simulate, Outcome, Phase, Scenario, SessionEvent, Time};

const SECOND: Time = 1_000_000_000;
type Tested = Result<(), Box<dyn std::error::Error>>;

const VALUES: &str = r#"{
    "encoding_rate_kbps": 512, "turboplay": false,
    "clips": [
        {"audience_kbps": 512, "true_kbps": 450, "audio_kbps": 32, "buffering_s": 6.0,
        "packet_payload_bytes": 1000, "frames_per_s": 30},
        {"audience_kbps": 768, "true_kbps": 730, "audio_kbps": 32, "buffering_s": 6.0,
        "packet_payload_bytes": 1000, "frames_per_s": 30},
        {"audience_kbps": 1000, "true_kbps": 1000, "audio_kbps": 32, "buffering_s": 6.0,
        "packet_payload_bytes": 1000, "frames_per_s": 30}
    ],
    "clip_length_s": 40, "surestream_length_s": 40, "surestream_buffering_s": 6.0,
    "quiet_s": 2.0, "header_interval_s": 0.5, "header_payload_bytes": 200,
    "rise_from_share": 0.3, "rise_time_constant_s": 0.3,
    "before_playback_multiple": 2.0, "after_playback_multiple": 4.0, "accelerated_cap_kbps": 550,
    "least_multiple": 1.05, "eased_multiple": 1.02,
    "ahead_s": 8.0, "accelerated_goodput_share": 0.75,
    "rate_sigma": 0.0, "rate_bound_share": 0.1, "rate_time_constant_s": 4.0,
    "asked_variation_share": 0.5, "burst_interval_s": 0.03,
    "train_packets": 30, "train_report_s": 0.3, "estimate_window_packets": 5,
    "turboplay_pace_ratio": 1.05,
    "turboplay_limit_s": 10, "turboplay_playback_media_s": 5.0,
    "report_interval_s": 1.0, "congestion_loss": 0.03, "congestion_least_bytes": 2000,
    "settling_s": 3.0,
    "clear_s": 10.0, "levels_least_bytes": 3000, "lasting_reports": [3, 5], "clear_most_s": 80.0,
    "no_parts_up_to_kbps": 450, "thinned_share": 0.5, "give_up_count": 2,
    "audio_burst_interval_s": 2.0,
    "parts_loss": 0.2, "parts_goodput_share": 0.95, "resend_share": 0.25,
    "playback_least_s": 2.5, "silence_limit_s": 30, "server_tcp": {}, "client_tcp": {}
}"#;

fn values(changes: &[(&str, Value)]) -> Result<Value, serde_json::Error> {
    let mut values: Value = serde_json::from_str(VALUES)?;
    for (name, value) in changes {
        values[*name] = value.clone();
    }
    Ok(values)
}

fn parameters(changes: &[(&str, Value)]) -> Result<Parameters, serde_json::Error> {
    serde_json::from_value(values(changes)?)
}

fn response(clip: Value) -> Result<LossResponse, Box<dyn std::error::Error>> {
    let parameters = parameters(&[("encoding_rate_kbps", clip)])?;
    let programme = parameters.programme()?;
    Ok(LossResponse::new(&parameters, &programme, 0))
}

fn report(received: u32, lost: u32) -> Report {
    Report {
        received,
        lost,
        bytes: 1000 * u64::from(received),
        interval_s: 1.0,
        playing: true,
        ..Report::default()
    }
}

fn session(rate_kbps: u32, changes: &[(&str, Value)]) -> Result<Outcome, ScenarioError> {
    let scenario = json!({
        "seed": 1, "end_s": 300,
        "links": [
            {"name": "out", "capacity": {"constant": {"rate_bps": 1000 * rate_kbps}},
            "delay_s": 0.05, "queue": {"bytes": 51200}},
            {"name": "back", "delay_s": 0.05}
        ],
        "agents": [{"name": "media", "kind": "realvideo10", "parameters": values(changes)?,
        "awaited": true,
                    "forward": [0], "reverse": [1]}]
    });
    simulate(&Scenario::from_json(&scenario.to_string())?)
}

fn first_time(outcome: &Outcome, wanted: impl Fn(&SessionEvent) -> bool) -> Option<Time> {
    outcome.agents[0].log.events.iter().find(|(_, event)| wanted(event)).map(|(at, _)| *at)
}

fn dropped(outcome: &Outcome) -> u64 {
    outcome.links[0].dropped_queue
}

#[test]
fn a_clip_of_a_low_rate_leaves_frames_out_then_all_video_and_never_comes_back() -> Tested {
    let mut response = response(json!(512))?;
    assert_eq!(response.on_report(SECOND, &report(50, 5), 1000, false), Action::Thin);
    // What was sent before still gets lost: no new sign.
    assert_eq!(response.on_report(2 * SECOND, &report(50, 5), 1000, false), Action::Stay);
    assert_eq!(response.on_report(12 * SECOND, &report(50, 0), 1000, false), Action::Restore);
    assert_eq!(response.on_report(13 * SECOND, &report(50, 5), 1000, false), Action::AudioOnly);
    for later in 14..60 {
        assert_eq!(response.on_report(later * SECOND, &report(50, 0), 1000, false), Action::Stay);
    }
    Ok(())
}

#[test]
fn congestion_while_sending_ahead_ends_that_first() -> Tested {
    let mut response = response(json!(512))?;
    assert_eq!(response.on_report(SECOND, &report(50, 5), 1000, true), Action::EndAcceleration);
    Ok(())
}

#[test]
fn loss_changes_what_is_sent_only_once_playback_has_begun() -> Tested {
    let mut response = response(json!("surestream"))?;
    let before = Report { playing: false, ..report(100, 20) };
    for second in 1..7 {
        assert_eq!(response.on_report(second * SECOND, &before, 1000, false), Action::Stay);
    }
    // A halt after the start is no time before it.
    let halted = Report { playhead_s: 0.5, ..before };
    assert_eq!(response.on_report(7 * SECOND, &halted, 1000, false), Action::Stay);
    assert_eq!(response.on_report(8 * SECOND, &halted, 1000, false), Action::Stay);
    assert_eq!(response.on_report(9 * SECOND, &halted, 1000, false), Action::Level(1));
    Ok(())
}

#[test]
fn loss_of_little_changes_nothing() -> Tested {
    let mut response = response(json!(512))?;
    assert_eq!(response.on_report(SECOND, &report(50, 1), 1000, false), Action::Stay);
    assert_eq!(response.on_report(2 * SECOND, &report(500, 10), 1000, false), Action::Stay);
    Ok(())
}

#[test]
fn a_clip_of_a_high_rate_leaves_parts_out_when_heavy_loss_lasts() -> Tested {
    let mut response = response(json!(1000))?;
    let heavy = report(90, 30);
    assert_eq!(response.on_report(SECOND, &heavy, 1000, false), Action::Stay);
    assert_eq!(response.on_report(2 * SECOND, &report(110, 5), 1000, false), Action::Stay);
    assert_eq!(response.on_report(3 * SECOND, &heavy, 1000, false), Action::Stay);
    assert_eq!(
        response.on_report(4 * SECOND, &heavy, 1000, false),
        Action::Parts(0.95 * 720_000.0)
    );
    Ok(())
}

#[test]
fn surestream_goes_to_what_the_path_carried_and_up_again_when_it_is_clear() -> Tested {
    let mut response = response(json!("surestream"))?;
    let congested = report(100, 20);
    assert_eq!(response.on_report(SECOND, &congested, 1000, false), Action::Stay);
    assert_eq!(response.on_report(2 * SECOND, &congested, 1000, false), Action::Stay);
    assert_eq!(response.on_report(3 * SECOND, &congested, 1000, false), Action::Level(1));
    assert_eq!(response.on_report(13 * SECOND, &report(91, 0), 1000, false), Action::Stay);
    // The top level failed within its first 10 s: the path must be clear for twice as long.
    assert_eq!(response.on_report(22 * SECOND, &report(91, 0), 1000, false), Action::Stay);
    assert_eq!(response.on_report(23 * SECOND, &report(91, 0), 1000, false), Action::Level(2));
    Ok(())
}

#[test]
fn playback_begins_at_the_clips_time_stalls_without_media_and_goes_on() -> Tested {
    let parameters = parameters(&[])?;
    let mut player = Player::new(&parameters, &parameters.programme()?, 0);
    let media = |end_s| MediaPacket {
        payload_bytes: 1000,
        level: 2,
        encoding_bps: 450e3,
        frames_per_s: 30.0,
        end_s,
    };
    assert_eq!(player.on_packet(0, 0, false, &media(4.0)), None);
    assert_eq!(player.advance(5 * SECOND), None);
    assert_eq!(player.advance(6 * SECOND), Some(Change::Started));
    assert_eq!(player.playhead_s(8 * SECOND), 2.0);
    assert_eq!(player.advance(10 * SECOND), Some(Change::Stalled));
    assert_eq!(player.on_packet(11 * SECOND, 3, false, &media(5.0)), Some((1, 3)));
    assert_eq!(player.advance(11 * SECOND), None);
    assert_eq!(player.on_packet(12 * SECOND, 4, false, &media(7.0)), None);
    assert_eq!(player.advance(12 * SECOND), Some(Change::Resumed));
    Ok(())
}

#[test]
fn a_session_is_quiet_then_sends_ahead_then_plays_to_the_end() -> Tested {
    let outcome = session(10_000, &[])?;
    let began = first_time(&outcome, |event| *event == SessionEvent::PlaybackStart);
    let steady = first_time(&outcome, |event| *event == SessionEvent::Phase(Phase::Playout));
    let first = outcome.first_media.ok_or("no media")?;
    let quiet = |at: Time| at - first < ns(2.0);
    let sent =
        outcome.rows.iter().filter(|row| row.payload_bytes == 200 && quiet(row.time_ns)).count();
    let loud =
        outcome.rows.iter().filter(|row| row.payload_bytes == 1000 && quiet(row.time_ns)).count();
    assert_eq!((sent, loud), (4, 0));
    assert!(began.is_some_and(|at| (at - first - ns(6.05)).abs() < ns(0.01)));
    assert!(steady > began);
    assert_eq!(dropped(&outcome), 0);
    assert!(outcome.agents[0].finished);
    Ok(())
}

#[test]
fn turboplay_measures_the_link_and_fills_it_until_the_player_is_ahead() -> Tested {
    let outcome = session(1500, &[("turboplay", json!(true))])?;
    let estimate = outcome.agents[0].log.events.iter().find_map(|(_, event)| match event {
        SessionEvent::Fact { name: "link_estimate_bps", value } => Some(*value),
        _ => None,
    });
    assert!(estimate.is_some_and(|bps| (bps / 1.5e6 - 1.0).abs() < 0.01));
    assert!(first_time(&outcome, |event| *event == SessionEvent::Phase(Phase::Playout)).is_some());
    Ok(())
}

#[test]
fn a_link_below_a_low_rate_leaves_audio_and_a_link_below_a_high_rate_leaves_video() -> Tested {
    let low = session(300, &[])?;
    assert!(first_time(&low, |event| *event == SessionEvent::AudioOnly).is_some());
    let high = session(750, &[("encoding_rate_kbps", json!(1000))])?;
    assert!(first_time(&high, |event| *event == SessionEvent::AudioOnly).is_none());
    assert!(first_time(&high, |event| *event == SessionEvent::Thinned).is_some());
    Ok(())
}

#[test]
fn with_turboplay_loss_is_not_answered() -> Tested {
    let outcome = session(300, &[("turboplay", json!(true))])?;
    assert!(dropped(&outcome) > 100);
    assert!(first_time(&outcome, |event| matches!(
        event,
        SessionEvent::Thinned | SessionEvent::AudioOnly
    ))
    .is_none());
    Ok(())
}

#[test]
fn each_lost_packet_is_sent_again_at_most_once() -> Tested {
    let outcome = session(600, &[("encoding_rate_kbps", json!(768))])?;
    let resent =
        outcome.rows.iter().filter(|row| row.retransmission && row.payload_bytes == 1000).count()
            as u64;
    assert!(resent > 0 && resent <= dropped(&outcome));
    Ok(())
}

#[test]
fn numbers_that_make_no_sense_are_named() -> Tested {
    for (name, value) in [
        ("encoding_rate_kbps", json!(300)),
        ("encoding_rate_kbps", json!("all")),
        ("clips", json!([])),
        ("thinned_share", json!(1.5)),
        ("lasting_reports", json!([6, 5])),
        ("burst_interval_s", json!(0.0)),
        ("header_payload_bytes", json!(2000)),
        ("rate_sigma", json!(-0.1)),
    ] {
        let error = parameters(&[(name, value)])?.programme().err().ok_or(name)?;
        assert!(error.contains(name), "{name}: {error}");
    }
    Ok(())
}
