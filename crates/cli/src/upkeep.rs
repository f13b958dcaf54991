//! Starts what keeps a capsule fast in a process of its own, so that no put waits for it.

use std::path::Path;
use std::process::Command;
use std::{env, thread};

use crate::sys;

/// The variable that turns it off.
const UPKEEP: &str = "KAPSA_UPKEEP";

/// What starts upkeep, unless that is turned off.
pub(crate) fn starter() -> Option<fn(&Path)> {
    let is_off = env::var(UPKEEP).is_ok_and(|value| value == "off");
    (!is_off).then_some(start as fn(&Path))
}

/// Starts `kapsa optimize --due` behind everything else that runs. What cannot be started is due at
/// a later put again: the put that asks for it is durable, and says nothing of it.
fn start(capsule: &Path) {
    let Ok(program) = env::current_exe() else { return };
    let mut command = Command::new(program);
    command.arg("--capsule").arg(capsule).args(["optimize", "--due"]);
    // It shows nobody anything, whoever wrote; and it starts no upkeep of its own.
    command.env_remove("KAPSA_PRINCIPAL").env(UPKEEP, "off");
    let Ok(mut child) = sys::spawn_detached(&mut command) else { return };
    let waits = move || {
        // May be dropped: what it could not do is due at a later put again.
        let _ = child.wait();
    };
    // May be dropped: without a thread that waits, the system takes notice of its end later.
    let _ = thread::Builder::new().name("upkeep".to_string()).spawn(waits);
}
