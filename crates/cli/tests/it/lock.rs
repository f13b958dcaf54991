//! Two processes and one capsule.

use crate::support::Sandbox;

#[test]
fn a_second_writer_is_told_who_holds_the_lock_and_readers_are_not_stopped() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.hold_lock();
    let error = sandbox.fails(&["put", "--text", "x", "--lock-timeout", "0"], 2, "locked_by_writer");
    assert_eq!(error["pid"], writer.id());
    assert_eq!(error["run_id"], "run-7");
    for field in ["host", "user", "since", "hint"] {
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
    let mut waiting = sandbox.command().args(["put", "--text", "next", "--lock-timeout", "30"]).spawn().expect("it starts");
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
    let found = report["diagnostics"].as_array().expect("a list").iter().find(|d| d["code"] == "locked").expect("the lock");
    assert!(found["message"].as_str().is_some_and(|message| message.contains(&writer.id().to_string())), "{found}");
    writer.kill().expect("it can be killed");
    writer.wait().expect("it ends");
    assert_ne!(sandbox.json(&["doctor"])["status"], "error");
    sandbox.ok(&["put", "--text", "after", "--lock-timeout", "0"]);
}
