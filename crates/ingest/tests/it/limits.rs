//! Large and hostile sizes.

use std::io::{self, Read};
use std::ops::ControlFlow;

use kapsa_ingest::{
    KEPT_BYTES_MAX, RECORD_BYTES_MAX, RESULT_CHARS_MAX, Reason, Seen, TURNS_MAX, sessions_in,
};

use crate::{one, read, read_bytes};

#[test]
fn long_results_keep_their_ends() {
    let text = format!(r#"{{"role":"tool","content":"first {} last"}}"#, "é".repeat(20_000));
    let turn = &one(&text).turns[0].text;
    assert!(turn.chars().count() <= RESULT_CHARS_MAX);
    assert!(turn.starts_with("first") && turn.ends_with("last"));
}

#[test]
fn a_line_that_is_too_long_is_skipped() {
    let long = format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(RECORD_BYTES_MAX));
    let text = format!(
        "{{\"role\":\"user\",\"content\":\"a\"}}\n{long}\n{{\"role\":\"user\",\"content\":\"b\"}}\n"
    );
    let (sessions, reading) = read(&text);
    let texts: Vec<&str> = sessions[0].turns.iter().map(|turn| turn.text.as_str()).collect();
    assert_eq!(texts, ["a", "b"]);
    assert_eq!(reading.skipped.of(Reason::TooLong), 1);
}

#[test]
fn odd_bytes_are_mended() {
    let mut bytes =
        b"\xef\xbb\xbf{\"role\":\"user\",\"content\":\"one\ttwo\x01\"}\r\n\0\0\n".to_vec();
    bytes.extend_from_slice(
        b"\0{\"role\":\"user\",\"content\":\"caf\xe9\"}\n{\"role\":\"user\",\"cont",
    );
    let (sessions, reading) = read_bytes(&bytes);
    let texts: Vec<&str> = sessions[0].turns.iter().map(|turn| turn.text.as_str()).collect();
    assert_eq!(texts, ["one\ttwo\u{1}", "caf\u{fffd}"]);
    assert_eq!(reading.waiting, Some(4));
    assert_eq!(reading.skipped.of(Reason::NotUtf8), 1);
    assert_eq!(reading.skipped.of(Reason::Cut), 1);
}

/// The same line again and again.
struct Repeated {
    line: Vec<u8>,
    left: usize,
    at: usize,
}

impl Read for Repeated {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.line.len() - self.at);
        if self.left == 0 {
            return Ok(0);
        }
        buffer[..length].copy_from_slice(&self.line[self.at..self.at + length]);
        self.at += length;
        if self.at == self.line.len() {
            self.at = 0;
            self.left -= 1;
        }
        Ok(length)
    }
}

#[test]
fn a_session_keeps_a_bounded_number_of_turns_and_bytes() {
    for (text, count) in [("hi", TURNS_MAX + 10), (&"x".repeat(99_000)[..], 700)] {
        let line = format!("{{\"role\":\"assistant\",\"content\":\"{text}\"}}\n").into_bytes();
        let bytes = Repeated { line, left: count, at: 0 };
        let mut kept = (0, 0);
        let reading = sessions_in("stem", bytes, &mut Seen::new(), &mut |session| {
            kept.0 = session.turns.len();
            kept.1 = session.turns.iter().map(|turn| turn.text.len()).sum();
            ControlFlow::Continue(())
        });
        let skipped = reading.expect("bytes").skipped.of(Reason::OverLimit);
        assert!(kept.0 <= TURNS_MAX && kept.1 <= KEPT_BYTES_MAX, "{kept:?}");
        assert_eq!(kept.0 as u64 + skipped, count as u64);
        assert!(skipped > 0);
    }
}

/// However much an agent says, what the user says after it is kept.
#[test]
fn there_is_room_for_what_the_user_says_last() {
    let last_words = format!("stop {}", "!".repeat(98_995));
    for (text, count) in [("hi", TURNS_MAX + 10), (&"x".repeat(98_999)[..], 700)] {
        let line = |role: &str, text: &str| {
            format!("{{\"role\":\"{role}\",\"content\":\"{text}\"}}\n").into_bytes()
        };
        let said = Repeated { line: line("assistant", text), left: count, at: 0 };
        let last_line = line("user", &last_words);
        let mut last = String::new();
        let bytes = said.chain(&last_line[..]);
        let reading = sessions_in("stem", bytes, &mut Seen::new(), &mut |session| {
            last = session.turns.last().map(|turn| turn.text.clone()).unwrap_or_default();
            ControlFlow::Continue(())
        });
        assert!(last == last_words, "{}", &last[..10]);
        assert!(reading.expect("bytes").skipped.of(Reason::OverLimit) > 0);
    }
}

/// A file of one line that ends within it is still being written, however little it says.
#[test]
fn a_cut_line_of_a_known_program_is_cut() {
    for text in [
        r#"{"timestamp":"2026-01-02T03:04:05Z","type":"session_meta","payl"#,
        r#"{"timestamp":"2026-01-02T03:04:05Z","type":"response_item","payload":{"type":"mess"#,
        r#"{"parentUuid":null,"isSidech"#,
        r#"{"type":"user","uuid":"u","message":{"content":"fix"#,
        r#"{"type":"file-history-snapshot","#,
    ] {
        let (sessions, reading) = read(text);
        assert_eq!((sessions.len(), reading.waiting), (0, Some(1)), "{text}");
        assert_eq!(reading.skipped.of(Reason::Cut), 1, "{text}");
    }
    assert_eq!(read(r#"{"type":"note","te"#).1.skipped.of(Reason::UnknownFormat), 1);
}
