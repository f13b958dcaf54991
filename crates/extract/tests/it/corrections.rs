//! What people take back, what comes instead, and what only sounds like it.

use super::{Script, kept_of};

/// In the words that people use for it, and for other things.
#[test]
fn what_comes_instead_is_kept_and_what_sounds_like_it_is_not() {
    let mut lines = 0;
    for line in include_str!("corrections.txt").lines().filter(|line| !line.starts_with('#')) {
        let (what, message) = line.split_once(' ').expect("two columns");
        let message = message.trim();
        let kept: &[&str] = if what == "keep" { &[message] } else { &[] };
        assert_eq!(kept_of(message), kept, "{line}");
        lines += 1;
    }
    assert!(lines > 180, "{lines} lines");
}

#[test]
fn an_instruction_not_to_forget_is_no_correction() {
    for message in ["Don't forget to run make proto.", "Never forget the license header."] {
        assert_eq!(kept_of(message), [message]);
    }
    assert_eq!(kept_of("Vergiss nicht, vor jedem Push die Tests zu starten.").len(), 1);
}

#[test]
fn what_is_left_goes_with_what_comes_instead() {
    let kept =
        Script::new().user("We deploy with Fly. Forget about Redis. We cache in RAM now.").kept();
    let titles: Vec<&str> = kept.iter().map(|one| one.title.as_str()).collect();
    assert_eq!(titles, ["We deploy with Fly.", "We cache in RAM now."]);
    assert!(!kept[0].body.contains("Redis") && kept[1].body.contains("Redis"), "{kept:#?}");
    let lifted = Script::new().user("You can commit to main now. Forget about that rule.").kept();
    assert_eq!(lifted[0].title, "You can commit to main now.");
    assert!(lifted[0].body.contains("Forget about that rule."), "{lifted:#?}");
    assert_eq!(kept_of("Forget about that rule."), [] as [&str; 0]);
}

#[test]
fn what_names_what_it_takes_back_takes_back_nothing_else() {
    for after in ["never mind Celery, use RQ instead", "Forget what I said about Celery, use RQ."] {
        let script = Script::new().user("Use pnpm, not npm.").assistant("Ok.").user(after);
        assert_eq!(script.titles(), ["Use pnpm, not npm.", after]);
    }
    let script = Script::new().user("Use pnpm, not npm.").user("never mind, forget it");
    assert_eq!(script.titles(), [] as [&str; 0]);
}

#[test]
fn each_statement_of_a_message_is_a_candidate() {
    for (message, titles) in [
        (
            "We deploy with Fly. Tests run with nextest, not cargo test.",
            &["We deploy with Fly.", "Tests run with nextest, not cargo test."] as &[&str],
        ),
        ("Use pnpm, not npm. Never push to main.", &["Use pnpm, not npm.", "Never push to main."]),
        (
            "Never commit secrets to the repo. Never commit binaries to the repo.",
            &["Never commit secrets to the repo.", "Never commit binaries to the repo."],
        ),
        (
            "We use Postgres. This repo targets Python 3.12.",
            &["We use Postgres.", "This repo targets Python 3.12."],
        ),
        (
            "Remember that staging is read-only. Remember that the VPN drops at noon.",
            &["Remember that staging is read-only.", "Remember that the VPN drops at noon."],
        ),
        (
            "Wir deployen jetzt mit Fly. Tests laufen mit nextest, nicht mit cargo test.",
            &["Wir deployen jetzt mit Fly.", "Tests laufen mit nextest, nicht mit cargo test."],
        ),
    ] {
        assert_eq!(kept_of(message), titles);
    }
}

#[test]
fn what_goes_on_with_a_statement_is_part_of_it() {
    for message in [
        "Never push to main. It must stay green.",
        "We use Postgres. So never write SQL that only MySQL knows.",
        "Always run the linter first. Also always run the type checker.",
        "Use the following rules:\n- never push to main\n- never rebase shared branches",
        "Rename the module. We use snake case. Never use abbreviations.",
    ] {
        assert_eq!(kept_of(message).len(), 1, "{message}");
    }
}

#[test]
fn several_wishes_of_one_message_are_one_piece_of_work() {
    assert_eq!(kept_of("The header should be blue. Links should be green."), [] as [&str; 0]);
}
