//! A key appears nowhere but in its header.

use std::sync::Mutex;

use kapsa_http::{Key, Settings};
use kapsa_model::block_on;
use kapsa_testkit::stub::{Reply, Stub};
use log::{Level, LevelFilter, Log, Metadata, Record};

use crate::samples::{KEY, PROVIDERS, answer, model, user};

/// Records whatever any crate logs while the tests of this program run.
struct Heard(Mutex<Vec<(Level, String)>>);

impl Log for Heard {
    fn enabled(&self, _: &Metadata) -> bool {
        true
    }

    fn log(&self, record: &Record) {
        self.0
            .lock()
            .unwrap()
            .push((record.level(), format!("{} {}", record.target(), record.args())));
    }

    fn flush(&self) {}
}

static HEARD: Heard = Heard(Mutex::new(Vec::new()));

#[test]
fn no_log_shows_a_key() {
    log::set_logger(&HEARD).unwrap();
    log::set_max_level(LevelFilter::Trace);
    for (provider, _, _) in PROVIDERS {
        let stub = Stub::start(move |number, _| match number {
            0 => Reply::json(&answer(provider, "Hi.")),
            _ => Reply::status(401, &format!("wrong key: {KEY}")),
        });
        let model = model(&stub, provider);
        block_on(model.complete(&user("x"))).unwrap();
        block_on(model.complete(&user("x"))).unwrap_err();
    }
    let heard = HEARD.0.lock().unwrap();
    assert!(heard.iter().any(|(_, line)| line.starts_with("ureq")), "the log is listened to");
    for (level, line) in heard.iter() {
        // What is sent is logged at this level in rows of a few bytes, in which a whole key would
        // not be found.
        assert!(*level < Level::Trace, "{line}");
        assert!(!line.contains(KEY), "{line}");
    }
}

#[test]
fn no_debug_text_shows_a_key() {
    let settings = Settings { key: Some(Key::new(KEY).unwrap()), ..Settings::default() };
    let shown = format!("{settings:?} {settings:#?} {:?}", settings.key);
    assert!(shown.contains("Key(hidden)") && !shown.contains("secret"), "{shown}");
}
