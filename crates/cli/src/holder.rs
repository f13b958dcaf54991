//! The holder of the writer's lock: who it is, whether it is still alive, and what to do about it.
//! For the message only: the lock itself decides.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use kapsa_memory::Holder;

use crate::sys;

/// Most processes that are named as holding the lock.
const NAMED_MAX: usize = 8;

/// What became of a holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// On another machine.
    OtherHost,
    /// In another pid namespace, such as another container's: its pid means nothing here.
    OtherNamespace,
    /// At work.
    Running,
    /// Stopped by a signal.
    Stopped,
    /// It has ended, and these processes keep its lock: they inherited the open file.
    Ended(Vec<u32>),
    /// This system does not say.
    Unknown,
}

impl Fate {
    /// Its name in JSON.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Fate::OtherHost => "other_host",
            Fate::OtherNamespace => "other_namespace",
            Fate::Running => "running",
            Fate::Stopped => "stopped",
            Fate::Ended(_) => "ended",
            Fate::Unknown => "unknown",
        }
    }

    /// What to do about it.
    pub(crate) fn hint(&self, holder: &Holder) -> String {
        const WAIT: &str = "wait for it, or wait longer with --lock-timeout SECONDS";
        let pid = holder.pid;
        match self {
            Fate::OtherHost => format!("it runs on {}: {WAIT}, or end it there", holder.host),
            Fate::OtherNamespace => format!("its pid is that of another container: {WAIT}, or end it there"),
            Fate::Stopped => format!("it is stopped: `kill -CONT {pid}` resumes it, `kill -KILL {pid}` ends it"),
            Fate::Ended(others) if others.is_empty() => {
                "it has ended, but a process that it started keeps its lock file open; `fuser` on the lock file names it"
                    .to_string()
            }
            Fate::Ended(others) => {
                let pids: Vec<String> = others.iter().map(u32::to_string).collect();
                format!("it has ended, but process {} keeps its lock file open; end that one", pids.join(", "))
            }
            Fate::Running | Fate::Unknown => WAIT.to_string(),
        }
    }
}

/// Looks for the holder of the lock file `lock`.
pub(crate) fn fate(holder: &Holder, lock: &Path) -> Fate {
    if holder.pid == 0 {
        return Fate::Unknown;
    }
    if holder.host != sys::host_name() {
        return Fate::OtherHost;
    }
    match (&holder.pid_namespace, sys::pid_namespace()) {
        (Some(theirs), Some(ours)) if *theirs == ours => {}
        (Some(_), Some(_)) => return Fate::OtherNamespace,
        _ => return Fate::Unknown,
    }
    match sys::process(holder.pid) {
        Some(process)
            if holder.process_start.as_ref().is_none_or(|start| *start == process.start) =>
        {
            if matches!(process.state, 'T' | 't') { Fate::Stopped } else { Fate::Running }
        }
        _ => Fate::Ended(openers(lock)),
    }
}

/// Processes that have the file open, as far as this user may see.
fn openers(file: &Path) -> Vec<u32> {
    let Ok(wanted) = std::fs::metadata(file) else { return Vec::new() };
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids =
        processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let same = |path: &Path| {
        std::fs::metadata(path).is_ok_and(|m| (m.dev(), m.ino()) == (wanted.dev(), wanted.ino()))
    };
    let has_open = |pid: &u32| {
        // A process that ended meanwhile, or is another user's, is passed over: the list only
        // helps.
        let Ok(opened) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
        *pid != std::process::id() && opened.flatten().any(|entry| same(&entry.path()))
    };
    pids.filter(has_open).take(NAMED_MAX).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn me() -> Holder {
        let process = sys::process(std::process::id());
        Holder {
            pid: std::process::id(),
            host: sys::host_name(),
            pid_namespace: sys::pid_namespace(),
            process_start: process.map(|p| p.start),
            ..Holder::default()
        }
    }

    #[test]
    fn a_holder_is_known_by_more_than_its_pid() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        assert_eq!(fate(&me(), file.path()), Fate::Running);
        let reused = Holder { process_start: Some("1".to_string()), ..me() };
        assert_eq!(fate(&reused, file.path()), Fate::Ended(Vec::new()));
        let elsewhere = Holder { pid_namespace: Some("pid:[1]".to_string()), ..me() };
        assert_eq!(fate(&elsewhere, file.path()), Fate::OtherNamespace);
        assert_eq!(
            fate(&Holder { host: "another".to_string(), ..me() }, file.path()),
            Fate::OtherHost
        );
        assert_eq!(fate(&Holder::default(), file.path()), Fate::Unknown);
    }
}
