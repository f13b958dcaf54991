//! What is in the capsules that are compared: principals, records that all three hold, and secrets
//! that only one holds. Knows the rule of clearances by itself, and nothing of how capsules are
//! made.

/// How far a record may spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Public,
    Internal,
    Confidential,
    Restricted,
}

impl Level {
    pub(super) fn name(self) -> &'static str {
        match self {
            Level::Public => "public",
            Level::Internal => "internal",
            Level::Confidential => "confidential",
            Level::Restricted => "restricted",
        }
    }

    /// The one with this name; a record that names none is internal.
    pub(super) fn named(name: &str) -> Level {
        let all = [Level::Public, Level::Confidential, Level::Restricted];
        all.into_iter().find(|level| level.name() == name).unwrap_or(Level::Internal)
    }
}

/// Where a record is, and so who may read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) domain: String,
    pub(super) level: Level,
    pub(super) named: Vec<String>,
}

/// Who attacks.
#[derive(Debug)]
pub(super) struct Principal {
    pub(super) name: &'static str,
    /// Its highest level in each domain.
    pub(super) cleared: &'static [(&'static str, Level)],
}

impl Principal {
    pub(super) fn may_read(&self, place: &Place) -> bool {
        place.level == Level::Public || self.is_cleared(place, place.level)
    }

    /// Clearance for what is public is that for what is internal.
    pub(super) fn may_write(&self, place: &Place) -> bool {
        self.is_cleared(place, place.level.max(Level::Internal))
    }

    fn is_cleared(&self, place: &Place, level: Level) -> bool {
        let is_named = || place.named.iter().any(|name| name == self.name);
        self.cleared.iter().any(|(domain, highest)| *domain == place.domain && *highest >= level)
            && (level != Level::Restricted || is_named())
    }
}

/// Principals that the same secrets are hidden from.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) principals: &'static [Principal],
    /// Where its secrets are.
    pub(super) secrets: &'static [(&'static str, Level)],
    /// Whether some may read what has no domain, such as policies and the names of entities.
    pub(super) may_read_undomained: bool,
}

use Level::{Confidential, Internal, Restricted};

/// The name of one is odd: an accent that stands alone, and characters that mean something in a
/// pattern.
const ODD: &str = "e\u{301}v*?";

pub(super) const FAMILIES: [Family; 3] = [
    Family {
        name: "low",
        principals: &[
            Principal { name: "stranger", cleared: &[] },
            Principal { name: "low", cleared: &[("ops", Internal)] },
            Principal { name: "ann", cleared: &[("sales", Internal)] },
            Principal { name: ODD, cleared: &[("ops", Internal), ("sales", Internal)] },
        ],
        secrets: &[
            ("ops", Confidential),
            ("", Confidential),
            ("vault", Internal),
            ("ops", Restricted),
            ("hr", Internal),
            ("sales", Confidential),
            ("", Internal),
        ],
        may_read_undomained: false,
    },
    Family {
        name: "high",
        principals: &[
            Principal { name: "conf", cleared: &[("ops", Confidential), ("hr", Confidential)] },
            Principal { name: "named", cleared: &[("ops", Restricted), ("sales", Internal)] },
            Principal { name: "bob", cleared: &[("sales", Confidential)] },
        ],
        secrets: &[
            ("ops", Restricted),
            ("vault", Internal),
            ("", Internal),
            ("sales", Restricted),
            ("vault", Confidential),
            ("hr", Restricted),
        ],
        may_read_undomained: false,
    },
    Family {
        name: "undomained",
        principals: &[
            Principal { name: "base", cleared: &[("", Internal)] },
            Principal { name: "lead", cleared: &[("", Confidential), ("ops", Confidential)] },
        ],
        secrets: &[
            ("ops", Restricted),
            ("", Restricted),
            ("vault", Internal),
            ("hr", Internal),
            ("sales", Confidential),
        ],
        may_read_undomained: true,
    },
];

/// Who is named by what is restricted, beside the principals.
const BOARD: &str = "board";

/// A record that all three capsules hold.
pub(super) struct Common {
    pub(super) uri: &'static str,
    pub(super) domain: &'static str,
    pub(super) level: Level,
    pub(super) kind: &'static str,
    pub(super) text: &'static str,
    /// More options of `put`.
    pub(super) more: &'static str,
}

const fn common(
    uri: &'static str,
    domain: &'static str,
    level: Level,
    kind: &'static str,
    text: &'static str,
    more: &'static str,
) -> Common {
    Common { uri, domain, level, kind, text, more }
}

use Level::Public;

/// The last word of each text is its own.
pub(super) const COMMON: [Common; 16] = [
    common(
        "note/harbour",
        "ops",
        Internal,
        "note",
        "The harbour crane lifts the ferry common01",
        "--entity acme",
    ),
    common(
        "note/lantern",
        "ops",
        Public,
        "decision",
        "A lantern marks the harbour at night common02",
        "--tag area=light",
    ),
    common(
        "note/invoice",
        "sales",
        Internal,
        "note",
        "Acme pays each invoice late common03",
        "--entity acme --agent ann",
    ),
    common(
        "note/ferry",
        "",
        Internal,
        "note",
        "The ferry leaves at nine common04",
        "--tag area=sea",
    ),
    common(
        "note/deadline",
        "hr",
        Internal,
        "note",
        "The deadline of the budget is in May common05",
        "",
    ),
    common(
        "note/budget",
        "ops",
        Confidential,
        "note",
        "The budget of the harbour is short common06",
        "--entity acme",
    ),
    common(
        "note/contract",
        "",
        Confidential,
        "note",
        "The contract with Acme ends in June common07",
        "--run r1",
    ),
    common("note/raise", "hr", Confidential, "note", "A raise for the crane crew common08", ""),
    common(
        "note/board",
        "ops",
        Restricted,
        "note",
        "The board sells the ferry common09",
        "--named named --named board",
    ),
    common(
        "note/press",
        "",
        Public,
        "note",
        "The press may know of the lantern common10",
        "--agent bob",
    ),
    common(
        "note/sketch",
        "sales",
        Confidential,
        "idea",
        "A sketch of the new invoice common11",
        "--label draft",
    ),
    common("note/gone", "ops", Internal, "note", "The old crane is gone common12", ""),
    common(
        "turn/1",
        "ops",
        Internal,
        "note",
        "Where is the crane of the harbour common13",
        "--tag session=s1",
    ),
    common(
        "turn/2",
        "ops",
        Internal,
        "note",
        "It stands beside the ferry common14",
        "--tag session=s1",
    ),
    common("turn/3", "ops", Public, "note", "Then the lantern can go common15", "--tag session=s1"),
    common("note/vault", "vault", Internal, "note", "The vault holds the lantern common16", ""),
];

impl Common {
    pub(super) fn place(&self) -> Place {
        let named = self.more.split("--named ").skip(1);
        let named = named.filter_map(|rest| rest.split(' ').next()).map(str::to_owned);
        Place { domain: self.domain.to_owned(), level: self.level, named: named.collect() }
    }

    /// The word that no other record has.
    pub(super) fn marker(&self) -> &'static str {
        self.text.rsplit(' ').next().unwrap_or_default()
    }
}

/// One of the three capsules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// With secrets.
    Hidden,
    /// With others, of another number.
    Other,
    /// Without any.
    Without,
}

impl Side {
    pub(super) const ALL: [Side; 3] = [Side::Hidden, Side::Other, Side::Without];

    /// Its place among the three.
    pub(super) fn index(self) -> usize {
        self as usize
    }

    /// What all words of its secrets begin with; none has none.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Side::Hidden => "zircon",
            Side::Other => "quokka",
            Side::Without => "",
        }
    }

    /// How many secret notes it has.
    pub(super) fn secrets(self) -> usize {
        match self {
            Side::Hidden => 12,
            Side::Other => 5,
            Side::Without => 0,
        }
    }
}

/// A word that must not come out, unless the record that it belongs to may be read.
#[derive(Debug)]
pub(super) struct Marker {
    pub(super) word: String,
    pub(super) place: Place,
}

/// The place of a secret note.
pub(super) fn secret_place(family: &Family, index: usize) -> Place {
    let (domain, level) = family.secrets[index % family.secrets.len()];
    let named = if level == Level::Restricted { vec![BOARD.to_owned()] } else { Vec::new() };
    Place { domain: domain.to_owned(), level, named }
}

/// The words of a capsule that somebody must not see. Every word of a secret begins with the
/// prefix,
/// so that one marker stands for all of them.
pub(super) fn markers(side: Side) -> Vec<Marker> {
    let mut markers: Vec<Marker> = COMMON
        .iter()
        .map(|common| Marker { word: common.marker().to_owned(), place: common.place() })
        .collect();
    let nobody = Place { domain: String::new(), level: Level::Restricted, named: Vec::new() };
    markers.extend(side.words().map(|word| Marker { word, place: nobody.clone() }));
    markers
}

impl Side {
    /// The words of its secrets: numbered for notes, named for everything else.
    pub(super) fn words(self) -> impl Iterator<Item = String> {
        let prefix = self.prefix();
        let named = SECRET_WORDS.iter().map(move |word| format!("{prefix}{word}"));
        let numbered = (0..self.secrets()).map(move |index| format!("{prefix}{index:02}"));
        named.chain(numbered).filter(move |_| !prefix.is_empty())
    }
}

/// What follows the prefix in the names of secrets that are no notes.
pub(super) const SECRET_WORDS: [&str; 25] = [
    "fact",
    "other",
    "corp",
    "alias",
    "tag",
    "kind",
    "agent",
    "run",
    "branch",
    "point",
    "event",
    "policy",
    "doc",
    "episode",
    "insight",
    "merge",
    "label",
    "task",
    "card",
    "source",
    "title",
    "turn",
    "gone",
    "attribute",
    "pending",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_principal_reads_a_secret_of_its_family() {
        for family in &FAMILIES {
            for index in 0..family.secrets.len() {
                let place = secret_place(family, index);
                assert!(family.principals.iter().all(|principal| !principal.may_read(&place)));
            }
        }
    }

    #[test]
    fn markers_are_not_parts_of_each_other() {
        for side in [Side::Hidden, Side::Other] {
            let markers = markers(side);
            for one in &markers {
                let holds = |other: &&Marker| other.word.contains(&one.word);
                assert_eq!(markers.iter().filter(holds).count(), 1, "{}", one.word);
            }
        }
    }
}
