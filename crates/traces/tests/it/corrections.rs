//! What people take back in plain words, from the message to the memory.

use kapsa_traces::SyncOptions;

use crate::support::{Place, now};

/// The titles of what holds after sessions in which one message each was said, in their order.
fn holds_after(messages: &[&str]) -> Vec<String> {
    let place = Place::new();
    for (day, message) in (1..).zip(messages) {
        place.session(&format!("s{day}"), day, &[message, "assistant: Understood."]);
    }
    place.sync_with(&SyncOptions::new(now));
    let title = |text: String| text.lines().next().unwrap_or_default().to_string();
    place.live().into_iter().map(title).collect()
}

/// Holds that the second message supersedes the first one.
fn takes_back(before: &str, after: &str) {
    assert_eq!(holds_after(&[before]), [before]);
    assert_eq!(holds_after(&[before, after]), [after], "{before}");
}

#[test]
fn what_somebody_leaves_for_something_else_is_superseded() {
    for (before, after) in [
        ("We deploy with Fly.", "Forget about Fly, we use Render now."),
        ("Always use Webpack to bundle the shop.", "Scrap Webpack, Vite from now on."),
        ("Use Celery for background jobs.", "never mind Celery, use RQ instead"),
        ("We use Jenkins for CI.", "instead of Jenkins we now use GitHub Actions"),
        ("We use MySQL for orders.", "We use Postgres now, not MySQL."),
        ("We deploy to Heroku.", "We're off Heroku, it's Fly now."),
        ("We use Kubernetes.", "We gave up on Kubernetes, everything runs on Nomad now."),
        ("Nimm immer Yarn.", "statt Yarn jetzt pnpm"),
        ("Wir nutzen immer Jenkins.", "Vergiss Jenkins, wir nehmen jetzt GitHub Actions."),
        ("Nimm immer Redis als Cache.", "Vergiss das mit Redis, wir cachen jetzt im Speicher."),
        ("Nutze immer Docker.", "Kein Docker mehr, wir nehmen Podman."),
    ] {
        takes_back(before, after);
    }
    let two =
        holds_after(&["We use Redis for caching.", "Forget about Redis. We cache in RAM now."]);
    assert_eq!(two, ["We cache in RAM now."]);
}

#[test]
fn what_is_otherwise_now_is_superseded() {
    for (before, after) in [
        (
            "The API key header must be X-Shop-Key.",
            "The API key header is X-Store-Key now, not X-Shop-Key",
        ),
        (
            "Every request must send the API key in the X-Shop-Key header.",
            "The API key header is X-Store-Key now, not X-Shop-Key",
        ),
        ("Staging listens on port 5432.", "The staging port is 5433 now, not 5432."),
        (
            "The bucket must be called shop-assets.",
            "The bucket is called shop-media now, not shop-assets.",
        ),
    ] {
        takes_back(before, after);
    }
}

#[test]
fn a_rule_that_somebody_lifts_holds_no_more() {
    for (before, after) in [
        ("Never commit to main.", "You can commit directly to main now, forget about that rule"),
        (
            "Please don't commit directly to main, open a PR instead.",
            "You can commit directly to main now, forget about that rule",
        ),
        ("Do not push to main.", "You can push to main again, forget about the ban."),
        ("Always wrap lines at 80 columns.", "Forget about the 80 column rule."),
        ("Don't use lodash.", "It's fine to use lodash now, forget that rule."),
        ("Use conventional commits.", "The rule about conventional commits no longer applies."),
        ("Keine Squash-Commits mehr.", "Vergiss die Regel mit den Squash-Commits."),
    ] {
        takes_back(before, after);
    }
    let apart = ["Never commit to main.", "You can commit to main now. Forget about that rule."];
    assert_eq!(holds_after(&apart), ["You can commit to main now."]);
}

#[test]
fn two_decisions_of_one_message_are_two_facts_that_change_apart() {
    let both = "We deploy with Fly. Tests run with nextest, not cargo test.";
    let tests = "Tests run with nextest, not cargo test.";
    assert_eq!(holds_after(&[both]), [tests, "We deploy with Fly."]);
    let render = "Forget about Fly, we use Render now.";
    assert_eq!(holds_after(&[both, render]), [render, tests]);
    let bans = "Never commit secrets to the repo. Never commit binaries to the repo.";
    let each = ["Never commit binaries to the repo.", "Never commit secrets to the repo."];
    assert_eq!(holds_after(&[bans]), each);
}

#[test]
fn what_takes_nothing_back_supersedes_nothing() {
    for (before, after) in [
        ("We use Postgres for orders.", "For this test use SQLite instead of Postgres."),
        ("We use Redis for caching.", "If we used Valkey instead of Redis, would it be faster?"),
        ("Never commit to main.", "Can I commit directly to main now?"),
        ("We deploy with Fly.", "He wrote \"forget about Fly, we use Render now\" in the chat."),
        ("We deploy with Fly.", "Maybe forget about Fly."),
        ("We deploy with Fly.", "We forgot about Fly in the readme."),
        ("Wir nutzen immer Redis.", "Vergiss es."),
        ("We deploy with Fly.", "forget it, I found the problem"),
        ("Use Yarn, not npm.", "scrap the last commit"),
    ] {
        assert_eq!(holds_after(&[before, after]), [before], "{after}");
    }
    let instructed =
        holds_after(&["We use Redis for caching.", "Don't forget to start Redis first."]);
    assert_eq!(instructed.len(), 2, "{instructed:?}");
}
