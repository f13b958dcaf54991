//! What a record is as a turn of a conversation: which one, who speaks, and whether a user, an
//! assistant or a tool does. Data come with these in different places; each is looked for in all.

use std::collections::BTreeMap;

use crate::records::record::Record;

/// Tags that name who speaks, in the order in which they count.
const SPEAKER_TAGS: [&str; 4] = ["speaker", "author", "from", "name"];
/// Names of the user's role.
const USER: [&str; 3] = ["user", "human", "customer"];
/// Names of the assistant's role.
const ASSISTANT: [&str; 5] = ["assistant", "ai", "model", "bot", "agent"];
/// Names of a tool's role.
const TOOL: [&str; 5] = ["tool", "function", "tool_result", "toolresult", "tool_use"];

/// What the speaker of a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A person whom an assistant serves.
    User,
    /// An assistant.
    Assistant,
    /// A program that an assistant called.
    Tool,
}

impl Role {
    fn named(name: &str) -> Option<Role> {
        let is_one_of = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        let roles =
            [(&USER[..], Role::User), (&ASSISTANT, Role::Assistant), (&TOOL[..], Role::Tool)];
        roles.into_iter().find(|(names, _)| is_one_of(names)).map(|(_, role)| role)
    }
}

/// What the speaker of a record is, by its tag or field `role`, a label, its kind, its entity or
/// its agent; none where nothing says so.
pub(crate) fn role(record: &Record) -> Option<Role> {
    let in_metadata = record.metadata.get("role").and_then(|role| role.as_str());
    record
        .tags
        .get("role")
        .map(String::as_str)
        .into_iter()
        .chain(in_metadata)
        .chain([record.label.as_str(), record.kind.as_str(), speaker(record)])
        .find_map(Role::named)
}

/// Who speaks in a record, or whom it is about.
pub(crate) fn speaker(record: &Record) -> &str {
    speaker_among(&record.entity, &record.agent, &record.tags)
}

/// Who speaks in a record about this entity, by this agent, with these tags.
pub(crate) fn speaker_among<'a>(
    entity: &'a str,
    agent: &'a str,
    tags: &'a BTreeMap<String, String>,
) -> &'a str {
    let tagged = SPEAKER_TAGS.iter().find_map(|name| tags.get(*name));
    [entity, tagged.map_or("", String::as_str), agent]
        .into_iter()
        .find(|name| !name.is_empty())
        .unwrap_or_default()
}

/// The conversation that a record is a turn of: its tag `session`.
pub(crate) fn session(record: &Record) -> Option<&str> {
    record.tags.get("session").map(String::as_str).filter(|session| !session.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::codec::blank;

    fn record(change: impl FnOnce(&mut Record)) -> Record {
        let mut record = blank(1);
        change(&mut record);
        record
    }

    #[test]
    fn roles_are_where_data_have_them() {
        for (record, expected) in [
            (record(|_| ()), None),
            (record(|r| drop(r.tags.insert("role".into(), "User".into()))), Some(Role::User)),
            (
                record(|r| drop(r.metadata.insert("role".into(), "ai".into()))),
                Some(Role::Assistant),
            ),
            (record(|r| r.label = "tool".into()), Some(Role::Tool)),
            (record(|r| r.kind = "assistant".into()), Some(Role::Assistant)),
            (record(|r| r.entity = "human".into()), Some(Role::User)),
            (record(|r| drop(r.tags.insert("from".into(), "human".into()))), Some(Role::User)),
            (record(|r| r.entity = "Ada".into()), None),
        ] {
            assert_eq!(role(&record), expected, "{record:?}");
        }
    }

    #[test]
    fn a_speaker_given_as_a_tag_counts_as_one_given_as_entity() {
        let tagged = record(|r| drop(r.tags.insert("speaker".into(), "Ada".into())));
        assert_eq!(speaker(&tagged), "Ada");
        let both = record(|r| {
            r.tags.insert("speaker".into(), "Ada".into());
            r.entity = "Bo".into();
            r.agent = "chat".into();
        });
        assert_eq!(speaker(&both), "Bo");
        assert_eq!(speaker(&record(|r| r.agent = "chat".into())), "chat");
    }
}
