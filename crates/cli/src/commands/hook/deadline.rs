//! The longest time that a hook takes, whatever it waits for.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::tell_failed;

/// Longest time of hooks that tell something. The programs that call them wait for much longer, and
/// a session that waits is worse than one that is told nothing.
const TELLING_MAX: Duration = Duration::from_secs(5);
/// Longest time of hooks that queue a trace: Claude Code ends them 1.5 s after the session's end.
const CAPTURING_MAX: Duration = Duration::from_millis(900);
/// Hooks that tell something.
const TELLING: [&str; 3] = ["session-start", "user-prompt-submit", "pre-tool-use"];

/// Ends the process with 0 when its time is over, unless it has answered before.
pub(super) struct Deadline {
    is_answered: Arc<AtomicBool>,
    is_handed_over: Arc<AtomicBool>,
}

impl Deadline {
    pub(super) fn begin(verb: &'static str) -> Deadline {
        let (is_answered, is_handed_over) =
            (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let longest = if TELLING.contains(&verb) { TELLING_MAX } else { CAPTURING_MAX };
        let (answered, handed_over) = (Arc::clone(&is_answered), Arc::clone(&is_handed_over));
        let waits = move || {
            thread::sleep(longest);
            if !answered.swap(true, Ordering::SeqCst) {
                if !handed_over.load(Ordering::SeqCst) {
                    let ms = longest.as_millis();
                    tell_failed(verb, &format!("it took longer than {ms} ms; it did nothing"));
                }
                process::exit(0);
            }
        };
        // May be dropped: without a thread for it, the hook has no deadline and still its answer.
        let _ = thread::Builder::new().name("deadline".to_string()).spawn(waits);
        Deadline { is_answered, is_handed_over }
    }

    /// From now on somebody else does the work: what is not done in time is no failure.
    pub(super) fn hands_over(&self) {
        self.is_handed_over.store(true, Ordering::SeqCst);
    }

    /// Answers, unless the time is over. Where it is, the process ends meanwhile.
    pub(super) fn answers<T>(&self, answer: impl FnOnce() -> T) -> Option<T> {
        let is_late = self.is_answered.swap(true, Ordering::SeqCst);
        (!is_late).then(answer)
    }
}
