//! What a player asks for, when and over which connection.

use super::super::parameters::{ConnectionUse, Parameters};
use super::super::server::stream_of;
use super::super::track::Track;
use super::{Chunked, Part, Player, Request, FIRST_CLIENT_PORT, NEXT, NEXT_AUDIO, SERVER_PORT};
use crate::des::{
    ns, seconds, ConnectionId, End, FlowSpec, Io, Label, Media, Phase, SessionEvent, Time,
};

impl Chunked {
    pub(super) fn ask(
        &mut self,
        io: &mut Io,
        connection: ConnectionId,
        part: Part,
        bytes: u64,
        label: Label,
    ) {
        let number = self.requests.len() as u64;
        let bytes = bytes.min(u64::from(u32::MAX / 2)) as u32;
        let bytes = bytes + self.parameters.response_header_bytes;
        self.requests.push(Request { bytes, label, part });
        io.write_into(
            connection,
            End::Client,
            stream_of(number),
            self.parameters.request_bytes,
            number,
            Label::of(Phase::Signalling),
        );
    }

    /// The manifest is there: the connections of the media are opened.
    pub(super) fn open_media(&mut self, io: &mut Io) {
        io.close(self.player.manifest, End::Client);
        io.close(self.player.manifest, End::Server);
        let parameters = &self.parameters;
        let separate = parameters.audio_kbps > 0.0 && !parameters.asks_in_turn();
        let (name, media) =
            if separate { ("video", Media::Video) } else { ("media", Media::Mixed) };
        for number in 0..parameters.connections {
            let spec =
                FlowSpec::new(name, media, SERVER_PORT, FIRST_CLIENT_PORT + 1 + number as u16);
            self.player.connections.push(self.open(io, spec));
        }
        self.player.video.connections.clone_from(&self.player.connections);
        if separate {
            let spec = FlowSpec::new("audio", Media::Audio, SERVER_PORT, FIRST_CLIENT_PORT + 100);
            self.player.connections.push(self.open(io, spec));
        }
    }

    /// Ask for what comes next after a segment of this medium.
    pub(super) fn go_on(&mut self, io: &mut Io, part: Part) {
        let Player { video, audio, .. } = &self.player;
        let part = match audio {
            // One after the other: what there is less of.
            Some(audio) if self.parameters.asks_in_turn() => {
                if video.segment.is_some() || audio.segment.is_some() {
                    return;
                }
                let is_behind = !video.is_idle() || audio.fetched_s < video.fetched_s;
                if audio.is_idle() && is_behind {
                    Part::Audio
                } else {
                    Part::Video
                }
            }
            _ => part,
        };
        match part {
            Part::Audio => self.next_audio(io),
            Part::Video | Part::Manifest => self.next_segment(io),
        }
    }

    /// Media of a medium beyond what the buffer may hold when more is asked for, s.
    fn excess_s(&self, track: &Track, now: Time) -> f64 {
        // What it may hold is a target and a segment of the video, whatever the medium.
        self.player.playback.buffer_of(track.fetched_s, now) + self.parameters.segment_s
            - self.parameters.capacity_s(self.player.decider.level())
    }

    /// Ask for the next segment, or wait until there is room for it.
    fn next_segment(&mut self, io: &mut Io) {
        if !self.player.video.is_idle() {
            return;
        }
        let now = io.now();
        let excess_s = self.excess_s(&self.player.video, now);
        if excess_s > 1e-9 {
            self.full(io);
            self.player.waiting_since.get_or_insert(now);
            io.set_timer_in(NEXT, ns(excess_s));
            return;
        }
        if let Some(since) = self.player.waiting_since.take() {
            self.player.decider.waited(seconds(now - since));
        }
        let before = (self.player.video.next > 0).then_some(self.player.decider.level());
        let decision = self.player.decider.next(
            seconds(now),
            self.player.playback.buffer_of(self.player.video.fetched_s, now),
            self.player.playback.is_playing(),
            self.player.video.next as usize,
            &self.player.sizes,
        );
        if decision.wait_s > 0.0 {
            io.set_timer_in(NEXT, ns(decision.wait_s));
            return;
        }
        let level = decision.level;
        let rung_kbps = self.parameters.ladder_kbps[level];
        if before != Some(level) {
            io.log(SessionEvent::Encoding { bps: 1000.0 * rung_kbps, level: level as i16 });
        }
        io.log(SessionEvent::Fact { name: "rung_kbps", value: rung_kbps });
        self.ask_for_segment(io, level);
    }

    fn ask_for_segment(&mut self, io: &mut Io, level: usize) {
        let Parameters { segment_s, audio_kbps, .. } = self.parameters;
        let bytes_of = |kbps: f64| kbps * 125.0 * segment_s;
        let size = self.player.sizes[self.player.video.next as usize];
        let video_bytes =
            (bytes_of(self.parameters.ladder_kbps[level]) * size).round().max(1.0) as u64;
        let label = Label { level: level as i16, ..Label::of(self.player.phase) };
        let mut requests = match self.parameters.connection_use.unwrap_or_default() {
            ConnectionUse::Split => self.parameters.connections,
            ConnectionUse::Turns => 1,
        };
        if requests == 1 {
            let connection = self.player.video.take_turn();
            self.ask(io, connection, Part::Video, video_bytes, label);
        } else {
            for part in 0..u64::from(requests) {
                let share = |number: u64| video_bytes * number / u64::from(requests);
                let connection = self.player.video.connections[part as usize];
                self.ask(io, connection, Part::Video, share(part + 1) - share(part), label);
            }
        }
        if let (None, true, Some(connection)) =
            (&self.player.audio, audio_kbps > 0.0, self.player.connections.last().copied())
        {
            let audio_bytes = bytes_of(audio_kbps).round().max(1.0) as u64;
            self.ask(io, connection, Part::Video, audio_bytes, label);
            requests += 1;
        }
        self.player.video.ask(io.now(), video_bytes, requests);
    }

    /// Ask for the next segment of the audio, or wait until there is room for it.
    pub(super) fn next_audio(&mut self, io: &mut Io) {
        let Some(audio) = self.player.audio.as_ref().filter(|audio| audio.is_idle()) else {
            return;
        };
        let now = io.now();
        let excess_s = self.excess_s(audio, now);
        if excess_s > 1e-9 {
            io.set_timer_in(NEXT_AUDIO, ns(excess_s));
            return;
        }
        let bytes = self.parameters.audio_kbps * 125.0 * audio.segment_s;
        let bytes = bytes.round().max(1.0) as u64;
        let level = self.player.decider.level() as i16;
        let label = Label { level, ..Label::of(self.player.phase) };
        let connection = if self.parameters.asks_in_turn() {
            self.player.video.take_turn()
        } else {
            self.player.connections[self.player.connections.len() - 1]
        };
        self.ask(io, connection, Part::Audio, bytes, label);
        if let Some(audio) = self.player.audio.as_mut() {
            audio.ask(now, bytes, 1);
        }
    }
}
