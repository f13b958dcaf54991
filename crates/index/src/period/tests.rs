//! Tests of which times are found, and which are not.

use jiff::Timestamp;
use jiff::tz::Offset;

use super::*;

/// Wednesday, noon.
const NOW: &str = "2024-05-15T12:00:00Z";

fn periods(query: &str, now: i64, offset: i32) -> Vec<Period> {
    let most = 25 * 3600;
    let zone = TimeZone::fixed(Offset::from_seconds(offset.clamp(-most, most)).expect("in range"));
    super::periods(query, now, &Calendar { zone, ..Calendar::default() })
}

#[test]
fn weeks_begin_where_the_calendar_says() {
    let starts = |week_starts| {
        let calendar = Calendar { week_starts, ..Calendar::default() };
        // A Wednesday.
        let found = super::periods("last week", micros("2024-03-06T12:00:00Z"), &calendar);
        found[0]
            .from_us
            .map(|from| Timestamp::from_microsecond(from).expect("in range").to_string())
    };
    assert_eq!(starts(Weekday::Monday).as_deref(), Some("2024-02-26T00:00:00Z"));
    assert_eq!(starts(Weekday::Sunday).as_deref(), Some("2024-02-25T00:00:00Z"));
    assert_eq!(starts(Weekday::Saturday).as_deref(), Some("2024-02-24T00:00:00Z"));
}

fn micros(text: &str) -> i64 {
    text.parse::<Timestamp>().expect("a moment").as_microsecond()
}

/// `words: first day..day after`, for every period, in local time.
fn show(query: &str, now: &str, offset: i32) -> String {
    let day = |moment: Option<i64>| match moment {
        None => String::new(),
        Some(moment) => {
            let local = Timestamp::from_microsecond(moment + i64::from(offset) * 1_000_000)
                .expect("of the calendar");
            let local = TimeZone::UTC.to_datetime(local);
            assert_eq!(local, local.date().at(0, 0, 0, 0), "a period ends at midnight");
            local.date().to_string()
        }
    };
    let found = periods(query, micros(now), offset);
    let shown = found
        .iter()
        .map(|p| format!("{}: {}..{}", &query[p.words.clone()], day(p.from_us), day(p.until_us)));
    shown.collect::<Vec<_>>().join("; ")
}

fn check_at(now: &str, examples: &[(&str, &str)]) {
    let found = examples.iter().map(|(query, expected)| (query, expected, show(query, now, 0)));
    let wrong: Vec<String> = found
        .filter(|(_, expected, found)| *expected != found)
        .map(|(query, expected, found)| {
            format!("{query}\n  found    {found}\n  expected {expected}")
        })
        .collect();
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

fn check(examples: &[(&str, &str)]) {
    check_at(NOW, examples);
}

#[test]
fn days_about_today() {
    check(&[
        ("what did I do today", "today: 2024-05-15..2024-05-16"),
        ("what happened yesterday?", "yesterday: 2024-05-14..2024-05-15"),
        ("Yesterday's notes", "Yesterday: 2024-05-14..2024-05-15"),
        ("YESTERDAY EVENING", "YESTERDAY: 2024-05-14..2024-05-15"),
        ("yesterday at 5pm", "yesterday: 2024-05-14..2024-05-15"),
        ("the day before yesterday", "the day before yesterday: 2024-05-13..2024-05-14"),
        ("day after tomorrow", "day after tomorrow: 2024-05-17..2024-05-18"),
        ("meetings tomorrow", "tomorrow: 2024-05-16..2024-05-17"),
        ("dinner tonight", "tonight: 2024-05-15..2024-05-16"),
        ("deploys last night", "last night: 2024-05-14..2024-05-15"),
        ("who called this morning", "this morning: 2024-05-15..2024-05-16"),
        ("since yesterday", "since yesterday: 2024-05-14.."),
        ("today or yesterday", "today: 2024-05-15..2024-05-16; yesterday: 2024-05-14..2024-05-15"),
        ("after yesterday's outage", "after yesterday: 2024-05-14.."),
        ("before last week’s release", "before last week: ..2024-05-13"),
        ("before the day before yesterday", "before the day before yesterday: ..2024-05-13"),
    ]);
}

#[test]
fn units_of_the_calendar() {
    check(&[
        ("errors this week", "this week: 2024-05-13..2024-05-20"),
        ("last week's errors", "last week: 2024-05-06..2024-05-13"),
        ("last week of testing", "last week: 2024-05-06..2024-05-13"),
        ("next week", "next week: 2024-05-20..2024-05-27"),
        ("decisions of last week", "of last week: 2024-05-06..2024-05-13"),
        ("the week before last", "the week before last: 2024-04-29..2024-05-06"),
        ("this month", "this month: 2024-05-01..2024-06-01"),
        ("the previous month", "the previous month: 2024-04-01..2024-05-01"),
        ("next month", "next month: 2024-06-01..2024-07-01"),
        ("this quarter", "this quarter: 2024-04-01..2024-07-01"),
        ("last quarter", "last quarter: 2024-01-01..2024-04-01"),
        ("this year", "this year: 2024-01-01..2025-01-01"),
        ("last year", "last year: 2023-01-01..2024-01-01"),
        ("in the next year", "in the next year: 2025-01-01..2026-01-01"),
        ("what runs this weekend", "this weekend: 2024-05-18..2024-05-20"),
        ("last weekend", "last weekend: 2024-05-11..2024-05-13"),
        ("on the weekend", "on the weekend: 2024-05-11..2024-05-13"),
        ("this past weekend", "this past weekend: 2024-05-11..2024-05-13"),
        ("the past weekend", "the past weekend: 2024-05-11..2024-05-13"),
        ("the weekend before last", "the weekend before last: 2024-05-04..2024-05-06"),
        ("two weekends ago", "two weekends ago: 2024-05-04..2024-05-06"),
        ("since last month", "since last month: 2024-04-01.."),
        ("the current year", "the current year: 2024-01-01..2025-01-01"),
    ]);
}

#[test]
fn counted_units() {
    check(&[
        ("two days ago", "two days ago: 2024-05-13..2024-05-14"),
        ("3 weeks ago", "3 weeks ago: 2024-04-22..2024-04-29"),
        ("a week ago", "a week ago: 2024-05-06..2024-05-13"),
        ("a month ago", "a month ago: 2024-04-01..2024-05-01"),
        ("a year ago", "a year ago: 2023-01-01..2024-01-01"),
        ("a few days ago", "a few days ago: 2024-05-10..2024-05-14"),
        ("a couple of months ago", "a couple of months ago: 2024-03-01..2024-04-01"),
        ("13 hours ago", "13 hours ago: 2024-05-14..2024-05-15"),
        ("30 seconds ago", "30 seconds ago: 2024-05-15..2024-05-16"),
        ("since two weeks ago", "since two weeks ago: 2024-04-29.."),
        ("before two years ago", "before two years ago: ..2022-01-01"),
        ("three days from now", "three days from now: 2024-05-18..2024-05-19"),
        ("in the last 10 days", "in the last 10 days: 2024-05-05..2024-05-16"),
        ("past two weeks", "past two weeks: 2024-05-01..2024-05-16"),
        ("over the past month", "over the past month: 2024-04-15..2024-05-16"),
        ("in the last week", "in the last week: 2024-05-08..2024-05-16"),
        ("changes in the last 24 hours", "in the last 24 hours: 2024-05-14..2024-05-16"),
        ("the last few weeks", "the last few weeks: 2024-04-10..2024-05-16"),
        ("the next 3 days", "the next 3 days: 2024-05-15..2024-05-19"),
    ]);
}

#[test]
fn weekdays() {
    check(&[
        ("last Tuesday", "last Tuesday: 2024-05-14..2024-05-15"),
        ("last wednesday", "last wednesday: 2024-05-08..2024-05-09"),
        ("on Tuesday", "on Tuesday: 2024-05-14..2024-05-15"),
        ("on wednesday", "on wednesday: 2024-05-15..2024-05-16"),
        ("what was said on Friday?", "on Friday: 2024-05-10..2024-05-11"),
        ("this friday", "this friday: 2024-05-17..2024-05-18"),
        ("next Monday", "next Monday: 2024-05-20..2024-05-21"),
        ("since Monday", "since Monday: 2024-05-13.."),
        ("before Monday", "before Monday: ..2024-05-13"),
        ("after last Thursday", "after last Thursday: 2024-05-10.."),
        ("Tuesday of last week", "Tuesday of last week: 2024-05-07..2024-05-08"),
        ("on Friday last week", "on Friday last week: 2024-05-10..2024-05-11"),
        ("last Fri", "last Fri: 2024-05-10..2024-05-11"),
        ("between Monday and Wednesday", "between Monday and Wednesday: 2024-05-13..2024-05-16"),
        ("from Thursday to Monday", "from Thursday to Monday: 2024-05-09..2024-05-14"),
        ("on Sunday, 5 March 2023", "on Sunday, 5 March 2023: 2023-03-05..2023-03-06"),
        ("Tue, Mar. 5", "Tue, Mar. 5: 2024-03-05..2024-03-06"),
    ]);
}

#[test]
fn dates() {
    check(&[
        ("March 5", "March 5: 2024-03-05..2024-03-06"),
        ("on June 20", "on June 20: 2023-06-20..2023-06-21"),
        ("5 March 2023", "5 March 2023: 2023-03-05..2023-03-06"),
        ("March 5th, 2023", "March 5th, 2023: 2023-03-05..2023-03-06"),
        ("8 May, 2023", "8 May, 2023: 2023-05-08..2023-05-09"),
        ("May 8,2023", "May 8,2023: 2023-05-08..2023-05-09"),
        ("on the 5th of march", "on the 5th of march: 2024-03-05..2024-03-06"),
        ("may 3", "may 3: 2024-05-03..2024-05-04"),
        ("dec 24 2022", "dec 24 2022: 2022-12-24..2022-12-25"),
        ("29 February", "29 February: 2024-02-29..2024-03-01"),
        ("05-Mar-2024", "05-Mar-2024: 2024-03-05..2024-03-06"),
        ("2024-03-05", "2024-03-05: 2024-03-05..2024-03-06"),
        ("logs of 2024-03-05T10:00:00Z.", "of 2024-03-05T10:00:00Z: 2024-03-05..2024-03-06"),
        ("(2024/03/05)", "2024/03/05: 2024-03-05..2024-03-06"),
        ("13.01.2024", "13.01.2024: 2024-01-13..2024-01-14"),
        ("on 3/1/2024", "on 3/1/2024: 2024-01-03..2024-01-04"),
        ("(01/13/2024)", "01/13/2024: 2024-01-13..2024-01-14"),
        ("13 Jan", "13 Jan: 2024-01-13..2024-01-14"),
        ("report 2024-03", "2024-03: 2024-03-01..2024-04-01"),
        ("after March 3", "after March 3: 2024-03-04.."),
        ("until March 3", "until March 3: ..2024-03-04"),
        ("since 2024-01-10", "since 2024-01-10: 2024-01-10.."),
        ("5-10 March 2023", "5-10 March 2023: 2023-03-05..2023-03-11"),
        ("March 5–10", "March 5–10: 2024-03-05..2024-03-11"),
        ("31 June 2023", "June 2023: 2023-06-01..2023-07-01"),
    ]);
}

#[test]
fn months_seasons_and_years() {
    check(&[
        ("in March", "in March: 2024-03-01..2024-04-01"),
        ("in june", "in june: 2023-06-01..2023-07-01"),
        ("in may", "in may: 2024-05-01..2024-06-01"),
        ("in March 2024", "in March 2024: 2024-03-01..2024-04-01"),
        ("march 2023 invoices", "march 2023: 2023-03-01..2023-04-01"),
        ("may of 2023", "may of 2023: 2023-05-01..2023-06-01"),
        ("Sept. 2023", "Sept. 2023: 2023-09-01..2023-10-01"),
        ("january invoices", "january: 2024-01-01..2024-02-01"),
        ("our May invoices", "May: 2024-05-01..2024-06-01"),
        ("last may", "last may: 2023-05-01..2023-06-01"),
        ("last March", "last March: 2024-03-01..2024-04-01"),
        ("next march", "next march: 2025-03-01..2025-04-01"),
        ("this March", "this March: 2024-03-01..2024-04-01"),
        ("since Dec", "since Dec: 2023-12-01.."),
        ("in 2023", "in 2023: 2023-01-01..2024-01-01"),
        ("best films of 2019", "of 2019: 2019-01-01..2020-01-01"),
        ("before 2024", "before 2024: ..2024-01-01"),
        ("after 2020", "after 2020: 2021-01-01.."),
        ("since 2021?", "since 2021: 2021-01-01.."),
        ("by 2022", "by 2022: ..2023-01-01"),
        ("in the year 2022", "in the year 2022: 2022-01-01..2023-01-01"),
        ("in the 1990s", "in the 1990s: 1990-01-01..2000-01-01"),
        ("in 2020-2022", "in 2020-2022: 2020-01-01..2023-01-01"),
        ("Q2 2024", "Q2 2024: 2024-04-01..2024-07-01"),
        ("2023-q4 goals", "2023-q4: 2023-10-01..2024-01-01"),
        ("in Q3", "in Q3: 2023-07-01..2023-10-01"),
        ("H1 2023", "H1 2023: 2023-01-01..2023-07-01"),
        ("summer 2023", "summer 2023: 2023-06-01..2023-09-01"),
        ("in the spring of 2022", "in the spring of 2022: 2022-03-01..2022-06-01"),
        ("Winter 2022", "Winter 2022: 2022-12-01..2023-03-01"),
        ("last summer", "last summer: 2023-06-01..2023-09-01"),
        ("last winter", "last winter: 2023-12-01..2024-03-01"),
        ("this fall", "this fall: 2024-09-01..2024-12-01"),
        ("during the summer", "during the summer: 2023-06-01..2023-09-01"),
    ]);
}

#[test]
fn parts_and_spans() {
    check(&[
        ("in early June 2023", "in early June 2023: 2023-06-01..2023-06-11"),
        ("mid-June 2023", "mid-June 2023: 2023-06-11..2023-06-21"),
        ("in late june 2023", "in late june 2023: 2023-06-21..2023-07-01"),
        ("early 2023", "early 2023: 2023-01-01..2023-05-01"),
        ("late last year", "late last year: 2023-09-01..2024-01-01"),
        ("at the end of March", "at the end of March: 2024-03-21..2024-04-01"),
        ("the first week of March 2023", "the first week of March 2023: 2023-03-01..2023-03-08"),
        ("the last week of June 2023", "the last week of June 2023: 2023-06-24..2023-07-01"),
        ("the second half of 2023", "the second half of 2023: 2023-07-01..2024-01-01"),
        ("the third quarter of 2022", "the third quarter of 2022: 2022-07-01..2022-10-01"),
        ("the last Friday of March", "the last Friday of March: 2024-03-29..2024-03-30"),
        ("the week of 5 June 2023", "the week of 5 June 2023: 2023-06-05..2023-06-12"),
        ("the week before 9 June 2023", "the week before 9 June 2023: 2023-06-02..2023-06-09"),
        (
            "the Friday before 15 July 2023",
            "the Friday before 15 July 2023: 2023-07-14..2023-07-15",
        ),
        (
            "the weekend before 9 June 2023",
            "the weekend before 9 June 2023: 2023-06-03..2023-06-05",
        ),
        (
            "two weekends before 17 July 2023",
            "two weekends before 17 July 2023: 2023-07-08..2023-07-10",
        ),
        ("the weekend after 3 June 2023", "the weekend after 3 June 2023: 2023-06-10..2023-06-12"),
        (
            "the first weekend of June 2023",
            "the first weekend of June 2023: 2023-06-03..2023-06-05",
        ),
        ("the weekend of June 3", "the weekend of June 3: 2023-06-03..2023-06-05"),
        ("two days after March 3", "two days after March 3: 2024-03-05..2024-03-06"),
        ("the month after June 2023", "the month after June 2023: 2023-07-01..2023-08-01"),
        ("between March and May 2023", "between March and May 2023: 2023-03-01..2023-06-01"),
        (
            "between November and February 2023",
            "between November and February 2023: 2022-11-01..2023-03-01",
        ),
        ("between november and february", "between november and february: 2023-11-01..2024-03-01"),
        ("from March 2023 to may", "from March 2023 to may: 2023-03-01..2023-06-01"),
        ("between 2020 and 2022", "between 2020 and 2022: 2020-01-01..2023-01-01"),
        ("between 5 and 10 March", "between 5 and 10 March: 2024-03-05..2024-03-11"),
        ("2024-03-05 to 2024-03-10", "2024-03-05 to 2024-03-10: 2024-03-05..2024-03-11"),
        ("March - May 2023", "March - May 2023: 2023-03-01..2023-06-01"),
        (
            "after 2022 and before March 2023",
            "after 2022: 2023-01-01..; before March 2023: ..2023-03-01",
        ),
    ]);
}

#[test]
fn verbs_and_names_are_no_times() {
    let none = [
        "may I deploy",
        "May I deploy?",
        "it may be slow",
        "this may fail",
        "this may be slow",
        "clients MAY send it",
        "the top 5 may be cached",
        "what comes before may be lost",
        "march to the store",
        "March on",
        "troops march north",
        "what did April say",
        "talk with June about it",
        "Theresa May",
        "Brian May concert",
        "second attempt",
        "wait a second",
        "the last second",
        "sun",
        "the sun sat low",
        "sat",
        "mon",
        "on sat",
        "Java on Sun",
        "Tuesday meeting notes",
        "every Monday",
        "on Mondays",
        "Spring Boot",
        "in spring",
        "in the spring context",
        "fall back",
        "after the fall of Rome",
    ];
    check(&none.map(|query| (query, "")));
}

#[test]
fn numbers_and_vague_words_are_no_times() {
    let none = [
        "",
        "listen on port 2023",
        "CS2024",
        "v2024",
        "2024 rows",
        "issue #2024",
        "in v2024",
        "room 2024",
        "before 2000 rows",
        "of 2048 tokens",
        "from 2000 users",
        "in 1850",
        "in 2200",
        "in 12345",
        "in 2023.4",
        "the 2023 report",
        "CVE-2024-03",
        "backup-2024-03-05",
        "2024-13",
        "2024-02-30",
        "30.02.2024",
        "13.13.2024",
        "1.13.2024",
        "192.168.2024",
        "src/2024/03/05",
        "-yesterday",
        "kind:today",
        "title:march",
        "h1 heading",
        "in h1",
        "Q2",
        "the day",
        "a week",
        "days ago",
        "the last release",
        "the last week of the project",
        "during the last quarter of the game",
        "next day",
        "last minute",
        "it did last a month",
        "early return",
        "the end of the file",
        "the start of main",
        "between us",
        "since then",
        "before",
        "in, 2023",
        "since. Monday",
        "two\u{200b}days ago",
        "99999 days ago",
        "9999 decades ago",
    ];
    check(&none.map(|query| (query, "")));
}

#[test]
fn what_is_meant_hangs_on_now() {
    check_at(
        "2024-01-10T00:00:00Z",
        &[
            ("in March", "in March: 2023-03-01..2023-04-01"),
            ("this winter", "this winter: 2023-12-01..2024-03-01"),
            ("last winter", "last winter: 2022-12-01..2023-03-01"),
            ("last quarter", "last quarter: 2023-10-01..2024-01-01"),
            ("last month", "last month: 2023-12-01..2024-01-01"),
            ("two weeks ago", "two weeks ago: 2023-12-25..2024-01-01"),
            ("29 February", "29 February: 2020-02-29..2020-03-01"),
        ],
    );
    check_at(
        "2024-03-31T23:59:59Z",
        &[
            ("a month ago", "a month ago: 2024-02-01..2024-03-01"),
            ("in the past month", "in the past month: 2024-02-29..2024-04-01"),
            ("this weekend", "this weekend: 2024-03-30..2024-04-01"),
            ("on the weekend", "on the weekend: 2024-03-30..2024-04-01"),
            ("this week", "this week: 2024-03-25..2024-04-01"),
            ("last Sunday", "last Sunday: 2024-03-24..2024-03-25"),
        ],
    );
}

#[test]
fn midnight_is_local() {
    let late = "2024-05-15T23:30:00Z";
    assert_eq!(show("today", late, 0), "today: 2024-05-15..2024-05-16");
    assert_eq!(show("today", late, 3600), "today: 2024-05-16..2024-05-17");
    assert_eq!(show("today", "2024-05-15T03:00:00Z", -4 * 3600), "today: 2024-05-14..2024-05-15");
    assert_eq!(
        show("this week", "2024-05-12T22:00:00Z", 5 * 3600 + 1800),
        "this week: 2024-05-13..2024-05-20"
    );
    let found = periods("yesterday", micros(late), 2 * 3600);
    assert_eq!(found[0].from_us, Some(micros("2024-05-14T22:00:00Z")));
    assert_eq!(found[0].until_us, Some(micros("2024-05-15T22:00:00Z")));
    let west = periods("since 2024-03-05", micros(late), -5 * 3600);
    assert_eq!(
        west,
        [Period { from_us: Some(micros("2024-03-05T05:00:00Z")), until_us: None, words: 0..16 }]
    );
}

#[test]
fn days_before_the_epoch() {
    assert_eq!(show("yesterday", "1970-01-01T00:00:00Z", 0), "yesterday: 1969-12-31..1970-01-01");
    assert_eq!(show("today", "1970-01-01T00:00:00Z", -1), "today: 1969-12-31..1970-01-01");
    assert_eq!(show("in 1900", NOW, 0), "in 1900: 1900-01-01..1901-01-01");
}

fn show_anchors(query: &str) -> String {
    let shown = anchors(query).into_iter().map(|anchor| {
        assert!(query[anchor.words.clone()].ends_with(&query[anchor.name.clone()]));
        format!("{:?} {}", anchor.relation, &query[anchor.name])
    });
    shown.collect::<Vec<_>>().join("; ")
}

#[test]
fn events() {
    let examples = [
        ("what broke before the release", "Before release"),
        ("AFTER THE DATABASE MIGRATION", "After DATABASE MIGRATION"),
        ("since the migration?", "Since migration"),
        ("until the launch, nothing", "Until launch"),
        ("during the Berlin team offsite dinner", "During Berlin team offsite"),
        ("before the release of the app", "Before release"),
        ("after the outage and before the fix", "After outage; Before fix"),
        ("after the outage before the fix", "After outage; Before fix"),
        ("after the outage yesterday", "After outage"),
        ("after the v2.0 release.", "After v2.0 release"),
        ("after the outage didn't return", "After outage"),
        ("two days before the wedding", "Before wedding"),
        ("before release", ""),
        ("before the", ""),
        ("before the of", ""),
        ("the release", ""),
        ("after the, release", ""),
        ("during the last week", ""),
        ("since the end of March", ""),
        ("before the day before yesterday", ""),
        ("during the day", ""),
        ("in the past", ""),
        ("before the weekend", ""),
        ("after the -draft", ""),
        ("after the kind:fact", ""),
        ("", ""),
    ];
    for (query, expected) in examples {
        assert_eq!(show_anchors(query), expected, "{query}");
    }
    let found = anchors("🎉 since the émigré party");
    assert_eq!(found, [Anchor { relation: Relation::Since, words: 5..29, name: 15..29 }]);
}

#[test]
fn only_so_much_is_looked_at() {
    let found = |query: &str| periods(query, micros(NOW), 0).len();
    let many = "yesterday since the launch ".repeat(100);
    assert_eq!(found(&many), EXPRESSIONS_MAX);
    assert_eq!(anchors(&many).len(), EXPRESSIONS_MAX);
    let late = |filler: usize| format!("{} yesterday", "x".repeat(filler));
    assert_eq!(found(&late(PERIOD_BYTES_MAX - 10)), 1);
    assert_eq!(found(&late(PERIOD_BYTES_MAX - 9)), 0);
    assert_eq!(
        found(&format!("{}morning", late(PERIOD_BYTES_MAX - 10))),
        0,
        "a word that is cut is none"
    );
    assert_eq!(found(&format!("{} more", late(PERIOD_BYTES_MAX - 10))), 1);
    for endless in ["é", "the day before ", "the first day of early ", "between 5 and ", "early "]
    {
        assert_eq!(found(&endless.repeat(1 << 16)), 0, "{endless}");
    }
}

#[test]
fn any_text_at_any_time() {
    let pieces: Vec<&str> = "the a last this next past in since before after between and from to of by may May March march 5 31 29 \
        february 2023 1900 2199 9999 week weeks day days year decades ago few couple Monday fri yesterday 2024-03-05 2024-03 Q2 \
        H1 summer fall early mid- end first weekend hours 🎉 é ' ’s , . \" - – \u{200b} ß 東京 \0 1990s 5-10 2020-2023 second release İ"
        .split(' ')
        .filter(|piece| !piece.is_empty())
        .collect();
    // The calendar ends with the years -9999 and 9999.
    let edges = [
        -377_705_000_000_000_000,
        -377_673_580_800_000_000,
        253_402_200_000_000_000,
        253_402_300_799_000_000,
    ];
    let moments = [&[i64::MIN, i64::MAX, 0, -1, micros(NOW)][..], &edges].concat();
    let offsets = [0, 3600, -3600, i32::MIN, i32::MAX, 1];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).expect("small")
    };
    let check = |query: &str, now: i64, offset: i32| {
        let mut end = 0;
        for period in periods(query, now, offset) {
            assert!(end <= period.words.start && period.words.start < period.words.end, "{query}");
            end = period.words.end;
            assert!(query.get(period.words).is_some(), "{query}");
            assert!(
                period.from_us.zip(period.until_us).is_none_or(|(from, until)| from < until),
                "{query}"
            );
        }
        for anchor in anchors(query) {
            assert!(
                query.get(anchor.words).is_some() && query.get(anchor.name).is_some(),
                "{query}"
            );
        }
    };
    for _ in 0..60_000 {
        let mut query = String::new();
        for _ in 0..random(14) {
            query.push_str(pieces[random(pieces.len())]);
            query.push_str(if random(8) > 0 { " " } else { "" });
        }
        check(&query, moments[random(moments.len())], offsets[random(offsets.len())]);
    }
    for _ in 0..3000 {
        let points = (0..random(60)).map(|_| u32::try_from(random(0x11_0000)).expect("small"));
        let query: String = points.filter_map(char::from_u32).collect();
        check(&query, micros(NOW), 0);
    }
}
