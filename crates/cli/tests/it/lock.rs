//! Two processes and one capsule.

use crate::support::Sandbox;

#[test]
fn a_second_writer_is_told_who_holds_the_lock_and_readers_are_not_stopped() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.hold_lock();
    let error =
        sandbox.fails(&["put", "--text", "x", "--lock-timeout", "0"], 2, "locked_by_writer");
    assert_eq!(error["pid"], writer.id());
    assert_eq!(error["run"], "run-7");
    for field in ["host", "user", "started_at", "hint"] {
        assert!(error[field].as_str().is_some_and(|value| !value.is_empty()), "{field} of {error}");
    }
    assert_eq!(sandbox.json(&["timeline"])["records"][0]["text"], "held");
    sandbox.ok(&["stats"]);
    sandbox.ok(&["verify"]);
    drop(writer.stdin.take());
    assert!(writer.wait().expect("it ends").success());
    assert_eq!(sandbox.count(), 2);
}

#[test]
fn init_force_refuses_while_somebody_writes() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.hold_lock();
    sandbox.fails(&["init", "--force", "--lock-timeout", "0"], 2, "locked_by_writer");
    assert!(!sandbox.path(".kapsa/workspace.kapsa.bak").exists());
    drop(writer.stdin.take());
    assert!(writer.wait().expect("it ends").success());
    assert_eq!(sandbox.count(), 2);
}

#[test]
fn a_writer_waits_its_turn() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.hold_lock();
    let mut waiting = sandbox
        .command()
        .args(["put", "--text", "next", "--lock-timeout", "30"])
        .spawn()
        .expect("it starts");
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(waiting.try_wait().expect("it can be asked").is_none(), "it waits");
    drop(writer.stdin.take());
    assert!(writer.wait().expect("it ends").success());
    assert!(waiting.wait().expect("it ends").success());
    assert_eq!(sandbox.count(), 3);
}

#[test]
fn doctor_sees_the_live_lock_and_that_a_killed_writer_leaves_none() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.hold_lock();
    let run = sandbox.run(&["doctor", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    let found = report["diagnostics"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|d| d["code"] == "locked")
        .expect("the lock");
    assert!(
        found["message"].as_str().is_some_and(|message| message.contains(&writer.id().to_string())),
        "{found}"
    );
    writer.kill().expect("it can be killed");
    writer.wait().expect("it ends");
    assert_ne!(sandbox.json(&["doctor"])["status"], "error");
    sandbox.ok(&["put", "--text", "after", "--lock-timeout", "0"]);
}

fn signal(pid: u32, name: &str) {
    let done =
        std::process::Command::new("bash").args(["-c", &format!("kill -{name} {pid}")]).status();
    assert!(done.expect("bash is there").success());
}

#[test]
#[cfg(target_os = "linux")]
fn a_stopped_holder_is_called_stopped_and_goes_on_when_it_is_told_to() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.hold_lock();
    signal(writer.id(), "STOP");
    let error =
        sandbox.fails(&["put", "--text", "x", "--lock-timeout", "0.2"], 2, "locked_by_writer");
    assert_eq!((&error["holder"], &error["pid"]), (&"stopped".into(), &writer.id().into()));
    assert!(
        error["hint"]
            .as_str()
            .is_some_and(|hint| hint.contains(&format!("kill -CONT {}", writer.id()))),
        "{error}"
    );
    signal(writer.id(), "CONT");
    drop(writer.stdin.take());
    assert!(writer.wait().expect("it ends").success());
    sandbox.ok(&["put", "--text", "x", "--lock-timeout", "0"]);
    assert_eq!(sandbox.count(), 3);
}

/// Runs `script` in a shell that holds the lock by descriptor 9, with `state` as what the lock file
/// says.
#[cfg(target_os = "linux")]
fn hold_by_shell(sandbox: &Sandbox, script: &str) -> std::process::Child {
    let lock = format!("{}.lock", sandbox.capsule().display());
    let held = sandbox.path("held");
    let script = format!("exec 9<>\"$1\"; flock 9; {script}");
    let mut command = std::process::Command::new("bash");
    command
        .args(["-c", &script, "bash", &lock])
        .env("HELD", &held)
        .stdout(std::process::Stdio::null());
    let mut child = command.spawn().expect("bash is there");
    if !waits_for(|| held.exists()) {
        child.kill().and_then(|()| child.wait()).expect("it can be ended");
        panic!("the shell does not hold the lock");
    }
    child
}

#[test]
#[cfg(target_os = "linux")]
fn a_lock_that_an_ended_holder_left_to_its_child_names_the_child() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.hold_lock();
    writer.kill().and_then(|()| writer.wait()).expect("it can be ended");
    // As if that writer had started the shell, which has its descriptor: the record in the lock
    // file is still the writer's.
    let mut shell = hold_by_shell(
        &sandbox,
        "sleep 60 & echo $! > \"$HELD.new\"; mv \"$HELD.new\" \"$HELD\"; wait",
    );
    let error =
        sandbox.fails(&["put", "--text", "x", "--lock-timeout", "0"], 2, "locked_by_writer");
    assert_eq!((&error["holder"], &error["pid"]), (&"ended".into(), &writer.id().into()));
    assert!(
        error["hint"].as_str().is_some_and(|hint| hint.contains(&shell.id().to_string())),
        "{error}"
    );
    sandbox.ok(&["find", "held"]);
    let child = std::fs::read_to_string(sandbox.path("held")).expect("written");
    signal(child.trim().parse().expect("a pid"), "KILL");
    shell.wait().expect("it ends");
    sandbox.ok(&["put", "--text", "x", "--lock-timeout", "5"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_holder_in_another_pid_namespace_is_not_looked_for_in_this_one() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.hold_lock();
    // The record as a writer in another container would have left it; the lock itself stays held.
    let lock = format!("{}.lock", sandbox.capsule().display());
    let here = std::fs::read_link("/proc/self/ns/pid").expect("Linux names the namespace");
    let here = here.to_str().expect("a plain name");
    let record = std::fs::read_to_string(&lock).expect("readable");
    assert!(record.contains(here), "{record}");
    std::fs::write(&lock, record.replace(here, &"0".repeat(here.len()))).expect("written in place");
    let error =
        sandbox.fails(&["put", "--text", "x", "--lock-timeout", "0"], 2, "locked_by_writer");
    assert_eq!((&error["holder"], &error["pid"]), (&"other_namespace".into(), &writer.id().into()));
    drop(writer.stdin.take());
    assert!(writer.wait().expect("it ends").success());
    assert_eq!(sandbox.count(), 2);
}

#[cfg(target_os = "linux")]
fn waits_for(mut done: impl FnMut() -> bool) -> bool {
    (0..300).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        done()
    })
}

#[test]
fn a_link_in_the_place_of_the_lock_file_is_refused_and_its_target_untouched() {
    let sandbox = Sandbox::new();
    let victim = sandbox.write("victim", "precious");
    let lock = sandbox.path(".kapsa/workspace.kapsa.lock");
    std::fs::remove_file(&lock).ok();
    std::os::unix::fs::symlink(&victim, &lock).expect("a link");
    let error = sandbox.fails(&["put", "--text", "x"], 1, "foreign_lock");
    assert!(
        error["message"].as_str().is_some_and(|message| message.contains("workspace.kapsa.lock")),
        "{error}"
    );
    assert_eq!(std::fs::read(&victim).expect("there"), b"precious");
    assert_eq!(sandbox.count(), 0);
    std::fs::remove_file(&lock).expect("removed");
    sandbox.ok(&["put", "--text", "x"]);
}

#[test]
fn a_lock_file_that_is_taken_away_lets_nobody_write_beside_the_writer() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.hold_lock();
    let lock = sandbox.path(".kapsa/workspace.kapsa.lock");
    std::fs::remove_file(&lock).expect("removed");
    // Somebody took the lock file away, which no program of ours does: the capsule itself is locked
    // as well.
    sandbox.fails(&["put", "--text", "beside", "--lock-timeout", "0"], 2, "locked_by_writer");
    drop(writer.stdin.take());
    assert!(writer.wait().expect("it ends").success());
    sandbox.ok(&["put", "--text", "beside", "--lock-timeout", "0"]);
    assert_eq!(sandbox.count(), 3);
    sandbox.ok(&["verify"]);
}
