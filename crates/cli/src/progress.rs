//! The progress of long work. Shown only on a terminal, only to people, and only once it has taken
//! a while.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::escape;
use crate::output::Output;

/// Work shorter than this shows nothing.
const QUIET_FOR: Duration = Duration::from_millis(500);
const KNOWN: &str = "{msg} [{bar:30}] {human_pos}/{human_len} {eta}";
const UNKNOWN: &str = "{msg} {human_pos} in {elapsed}";

/// A progress bar that comes late or never.
pub(crate) struct Progress {
    title: String,
    begun: Instant,
    may_show: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(crate) fn new(title: &str, out: &Output) -> Progress {
        Progress {
            title: escape::line(title).into_owned(),
            begun: Instant::now(),
            may_show: !out.is_json(),
            bar: None,
        }
    }

    /// Tells how much is done, and of how much where that is known.
    pub(crate) fn set(&mut self, done: u64, total: Option<u64>) {
        if !self.may_show || (self.bar.is_none() && self.begun.elapsed() < QUIET_FOR) {
            return;
        }
        if self.bar.is_none() {
            self.may_show = std::io::stderr().is_terminal();
            if !self.may_show {
                return;
            }
        }
        let bar = self.bar.get_or_insert_with(|| start(&self.title, total));
        bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn start(title: &str, total: Option<u64>) -> ProgressBar {
    let bar = total.map_or_else(ProgressBar::no_length, ProgressBar::new);
    let template = if total.is_some() { KNOWN } else { UNKNOWN };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.with_message(title.to_string())
}
