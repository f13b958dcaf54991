//! What comes first: whose words, which passage, which phrase; and that neither the number of hits
//! wanted nor what somebody may not know has a say in it.

use kapsa_memory::access::{Access, Classification, ClearanceProfile};
use kapsa_memory::{AROUND_MAX, Clock, FindRequest, Found, NewRecord, Reader, SearchMode, Writer};

use crate::meaning::{Capsule, Plain, capsule, fill, options, record};

fn put(capsule: &Capsule, records: Vec<NewRecord>) {
    let mut writer = Writer::open(&capsule.path, options()).expect("opened");
    writer.put_many(records).expect("put");
}

fn turn(session: &str, role: &str, text: &str) -> NewRecord {
    let mut turn = NewRecord::text(text);
    turn.tags.insert("session".into(), session.into());
    if !role.is_empty() {
        turn.tags.insert("role".into(), role.into());
    }
    turn
}

fn ask(capsule: &Capsule, request: &FindRequest) -> Found {
    let reader = Reader::open(&capsule.path).expect("opened");
    reader.find_with(request, Some(&Plain::new("plain"))).expect("found")
}

fn texts(found: &Found) -> Vec<&str> {
    found.hits.iter().map(|hit| hit.record.text.as_str()).collect()
}

/// A hidden turn before a visible one leaves no trace in the visible one's vector, nor in what
/// speaks for it.
#[test]
fn a_vector_is_of_its_own_text() {
    let seen = |with_hidden: bool| {
        let capsule = capsule();
        let access = |level| Some(Access { level, named: Vec::new() });
        let mut records = Vec::new();
        for n in 0..20 {
            // What is hidden would be the nearest to the question.
            let hidden = NewRecord {
                access: access(Classification::Confidential),
                ..turn("1", "user", "The red ship sails: the red ship, the red ship.")
            };
            let visible = NewRecord {
                access: access(Classification::Public),
                ..turn("1", "assistant", &format!("Understood, entry {n}."))
            };
            records.extend(with_hidden.then_some(hidden));
            records.push(visible);
        }
        put(&capsule, records);
        fill(&capsule.path, &Plain::new("plain"));
        let reader = Reader::open(&capsule.path).expect("opened");
        let principal = reader.as_principal(ClearanceProfile::new("cro"));
        let request = FindRequest { k: 50, ..FindRequest::new("red ship entry") };
        let found = principal.find_with(&request, Some(&Plain::new("plain"))).expect("found");
        let cosine = |hit: &kapsa_memory::Hit| hit.why.cosine.map(f32::to_bits);
        let mut seen: Vec<_> = found
            .hits
            .iter()
            .map(|hit| (hit.record.text.clone(), cosine(hit), hit.strength.to_bits()))
            .collect();
        seen.sort();
        seen
    };
    assert_eq!(seen(true), seen(false));
    assert!(!seen(false).is_empty());
}

#[test]
fn the_order_of_hits_does_not_depend_on_how_many_are_wanted() {
    let capsule = capsule();
    let words = ["cat", "dog", "ship", "red", "lamp", "oil", "rope"];
    let text = |n: usize| {
        let word = |at: usize| words[(n * (at + 3) + at) % words.len()];
        format!("Entry {n}: {} {} beside the {}{}", word(0), word(1), word(2), [".", "?"][n % 2])
    };
    let speakers = ["user", "assistant", "tool"];
    put(
        &capsule,
        (0..400).map(|n| turn(&format!("s{}", n / 20), speakers[n % 3], &text(n))).collect(),
    );
    fill(&capsule.path, &Plain::new("plain"));
    for mode in [SearchMode::Auto, SearchMode::Words, SearchMode::Meaning] {
        for query in ["red ship and the cat", "\"beside the lamp\" oil", "rope +lamp"] {
            let sequences = |k: usize| -> Vec<u64> {
                let found = ask(&capsule, &FindRequest { k, mode, ..FindRequest::new(query) });
                found.hits.iter().map(|hit| hit.record.sequence).collect()
            };
            let all = sequences(300);
            assert!(all.len() > 20, "{mode:?} {query}: {}", all.len());
            for k in [1, 3, 10, 40, 70, 150] {
                let few = sequences(k);
                assert_eq!(few, all[..few.len()], "{mode:?} {query} {k}");
                assert_eq!(few.len(), k.min(all.len()), "{mode:?} {query} {k}");
            }
        }
    }
}

/// 39 records that have nothing to do with a cat, one of which has a word of the question, and one
/// of a cat.
fn of_one_cat(model: &Plain) -> Capsule {
    let capsule = capsule();
    let mut records: Vec<_> =
        (0..38).map(|n| record(&format!("n/{n}"), &format!("A dog barks, {n} times."))).collect();
    records.push(record("n/word", "The lamp of a dog."));
    records.push(record("n/cat", "A cat sleeps."));
    put(&capsule, records);
    fill(&capsule.path, model);
    capsule
}

fn ask_of(capsule: &Capsule, model: &Plain, request: &FindRequest) -> Found {
    let reader = Reader::open(&capsule.path).expect("opened");
    reader.find_with(request, Some(model)).expect("found")
}

/// Points for the meaning of a hit.
fn meaning_of(found: &Found, uri: &str) -> Option<f32> {
    let hit = found.hits.iter().find(|hit| hit.record.uri.short() == uri)?;
    let (_, points) = hit.why.points.iter().find(|(what, _)| *what == "meaning")?;
    Some(*points)
}

/// Unrelated texts had most of the points for meaning where a model gives them a high cosine.
#[test]
fn what_is_no_nearer_than_the_others_has_no_points_for_it_where_cosines_have_a_floor() {
    let request = FindRequest { k: 100, ..FindRequest::new("feline lamp") };
    for (is_declared, of_word) in [(false, 0.7..0.9), (true, -0.1..0.1)] {
        let model = Plain::with_floor("floor", 70, is_declared);
        let found = ask_of(&of_one_cat(&model), &model, &request);
        let of_cat = meaning_of(&found, "n/cat").expect("the cat is found");
        assert!(of_cat > 0.99, "{of_cat}");
        let points = meaning_of(&found, "n/word").unwrap_or(0.0);
        assert!(of_word.contains(&points), "{is_declared}: {points}");
    }
}

/// Without what a model declares, every record with a high cosine seemed to answer.
#[test]
fn a_floor_leaves_strengths_as_they_are_and_leaves_out_what_only_it_speaks_for() {
    let request = FindRequest { k: 100, ..FindRequest::new("feline basket") };
    let strengths = |model: &Plain| -> Vec<(String, f32)> {
        let found = ask_of(&of_one_cat(model), model, &request);
        let uri = |hit: &kapsa_memory::Hit| hit.record.uri.short().to_string();
        found.hits.iter().map(|hit| (uri(hit), hit.strength)).collect()
    };
    let plain = strengths(&Plain::new("plain"));
    assert_eq!(plain.iter().map(|(uri, _)| uri.as_str()).collect::<Vec<_>>(), ["n/cat"]);
    let declared = strengths(&Plain::with_floor("floor", 70, true));
    assert_eq!(declared.len(), 1, "{declared:?}");
    assert!((declared[0].1 - plain[0].1).abs() < 0.01, "{declared:?} {plain:?}");
    assert!(strengths(&Plain::with_floor("floor", 70, false)).len() > 30);
}

#[test]
fn of_few_records_the_second_best_is_still_near_where_cosines_have_a_floor() {
    let model = Plain::with_floor("floor", 70, true);
    let capsule = capsule();
    put(
        &capsule,
        vec![record("n/a", "A cat."), record("n/b", "A cat and a dog."), record("n/c", "Red.")],
    );
    fill(&capsule.path, &model);
    let found = ask_of(&capsule, &model, &FindRequest::new("feline"));
    assert!(meaning_of(&found, "n/b").is_some_and(|points| (0.6..0.8).contains(&points)));
}

/// The same weights, used in another way: not the same vectors.
#[test]
fn vectors_of_models_with_different_floors_are_never_compared() {
    let model = Plain::with_floor("floor", 70, true);
    let capsule = of_one_cat(&model);
    let other = Plain::with_floor("floor", 70, false);
    let found = ask_of(&capsule, &other, &FindRequest::new("dog"));
    assert!(!found.hits.is_empty() && found.hits.iter().all(|hit| hit.why.cosine.is_none()));
    let coverage = Reader::open(&capsule.path).expect("opened").coverage().expect("coverage");
    assert_eq!(coverage.model.as_ref(), Some(kapsa_model::Embedder::model(&model)));
}

#[test]
fn a_quoted_phrase_comes_first_and_is_required_only_when_asked() {
    let capsule = capsule();
    put(
        &capsule,
        vec![
            record("n/apart", "The lamp oil, the oil lamp, all of lamp and oil: cat, cat."),
            record("n/phrase", "Fill in the oil for the big lamp of the pier."),
            record("n/feline", "A feline sat there."),
        ],
    );
    fill(&capsule.path, &Plain::new("plain"));
    let uris = |request: &FindRequest| -> Vec<String> {
        let found = ask(&capsule, request);
        found.hits.iter().map(|hit| hit.record.uri.short().to_string()).collect()
    };
    for mode in [SearchMode::Auto, SearchMode::Words] {
        let request = FindRequest { mode, ..FindRequest::new("oil lamp \"the big lamp\"") };
        let found = uris(&request);
        assert_eq!((found[0].as_str(), found.len() > 1), ("n/phrase", true), "{mode:?} {found:?}");
        assert_eq!(uris(&FindRequest { strict: true, ..request }), ["n/phrase"], "{mode:?}");
        let must = FindRequest { mode, ..FindRequest::new("oil +\"the big lamp\"") };
        assert_eq!(uris(&must), ["n/phrase"], "{mode:?}");
    }
    // Signs narrow what is found, and leave meaning its say.
    let found = ask(&capsule, &FindRequest::new("cat -pier"));
    assert!(texts(&found).contains(&"A feline sat there."), "{:?}", texts(&found));
    assert!(!texts(&found).iter().any(|text| text.contains("pier")));
    let required = ask(&capsule, &FindRequest::new("cat +sat"));
    assert_eq!(texts(&required), ["A feline sat there."]);
    assert!(required.hits[0].why.cosine.is_some());
}

#[test]
fn the_user_comes_before_who_repeats_it() {
    let capsule = capsule();
    put(
        &capsule,
        vec![
            turn("1", "user", "Ship on Fridays only."),
            turn("1", "assistant", "Ship on Fridays only. Noted."),
            turn("1", "tool", "Ship on Fridays only. Written."),
        ],
    );
    fill(&capsule.path, &Plain::new("plain"));
    let found = ask(&capsule, &FindRequest::new("when do we ship"));
    assert_eq!(found.hits.iter().map(|hit| hit.record.sequence).collect::<Vec<_>>(), [1, 2, 3]);
    let capsule = self::capsule();
    put(
        &capsule,
        vec![
            turn("1", "user", "When does the ship sail?"),
            turn("1", "assistant", "Noted, a ship."),
        ],
    );
    fill(&capsule.path, &Plain::new("plain"));
    let found = ask(&capsule, &FindRequest::new("when does the ship sail"));
    let reply = found.hits.iter().find(|hit| hit.record.sequence == 2).expect("found");
    let inherited = |(what, _): &&(&str, f32)| what.ends_with("_beside");
    assert_eq!(reply.why.points.iter().find(inherited), None, "{:?}", reply.why);
}

#[test]
fn a_long_text_ranks_by_its_best_passage() {
    let capsule = capsule();
    let filler = "Nothing of note happened on that day at the pier. ".repeat(120);
    let long = format!("{filler}The harbour crane needs new brakes before winter. {filler}");
    put(
        &capsule,
        vec![
            record("n/long", &long),
            record("n/short", "The crane of the museum is red, the harbour is far."),
        ],
    );
    fill(&capsule.path, &Plain::new("plain"));
    let found = ask(&capsule, &FindRequest::new("brakes of the harbour crane"));
    assert_eq!(found.hits[0].record.uri.short(), "n/long");
    assert!(found.hits[0].snippet.contains("needs new brakes"), "{}", found.hits[0].snippet);
}

#[test]
fn the_turns_around_a_hit_are_shown_as_far_as_they_may_be_known() {
    let capsule = capsule();
    let mut records = Vec::new();
    for (n, text) in ["one", "two", "the red ship", "four", "five"].into_iter().enumerate() {
        let level = if n == 1 { Classification::Confidential } else { Classification::Public };
        let access = Some(Access { level, named: Vec::new() });
        records.push(NewRecord { access, ..turn("1", "", text) });
        records.push(turn("2", "", "another conversation"));
    }
    put(&capsule, records);
    let reader = Reader::open(&capsule.path).expect("opened");
    let request = FindRequest { around: 2, k: 1, ..FindRequest::new("red ship") };
    let around = |found: &Found| -> Vec<String> {
        found.hits[0].around.iter().map(|turn| turn.text.clone()).collect()
    };
    assert_eq!(around(&reader.find(&request).expect("found")), ["one", "two", "four", "five"]);
    let principal = reader.as_principal(ClearanceProfile::new("cro"));
    assert_eq!(around(&principal.find(&request).expect("found")), ["one", "four", "five"]);
    let many = FindRequest { around: AROUND_MAX + 1, ..request };
    assert_eq!(around(&reader.find(&many).expect("found")).len(), 4);
}

#[test]
fn a_record_that_names_the_day_counts_as_of_that_time() {
    let capsule = capsule();
    put(
        &capsule,
        vec![
            record("n/other", "The ship was inspected on 2 May 2024."),
            record("n/named", "The ship was inspected on 13.01.2024."),
        ],
    );
    fill(&capsule.path, &Plain::new("plain"));
    for day in ["13 Jan 2024", "13/01/2024", "2024-01-13"] {
        let time = Some(Clock::utc(1_800_000_000_000_000));
        let query = format!("which ship was inspected on {day}");
        let found = ask(&capsule, &FindRequest { time, ..FindRequest::new(query) });
        assert_eq!(found.hits[0].record.uri.short(), "n/named", "{day}");
    }
}
