//! State machines of the session, with numbers of their own: none of these tests knows the
//! catalogue.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{json, Value};

use super::control::Status;
use super::packetiser::{MediaPacket, Packetiser};
use super::parameters::{Parameters, Programme, TcpResponse};
use super::playback::{Change, Playback};
use super::tcp_player::TcpPlayer;
use super::tcp_server::TcpServer;
use super::udp_player::{Report, UdpPlayer};
use super::udp_server::{Decision, UdpServer};
use crate::des::{ns, simulate, Phase, Scenario, SessionEvent, Time};

const RTT: Time = 100_000_000;

fn given() -> Value {
    json!({
        "clip": 1, "transport": "udp",
        "playlist": [{"clip": 1, "ladder_kbps": [50.0, 100.0, 200.0], "length_s": 60.0,
        "multiple": 3.0, "preselect": false,
            "tcp_response": "steps", "base_rtt_s": 0.1, "path_loss": 0.0, "answers_ping": true}],
        "tcp_multiple": 2.0, "tcp_refill_multiple": 2.0, "ahead_s": 30.0,
        "buffering_limit_s": 40.0, "buffering_share": 0.5,
        "playback_start_s": 8.0, "stall_limit_s": 20.0, "silence_limit_s": 60.0,
        "give_up_waits": 2, "give_up_share": 0.05, "report_interval_s": 1.0,
        "preselect_report_s": 0.5, "loss_weight": 0.5, "severe_loss_weight": 0.5,
        "severe_loss": 0.2,
        "down_losses_per_s": 1.0, "down_queue_s": 0.05, "down_losses_unqueued_per_s": 4.0,
        "up_losses_per_s": 0.5, "up_wait_s": 5.0, "up_wait_most_s": 20.0, "resend_share": 0.25,
        "goodput_time_constant_s": 10.0, "tcp_down_share": 0.8, "evidence_time_constant_s": 2.0,
        "tcp_ahead_s": 30.0,
        "tcp_full_s": 20.0, "tcp_up_wait_s": 5.0, "status_interval_s": 3.0,
        "preselect_probe_bytes": 5840,
        "audio_only_kbps": 20.0, "frames_per_s": 10.0, "audio_share": 0.25,
        "audio_payload_bytes": [300, 600],
        "video_payload_bytes": [500, 1000], "server_tcp": {}, "client_tcp": {}
    })
}

/// Parameters with some of [`given`] replaced.
fn parameters(changes: Value) -> Result<Parameters, String> {
    let mut all = given();
    if let (Some(all), Value::Object(changes)) = (all.as_object_mut(), changes) {
        all.extend(changes);
    }
    serde_json::from_value(all).map_err(|error| error.to_string())
}

fn report(lost: u32, received: u32, rtt: Time, now: Time) -> Report {
    Report {
        received,
        lost,
        interval_s: 1.0,
        goodput_bps: 150_000.0,
        echo: Some((now - rtt, 0)),
        received_s: 2.0,
        playhead_s: 0.0,
        playing: true,
        before_start: false,
        missing: (0, 0),
    }
}

/// A UDP server that plays at its top level, after a first report that shows the RTT without a
/// queue.
fn playing_server(changes: Value) -> Result<(UdpServer, Programme), String> {
    let parameters = parameters(changes)?;
    let programme = parameters.programme()?;
    let mut server = UdpServer::new(&parameters, &programme, 0);
    server.end_buffering();
    server.on_report(0, &report(0, 20, RTT, 0), &[], &programme);
    Ok((server, programme))
}

#[test]
fn parameters_that_make_no_sense_are_named() -> Result<(), String> {
    for (changes, named) in [
        (json!({"clip": 7}), "clip"),
        (json!({"ladder_kbps": [100.0, 50.0]}), "ladder_kbps"),
        (json!({"multiple": 0.5}), "multiple"),
        (json!({"resend_share": 1.5}), "resend_share"),
        (json!({"up_wait_s": 0.0}), "up_wait_s"),
        (json!({"video_payload_bytes": [500, 9000]}), "video_payload_bytes"),
    ] {
        assert!(parameters(changes)?.programme().is_err_and(|why| why.contains(named)), "{named}");
    }
    Ok(())
}

#[test]
fn settings_replace_what_the_playlist_says() -> Result<(), String> {
    let programme = parameters(json!({"ladder_kbps": [80.0], "length_s": 5.0, "multiple": 2.0}))?
        .programme()?;
    assert_eq!(
        (programme.ladder_bps, programme.length_s, programme.multiple),
        (vec![80_000.0], 5.0, 2.0)
    );
    Ok(())
}

#[test]
fn packets_carry_the_clip_whole_and_audio_its_share() -> Result<(), String> {
    let parameters = parameters(json!({"length_s": 600.0}))?;
    let programme = parameters.programme()?;
    let (mut packetiser, mut rng) = (Packetiser::new(&parameters), ChaCha8Rng::seed_from_u64(1));
    let (mut position_s, mut bytes, mut largest) = (0.0, 0_u64, 0);
    while position_s < programme.length_s - 1e-9 {
        let packet = packetiser.next(&mut rng, &programme, 2, position_s);
        position_s = packet.end_s;
        bytes += u64::from(packet.payload_bytes);
        largest = largest.max(packet.payload_bytes);
    }
    // One byte for the last packet, which is rounded up.
    assert!((bytes as f64 - 600.0 * 200_000.0 / 8.0).abs() <= 1.0, "{bytes}");
    assert!(largest <= 1000, "{largest}");
    Ok(())
}

#[test]
fn playback_starts_with_enough_media_and_halts_when_it_runs_out() {
    let mut playback = Playback::new(8.0, 20.0, 100.0, 0);
    assert_eq!(playback.on_media(ns(1.0), 7.9, Some(7.9)), None);
    assert_eq!(playback.on_media(ns(2.0), 0.2, Some(8.1)), Some(Change::Started));
    assert_eq!(playback.due(), ns(2.0 + 8.1));
    assert_eq!(playback.on_due(ns(10.1)), Some(Change::Stalled));
    assert!((playback.playhead_s(ns(50.0)) - 8.1).abs() < 1e-6);
    assert_eq!(playback.on_due(ns(30.0)), None);
    assert_eq!(playback.on_due(ns(30.1)), Some(Change::Resumed));
}

#[test]
fn playback_ends_with_the_clip_and_does_not_halt_there() {
    let mut playback = Playback::new(8.0, 20.0, 3.0, 0);
    assert_eq!(playback.on_media(0, 3.0, Some(3.0)), Some(Change::Started));
    assert_eq!(playback.on_due(ns(3.0)), Some(Change::Played));
}

#[test]
fn a_gap_in_the_numbers_is_lost_once_and_asked_for_once() {
    let mut player = UdpPlayer::new(Playback::new(8.0, 20.0, 100.0, 0), 0);
    let packet = |end_s| MediaPacket { payload_bytes: 500, level: 0, duration_s: 0.1, end_s };
    let mut missing = Vec::new();
    player.on_packet(ns(0.1), 0, false, 0, &packet(0.1), &mut missing);
    player.on_packet(ns(0.4), 3, false, 0, &packet(0.4), &mut missing);
    player.on_packet(ns(0.5), 1, true, 0, &packet(0.2), &mut missing);
    let first = player.report(ns(1.0), &missing);
    assert_eq!((first.received, first.lost, first.missing, missing), (2, 2, (0, 2), vec![1, 2]));
    let second = player.report(ns(2.0), &[1, 2]);
    assert_eq!((second.lost, second.missing), (0, (2, 2)));
}

#[test]
fn heavy_loss_moves_the_level_at_each_report_and_slight_loss_only_when_it_lasts(
) -> Result<(), String> {
    let (mut server, programme) = playing_server(json!({}))?;
    assert_eq!(
        server.on_report(ns(1.0), &report(20, 5, 5 * RTT, ns(1.0)), &[], &programme),
        Decision::Level
    );
    assert_eq!(
        server.on_report(ns(2.0), &report(20, 5, 5 * RTT, ns(2.0)), &[], &programme),
        Decision::Level
    );
    assert_eq!(server.level, 0);
    let (mut server, programme) = playing_server(json!({}))?;
    let decisions: Vec<Decision> = (1..4)
        .map(|second| {
            let now = ns(f64::from(second));
            server.on_report(now, &report(1 + second % 2, 60, 5 * RTT, now), &[], &programme)
        })
        .collect();
    assert_eq!(decisions, [Decision::Stay, Decision::Stay, Decision::Level]);
    Ok(())
}

#[test]
fn loss_without_a_queue_is_borne_longer() -> Result<(), String> {
    let (mut server, programme) = playing_server(json!({}))?;
    for second in 1..20 {
        let now = ns(f64::from(second));
        assert_eq!(
            server.on_report(now, &report(3, 60, RTT, now), &[], &programme),
            Decision::Stay
        );
    }
    Ok(())
}

#[test]
fn a_clip_of_one_level_keeps_its_rate() -> Result<(), String> {
    let (mut server, programme) = playing_server(json!({"ladder_kbps": [200.0]}))?;
    for second in 1..20 {
        let now = ns(f64::from(second));
        assert_eq!(
            server.on_report(now, &report(50, 10, 5 * RTT, now), &[], &programme),
            Decision::Stay
        );
    }
    assert_eq!((server.level, server.multiple), (0, 1.0));
    Ok(())
}

/// Times of the steps up on a path that is clear but when the top level is sent.
fn tries(server: &mut UdpServer, programme: &Programme) -> Vec<i64> {
    let mut tries = Vec::new();
    for second in 1..120 {
        let now = ns(f64::from(second));
        let lost = if server.level == 2 { 30 } else { 0 };
        let before = server.level;
        server.on_report(now, &report(lost, 30, RTT, now), &[], programme);
        if server.level > before {
            tries.push(i64::from(second));
        }
    }
    tries
}

#[test]
fn a_failed_try_doubles_the_wait_up_to_the_longest() -> Result<(), String> {
    let (mut server, programme) = playing_server(json!({}))?;
    let times = tries(&mut server, &programme);
    let waits: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0] - 1).collect();
    assert_eq!(times[0], 6);
    assert_eq!(waits[..4], [10, 20, 20, 20]);
    Ok(())
}

#[test]
fn congestion_while_buffering_slows_it_down_to_what_comes_and_ends_it_below_the_level(
) -> Result<(), String> {
    let parameters = parameters(json!({}))?;
    let programme = parameters.programme()?;
    let mut server = UdpServer::new(&parameters, &programme, 0);
    let congested = |goodput_bps, at| Report { goodput_bps, ..report(30, 30, RTT, ns(at)) };
    server.on_report(ns(1.0), &congested(500_000.0, 1.0), &[], &programme);
    assert!(server.buffering && (server.multiple - 1.25).abs() < 1e-9, "{}", server.multiple);
    server.on_report(ns(2.0), &congested(300_000.0, 2.0), &[], &programme);
    assert_eq!((server.buffering, server.multiple, server.level), (false, 1.0, 2));
    Ok(())
}

#[test]
fn a_preselecting_clip_goes_to_what_came_and_starts_again_where_its_media_is_whole(
) -> Result<(), String> {
    let parameters = parameters(json!({"preselect": true}))?;
    let programme = parameters.programme()?;
    let mut server = UdpServer::new(&parameters, &programme, 0);
    server.position_s = 3.0;
    let first = Report { before_start: true, received_s: 0.5, ..report(9, 1, RTT, ns(0.5)) };
    assert_eq!(server.on_report(ns(0.5), &first, &[], &programme), Decision::Level);
    assert_eq!((server.level, server.position_s, server.buffering), (1, 0.5, false));
    Ok(())
}

#[test]
fn resending_takes_its_share_of_what_is_sent() -> Result<(), String> {
    let (mut server, programme) = playing_server(json!({}))?;
    let packet = MediaPacket { payload_bytes: 1000, level: 2, duration_s: 0.04, end_s: 1.0 };
    let sent = vec![packet; 100];
    let missing: Vec<u32> = (0..100).collect();
    server.on_report(ns(1.0), &report(1, 60, RTT, ns(1.0)), &missing, &programme);
    let resent = (0..100).filter(|_| {
        server.sends(&packet, 200_000.0, 60.0);
        server.resend(&sent).is_some()
    });
    assert_eq!(resent.count(), 25);
    Ok(())
}

#[test]
fn a_tcp_server_sends_faster_until_enough_is_ahead_and_refills_later() -> Result<(), String> {
    let parameters = parameters(json!({}))?;
    let programme = parameters.programme()?;
    let mut server = TcpServer::new(&parameters, 2, 0);
    let packet = MediaPacket { payload_bytes: 1000, level: 2, duration_s: 1.0, end_s: 31.0 };
    assert_eq!(server.wrote(&packet, &programme), ns(0.5));
    assert!(server.pace(ns(1.0)) && server.phase == Phase::Playout);
    assert_eq!(server.wrote(&packet, &programme), ns(1.0));
    let status = Status { playhead_s: 10.0, playing: false, level: 1 };
    assert!(server.on_status(ns(50.0), &status));
    assert!(server.pace(ns(50.0)) && server.phase == Phase::Rebuffering && server.level == 1);
    Ok(())
}

/// A player over TCP that gets `rate_bps` from the start for `seconds`: when it asked for which
/// level.
fn asked(changes: Value, rate_bps: f64, seconds: u32) -> Result<Vec<(u32, usize)>, String> {
    let parameters = parameters(changes)?;
    let programme = parameters.programme()?;
    let playback = Playback::new(8.0, 20.0, programme.length_s, 0);
    let mut player = TcpPlayer::new(&parameters, &programme, 1, playback, 0);
    let mut asked = Vec::new();
    let mut end_s = 0.0;
    for second in 1..=seconds {
        let now = ns(f64::from(second));
        let duration_s = rate_bps / programme.ladder_bps[player.wanted];
        end_s += duration_s;
        let payload_bytes = (rate_bps / 8.0) as u32;
        player.on_packet(now, &MediaPacket { payload_bytes, level: 1, duration_s, end_s });
        if player.tick(now, &programme) {
            asked.push((second, player.wanted));
        }
    }
    Ok(asked)
}

#[test]
fn the_slow_estimate_takes_its_time_to_a_step_down() -> Result<(), String> {
    // 50 + 50 exp(-t/10) falls below 0.8 x 100 at t = 5.1 s.
    assert_eq!(asked(json!({}), 50_000.0, 30)?, [(6, 0)]);
    Ok(())
}

#[test]
fn a_step_up_needs_a_full_buffer_and_goodput_that_carries_it() -> Result<(), String> {
    let long = json!({"length_s": 600.0});
    assert_eq!(asked(long.clone(), 190_000.0, 60)?, []);
    let enough = asked(long, 260_000.0, 60)?;
    assert_eq!(enough.len(), 1);
    assert_eq!(enough[0].1, 2);
    Ok(())
}

#[test]
fn a_player_that_jumps_waits_in_vain_first() -> Result<(), String> {
    assert_eq!(asked(json!({"tcp_response": "jump"}), 20_000.0, 15)?, []);
    let parameters = parameters(json!({"tcp_response": "jump"}))?;
    let programme = parameters.programme()?;
    assert_eq!(programme.tcp_response, TcpResponse::Jump);
    let mut player =
        TcpPlayer::new(&parameters, &programme, 2, Playback::new(8.0, 20.0, 60.0, 0), 0);
    player.on_packet(
        ns(19.0),
        &MediaPacket { payload_bytes: 125_000, level: 2, duration_s: 5.0, end_s: 5.0 },
    );
    player.waited_in_vain(ns(20.0), &programme);
    assert_eq!((player.wanted, player.gives_up()), (0, false));
    Ok(())
}

#[test]
fn a_player_gives_up_after_waits_that_brought_next_to_nothing() -> Result<(), String> {
    let parameters = parameters(json!({}))?;
    let programme = parameters.programme()?;
    let mut player =
        TcpPlayer::new(&parameters, &programme, 2, Playback::new(8.0, 20.0, 60.0, 0), 0);
    player.waited_in_vain(ns(20.0), &programme);
    assert!(!player.gives_up());
    player.begins_to_wait(ns(20.0));
    player.waited_in_vain(ns(40.0), &programme);
    assert!(player.gives_up());
    Ok(())
}

/// Log of a session over one link of `rate_bps` each way, named moments only.
fn session(changes: Value, rate_bps: f64) -> Result<Vec<(Time, SessionEvent)>, String> {
    let mut given = given();
    if let (Some(all), Value::Object(changes)) = (given.as_object_mut(), changes) {
        all.extend(changes);
    }
    let scenario = json!({
        "seed": 3, "end_s": 400.0,
        "links": [
            {"name": "there", "capacity": {"constant": {"rate_bps": rate_bps}}, "delay_s": 0.05,
            "queue": {"bytes": 10000}},
            {"name": "back", "delay_s": 0.05}
        ],
        "agents": [{"name": "media", "kind": "realplayer8", "parameters": given, "awaited": true,
        "forward": [0], "reverse": [1]}]
    });
    let scenario = Scenario::from_json(&scenario.to_string()).map_err(|error| error.to_string())?;
    let outcome = simulate(&scenario).map_err(|error| error.to_string())?;
    Ok(outcome.agents[0].log.events.clone())
}

fn levels(events: &[(Time, SessionEvent)]) -> Vec<i16> {
    let levels = events.iter().filter_map(|(_, event)| match event {
        SessionEvent::Encoding { level, .. } => Some(*level),
        _ => None,
    });
    levels.collect()
}

fn end(events: &[(Time, SessionEvent)]) -> Option<Time> {
    events.iter().rev().find(|(_, event)| *event == SessionEvent::End).map(|(at, _)| *at)
}

#[test]
fn on_an_ample_link_both_transports_play_the_top_level_and_are_done_before_the_clip(
) -> Result<(), String> {
    for transport in ["udp", "tcp"] {
        let events = session(json!({"transport": transport}), 10e6)?;
        assert_eq!(levels(&events), [2], "{transport}");
        assert!(end(&events).is_some_and(|at| at < ns(60.0)), "{transport}");
    }
    Ok(())
}

#[test]
fn on_a_narrow_link_udp_steps_down_sooner_than_tcp() -> Result<(), String> {
    let lowest = |events: &[(Time, SessionEvent)]| {
        let found = events
            .iter()
            .find(|(_, event)| matches!(event, SessionEvent::Encoding { level: 0, .. }));
        found.map(|(at, _)| *at)
    };
    let udp = session(json!({}), 60_000.0)?;
    let tcp = session(json!({"transport": "tcp"}), 60_000.0)?;
    assert_eq!(
        (levels(&udp)[..3].to_vec(), levels(&tcp)[..3].to_vec()),
        (vec![2, 1, 0], vec![2, 1, 0])
    );
    assert!(lowest(&udp) < lowest(&tcp));
    Ok(())
}

#[test]
fn a_probe_chooses_the_first_level_over_tcp() -> Result<(), String> {
    let events = session(json!({"transport": "tcp", "preselect": true}), 120_000.0)?;
    assert_eq!(levels(&events)[0], 1);
    Ok(())
}

#[test]
fn a_seed_gives_one_session() -> Result<(), String> {
    for transport in ["udp", "tcp"] {
        let once = session(json!({"transport": transport}), 150_000.0)?;
        assert_eq!(once, session(json!({"transport": transport}), 150_000.0)?);
    }
    Ok(())
}
