//! What people say.

use kapsa_extract::{
    BODY_CHARS_MAX, CANDIDATES_MAX, MemoryType, TITLE_CHARS_MAX, explain, extract,
};
use kapsa_ingest::{Place, Speaker};
use serde_json::json;

use super::{Script, kept_of};

#[test]
fn what_holds_beyond_its_moment_is_kept() {
    for message in [
        "The invoices must be numbered without gaps.",
        "Never write below generated/.",
        "don't touch the migrations folder",
        "do not shorten the code in your answers",
        "USE \"uv pip\"!!!",
        "Use pnpm, not npm.",
        "please keep the old endpoint, clients in the field call it",
        "let's go with sqlite rather than postgres",
        "To avoid the pager, run git with --no-pager",
        "no, mock the clock instead of sleeping",
        "We no longer need the v1 API, we don't support it anymore",
        "The nightly job fails when the disk of the runner is full",
        "Rule: one migration per pull request",
        "Please ask me before you add a dependency",
    ] {
        assert_eq!(kept_of(message).len(), 1, "{message}");
    }
}

#[test]
fn other_languages_have_rules_too() {
    for (rule, order) in [
        ("Die Migrationen dürfen nicht geändert werden.", "Schreib einen Test."),
        ("Il faut toujours utiliser pnpm.", "Ajoute un test."),
        ("Nunca cambies la API pública.", "Escribe una prueba."),
        ("Não use npm, sempre pnpm.", "Crie um teste."),
        ("Никогда не меняй файлы миграций.", "Напиши тест."),
        ("不要修改生成的文件。", "写一个测试。"),
        ("生成されたファイルは必ず残す。", "テストを書いて。"),
    ] {
        assert_eq!(kept_of(rule).len(), 1, "{rule}");
        assert_eq!(kept_of(order), [] as [&str; 0], "{order}");
    }
}

#[test]
fn what_is_only_asked_for_now_is_not() {
    for message in [
        "Add a test for the parser.",
        "fix the failing build",
        "how are the entries sorted?",
        "What should I do about the warning?",
        "can you show me the config file",
        "thanks, looks good!",
        "I don't understand the second step",
        "i've pushed the branch, please write the release notes",
        "Please make a commit message for these changes",
        "yes",
        "continue",
        "use it in the handler too",
        "use the browser tool to read https://example.com/docs",
        "Have a look at any files you need to",
        "maybe we should wait",
        "I want to build a chat bot for our shop",
        "Delete the old pages. wait, revert that",
        "Use a different icon for the menu.",
        "Only show the last ten entries.",
        "I don't like the layout.",
        "It would be cool to have a page with a slow gradient behind it, and then you can just put \
         the name there, and there's a secret at the bottom that you have to scroll down to",
        "if one of the scripts is not used anymore, remove it please, then test the other one with \
         the first post to see that nothing is lost, and then after I looked at it update the notes",
        "Now run `npm test`, `npm run lint` and `npm run types`.",
    ] {
        assert_eq!(kept_of(message), [] as [&str; 0], "{message}");
    }
}

/// The rules of many teams and the requests of many days, in the words that people use for them.
#[test]
fn plain_words_are_told_apart() {
    let mut lines = 0;
    for line in include_str!("plain.txt").lines().filter(|line| !line.starts_with('#')) {
        let (what, message) = line.split_once(' ').expect("two columns");
        let is_kept = !kept_of(message.trim()).is_empty();
        assert_eq!(is_kept, matches!(what, "keep" | "wrong"), "{line}");
        lines += 1;
    }
    assert!(lines > 300, "{lines} lines");
}

#[test]
fn a_wish_alone_is_a_piece_of_work() {
    assert_eq!(kept_of("The header should be blue."), [] as [&str; 0]);
    assert_eq!(kept_of("Add a toggle. It should survive a reload."), [] as [&str; 0]);
    let two = Script::new().user("The header should be blue.").user("Never use inline styles.");
    assert_eq!(two.titles(), ["The header should be blue.", "Never use inline styles."]);
}

#[test]
fn what_is_pasted_is_not_said() {
    let pasted = "see the log:\n\
        2026-01-02 10:00:00 ERROR you must never restart the broker\n\
        Traceback (most recent call last):\n  \
          File \"x.py\", line 3, in <module>\n\
        ValueError: the port must be set\n\
        > Always rebase before merging.\n\
        ```\n\
        # never edit this file\n\
        ```\n\
        | must | not |\n";
    assert_eq!(kept_of(pasted), [] as [&str; 0]);
}

#[test]
fn a_sentence_in_quotes_is_somebody_elses() {
    assert_eq!(kept_of("The readme says \"you must never call this twice\"."), [] as [&str; 0]);
}

#[test]
fn injected_text_and_the_talk_of_agents_give_nothing() {
    let injected = Script::new().injected("You must always use tabs. Never use spaces.");
    assert_eq!(injected.titles(), [] as [&str; 0]);
    let assistant = Script::new().user("go on").assistant("You must never use spaces here.");
    assert_eq!(assistant.titles(), [] as [&str; 0]);
    let mut child = Script::new().user("You must never use spaces here.");
    child.0.parent = Some("s0".to_owned());
    assert_eq!(child.titles(), [] as [&str; 0]);
}

#[test]
fn a_prompt_that_a_program_wrote_gives_nothing() {
    let rules = "Score the answer. You must not explain. ".repeat(20);
    assert_eq!(kept_of(&format!("{rules}\nReturn ONLY valid JSON.")), [] as [&str; 0]);
}

#[test]
fn what_is_short_comes_with_the_reply_that_took_it_up() {
    let script = Script::new()
        .user("Clean up the handlers.")
        .assistant("I removed the unused `locale` parameter from the handlers.")
        .user("But we shouldn't remove it")
        .assistant(
            "Let me fix that. You're right, the `locale` parameter is part of the interface.",
        );
    let kept = script.kept();
    assert_eq!(kept.len(), 1);
    assert!(kept[0].body.contains("the `locale` parameter is part of the interface"), "{kept:?}");
    assert_eq!(kept[0].kind, MemoryType::Correction);
    assert_eq!(kept[0].evidence, [Place::line(3)]);
    assert_eq!(kept[0].said_by, Speaker::User);
}

#[test]
fn a_picked_option_is_spelled_out() {
    let options = "Two ways:\n\n## Option 1: Poll the queue\nSimple.\n\n\
        ## Option 2: Subscribe to the stream\nNo delay, one more connection.\n\n\
        ## Option 3: Do nothing\n";
    let script = Script::new()
        .user("How do we get new orders?")
        .assistant(options)
        .user("Let's go with option 2");
    let kept = script.kept();
    assert!(kept[0].body.contains("Subscribe to the stream"), "{kept:?}");
    assert!(!kept[0].body.contains("Do nothing"), "{kept:?}");
    assert!(kept[0].body.contains("Question: How do we get new orders?"), "{kept:?}");
}

#[test]
fn an_answer_to_the_question_of_a_tool_is_a_decision() {
    let asked = json!({ "questions": [{
        "question": "Where do sessions live?",
        "options": [
            { "label": "In Redis (Recommended)", "description": "Shared by all workers." },
            { "label": "In memory", "description": "Lost on restart." },
        ],
    }]});
    let script = Script::new()
        .user("Store sessions.")
        .call("AskUserQuestion", asked)
        .user("In Redis (Recommended)");
    let kept = script.kept();
    assert_eq!((kept[0].kind, kept[0].title.as_str()), (MemoryType::Decision, "In Redis"));
    for part in ["Shared by all workers.", "Where do sessions live?", "Not chosen: In memory"] {
        assert!(kept[0].body.contains(part), "{kept:?}");
    }
}

#[test]
fn what_is_taken_back_is_not_kept() {
    let script = Script::new()
        .user("Use the REST API instead of the queue.")
        .user("never mind, stick with the queue, it must survive restarts");
    assert_eq!(script.titles(), ["never mind, stick with the queue, it must survive restarts"]);
    let marked: Vec<String> = extract(&script.0)
        .candidates
        .into_iter()
        .filter_map(|candidate| candidate.reversed.then_some(candidate.title))
        .collect();
    assert_eq!(marked, ["Use the REST API instead of the queue."]);
}

#[test]
fn what_is_said_again_counts_as_it_was_said_last() {
    let script = Script::new()
        .user("when you list files, don't sort them")
        .user("when you list files, don't sort them. keep the order of the disk")
        .user("when you list files, don't sort them. keep the order of the disk");
    let kept = script.kept();
    let titles: Vec<&str> = kept.iter().map(|one| one.title.as_str()).collect();
    assert_eq!(titles, ["when you list files, don't sort them.", "keep the order of the disk"]);
    assert_eq!(kept[0].evidence, [Place::line(1), Place::line(3)]);
}

#[test]
fn what_somebody_asks_to_remember_is_always_taken() {
    assert_eq!(kept_of("remember that the staging password rotates on mondays").len(), 1);
    assert_eq!(kept_of("Note: the printer is called hugo").len(), 1);
    assert_eq!(
        kept_of("The printer is called hugo. Remember that."),
        ["The printer is called hugo."]
    );
}

#[test]
fn what_somebody_asks_not_to_save_is_dropped_and_makes_no_rule() {
    let same = "We must never deploy on fridays. Don't save this.";
    assert_eq!(kept_of(same), [] as [&str; 0]);
    let before =
        Script::new().user("We must never deploy on fridays.").user("do not remember that");
    assert_eq!(before.titles(), [] as [&str; 0]);
    let details = "I renamed a variable. Do not turn such details into durable context.";
    assert_eq!(kept_of(details), [] as [&str; 0]);
    let own = Script::new()
        .user("Remember that the blog is built with Hugo.")
        .assistant("Noted.")
        .user("Do not save this: my salary is 100k.")
        .assistant("Okay.")
        .user("We must never deploy on fridays, remember that.");
    assert_eq!(own.titles().len(), 2, "{:?}", own.titles());
    assert!(own.kept().iter().all(|one| !one.body.contains("salary")), "{:#?}", own.kept());
    let of_machines = "Never keep all rows in memory.";
    assert_eq!(kept_of(of_machines), [of_machines]);
}

#[test]
fn what_calls_itself_by_its_type_is_of_that_type() {
    for (message, kind) in [
        ("Decision: always use structured logging, not plain text.", MemoryType::Decision),
        ("Durable constraint: one session maps to one checkpoint.", MemoryType::Constraint),
        ("Gotcha: the cache must be cleared after an upgrade.", MemoryType::Pitfall),
        ("Rule: never push on fridays.", MemoryType::Constraint),
    ] {
        let kept = Script::new().user(message).kept();
        assert_eq!(kept.iter().map(|one| one.kind).collect::<Vec<_>>(), [kind], "{message}");
    }
}

#[test]
fn items_of_a_list_of_rules_are_rules() {
    let message = "change the export to the following:\n\
        1. If the file exists, it is overwritten either way\n\
        2. Names come from the first line";
    let kept = Script::new().user(message).kept();
    assert!(kept[0].body.contains("overwritten"), "{kept:?}");
}

#[test]
fn secrets_are_gone_before_anything_is_a_candidate() {
    let key = format!("AKIA{}", "Q7ZX3MPLK2VNB5TR");
    let kept = Script::new().user(&format!("You must use the key {key} for uploads.")).kept();
    let shown = format!("{kept:?}");
    assert!(!shown.contains(&key) && shown.contains("[REDACTED"), "{shown}");
}

#[test]
fn one_session_gives_only_its_surest() {
    let mut script = Script::new();
    for name in 'a'..='p' {
        script = script.user(&format!("{name}{name}{name} must stay"));
    }
    script = script.user("NEVER touch juliet, it must stay as it is!!");
    let titles = script.titles();
    assert_eq!(titles.len(), CANDIDATES_MAX);
    assert!(titles.last().unwrap().contains("juliet"), "{titles:?}");
}

#[test]
fn every_sentence_can_be_explained() {
    let script = Script::new().user("Fix the build. Never skip the tests.");
    let all = explain(&script.0);
    let shown: Vec<_> = all.iter().map(|one| (one.sentence.as_str(), one.is_kept)).collect();
    assert_eq!(shown, [("Fix the build.", false), ("Never skip the tests.", true)]);
}

#[test]
fn any_text_is_read() {
    const PARTS: [&str; 24] = [
        "must not ",
        "。",
        "…",
        "ß",
        "\u{301}",
        "`",
        "\"",
        "“",
        "\n",
        "\n\n",
        "> ",
        "- ",
        "1. ",
        "```",
        "option 2",
        "@",
        "#file:ü ",
        "/ask ",
        "e.g.",
        "?",
        "!!",
        "\u{0}",
        "é: ",
        "<think>",
    ];
    let mut seed: u64 = 7;
    for _ in 0..3000 {
        let mut text = String::new();
        for _ in 0..12 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            text.push_str(PARTS[(seed >> 33) as usize % PARTS.len()]);
        }
        let script = Script::new().assistant(&text).user(&text).assistant(&text).user(&text);
        let kept = script.kept();
        assert!(kept.iter().all(|it| it.title.chars().count() <= TITLE_CHARS_MAX + 1), "{text:?}");
        assert!(kept.iter().all(|it| it.body.chars().count() <= BODY_CHARS_MAX + 1), "{text:?}");
    }
}
