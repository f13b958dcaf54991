//! What is made of each piece of a query.

use super::*;

/// Words and phrases as `word`, `+must`, `+"phrase"`, `-not`, `-"phrase"`, then
/// `{group|group}`, then `!none`.
fn check(text: &str, expected: &str) {
    let query = Query::parse(text).expect("short query");
    let mut found = query.should.clone();
    found.extend(query.must.iter().map(|word| format!("+{word}")));
    found.extend(query.phrases.iter().map(|phrase| format!("+{phrase}")));
    found.extend(query.must_not.iter().map(|word| format!("-{word}")));
    found.extend(query.phrases_not.iter().map(|phrase| format!("-{phrase}")));
    found.extend(query.filter.all.iter().map(|group| format!("{{{}}}", group.join("|"))));
    found.extend(query.filter.none.iter().map(|term| format!("!{term}")));
    assert_eq!(found.join(" "), expected, "{text}");
    assert_eq!(query.is_empty(), expected.is_empty(), "{text}");
    assert_eq!(query.has_phrases(), expected.contains('"'), "{text}");
}

#[test]
fn few_words_tell_most() {
    let query = Query::parse("+must common rare rarer half -not").expect("short query");
    assert_eq!(query.terms().collect::<Vec<_>>(), ["must", "common", "rare", "rarer", "half"]);
    let told = |count: usize| query.telling(&[9.0, 1.0, 4.0, 5.0, 2.5], count);
    let words = |query: &Query| query.terms().map(str::to_string).collect::<Vec<_>>();
    assert_eq!(
        words(&told(9)),
        ["must", "rare", "rarer", "half"],
        "what tells less than half as much as the first is left out"
    );
    assert_eq!(words(&told(2)), ["must", "rare", "rarer"], "in the order of the query");
    assert_eq!(words(&told(1)), ["must", "rarer"]);
    assert_eq!(told(9).must_not, query.must_not);
    assert_eq!(query.telling(&[], 9), query, "words of which nothing is known are all alike");
    assert_eq!(Query::default().telling(&[], 3), Query::default());
}

#[test]
fn words_and_phrases() {
    check("", "");
    check("  \t ", "");
    check("quick Foxes quick", "quick fox");
    check("\"quick brown foxes\" run", "run +quick +brown +fox +\"quick brown fox\"");
    check("\"Foxes\" run -\"dogs\"", "run +fox -dog");
    check("quick \"the quick fox\" +fox", "+the +quick +fox +\"the quick fox\"");
    check("+quick -fox", "+quick -fox");
    check("+\"quick fox\" -\"slow dog\"", "+quick +fox +\"quick fox\" -\"slow dog\"");
    check("-\"slow dog\"", "-\"slow dog\"");
    check("quick +quick", "+quick");
    check("say\"quick fox", "say quick fox");
    check("+\"quick fox", "quick fox");
    check("-\"slow +dog", "slow +dog");
    check("\"quick fox\" \"slow dog", "slow dog +quick +fox +\"quick fox\"");
    check("\"", "");
    check("\"\" x", "x");
    check("-\"", "");
    check("a - b + c", "b c");
    check("--release ++i -+x", "releas x");
    check("-", "");
    check("+", "");
}

#[test]
fn stop_words() {
    for word in STOP_WORDS {
        let parts = words_of(word).parts;
        assert_eq!(parts, [(0, word.to_owned())], "in its indexed form");
    }
    check("what is the memory of an agent", "memori agent");
    check("to be or not to be", "to be or not");
    check("+the who", "+the");
    check("\"the who\" is", "+the +who +\"the who\"");
    check("who -band", "who -band");
}

#[test]
fn identifiers() {
    check("getUserName", "getusernam get user name");
    check("+getUserName", "+get +user +name +\"get user name\"");
    check("-src/main.rs", "-\"src main rs\"");
    check("\"src/main.rs\"", "+src +main +rs +\"src main rs\"");
    check("\"東京都\"", "+東京 +京都 +\"東京 京都\"");
    check("東京都", "東京 京都");
}

#[test]
fn other_spellings() {
    check("e-mail", "e mail email");
    check("\"e-mail\" GPU", "gpu gpus +e +mail +\"e mail\"");
    check("to-do", "to do todo");
    check("Müller -Müller", "muller mueller -muller");
    check("2024年", "2024 年 ２０２４");
    check("-猫", "-\"猫\"");
    let query = Query::parse("\"猫\"").expect("short");
    assert!(
        query.must.is_empty() && query.should.starts_with(&["猫".to_owned(), "猫は".to_owned()])
    );
    let many: Vec<String> = (0..QUERY_TERMS_MAX).map(|n| format!("w{n}x")).collect();
    let query = Query::parse(&format!("{} e-mail 猫", many.join("_ "))).expect("short");
    assert!(!query.should.contains(&"email".to_owned()), "no word makes way");
}

#[test]
fn fields() {
    check("kind:fact memory", "memori {kind:fact}");
    check("kind:fact kind:event", "{kind:fact|kind:event}");
    check("tag:a tag:k=v", "{tag:a} {tag:k=v}");
    check("label:\"two words\" -kind:fact", "{label:two words} !kind:fact");
    check("+agent:Smith", "{agent:Smith}");
    check("title:\"Running dogs\"", "{title:run} {title:dog}");
    check("-title:dogs", "!title:dog");
    check("http://x foo:bar", "http x foo bar");
    check("kind: fact", "kind fact");
    check("uri:\"kapsa://a b", "{uri:kapsa://a b}");
}

#[test]
fn limits() {
    let long = "x".repeat(QUERY_BYTES_MAX + 1);
    assert!(matches!(Query::parse(&long), Err(Error::QueryTooLong { .. })));
    assert!(Query::parse(&long[1..]).is_ok());
    let many: Vec<String> = (0..5000).map(|n| format!("w{n}x")).collect();
    let query = Query::parse(&many.join(" ")[..QUERY_BYTES_MAX.min(30_000)]).expect("fits");
    assert_eq!(query.terms().count(), TERMS_EXAMINED_MAX);
}
