//! Texts that nobody meant: every edit of one either fails or does what it says.

use kapsa_setup::{Content, Form, Prune, Server, hooks_of};

use crate::corpus::cases;
use crate::world::{PROGRAM, named};

/// Changes that are tried on each file.
const CHANGES: u64 = 50;
/// What is put into a text at random.
const PIECES: [&str; 16] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "//",
    "/*",
    "\n",
    "\r",
    "#",
    "=",
    "\u{feff}",
    "<!-- kapsa:begin -->\n",
];

/// Numbers that look drawn by chance, the same ones in each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % end.max(1)
    }
}

fn content(client: &str, what: &str) -> Content {
    match what {
        "server" => Content::Server { form: named(client).form, server: Server::new(PROGRAM) },
        "hooks" => Content::Hooks(hooks_of(PROGRAM, client)),
        _ => Content::Passage,
    }
}

fn changed(text: &str, chance: &mut Chance) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    for _ in 0..=chance.below(3) {
        let at = chance.below(letters.len() + 1);
        match chance.below(3) {
            0 => drop(letters.drain(at..(at + chance.below(8)).min(letters.len()))),
            1 => {
                let piece = PIECES[chance.below(PIECES.len())];
                letters.splice(at..at, piece.chars());
            }
            _ => {
                let end = (at + chance.below(20)).min(letters.len());
                let again: Vec<char> = letters[at..end].to_vec();
                letters.splice(at..at, again);
            }
        }
    }
    letters.into_iter().collect()
}

#[test]
fn edits_of_any_text_fail_or_are_found_once_and_go_again() {
    let mut edited = 0;
    for case in cases() {
        let text = String::from_utf8(case.bytes.clone()).expect("a text");
        let content = content(&case.client, &case.what);
        let mut chance = Chance(1);
        for _ in 0..CHANGES {
            let text = changed(&text, &mut chance);
            let Ok(added) = content.add(&text, PROGRAM, false) else { continue };
            let again = content.add(&added.text, PROGRAM, false).expect("it can be read");
            assert_eq!(again.text, added.text, "{text:?}");
            // What the file had of ours before does not count as made.
            let Ok(removed) = content.remove(&added.text, PROGRAM, Prune::Made(&added.made)) else {
                continue;
            };
            let removed = removed.unwrap_or_else(|| panic!("nothing to remove: {text:?}"));
            let left = content.remove(&removed, PROGRAM, Prune::Kept);
            assert!(matches!(left, Ok(None)), "{text:?}: {left:?}");
            edited += 1;
        }
    }
    assert!(edited > 1000, "only {edited} texts could be edited");
}

#[test]
fn forms_write_what_they_read() {
    for form in [
        Form::Plain { key: "mcpServers" },
        Form::Stdio { key: "servers" },
        Form::Local { key: "mcpServers" },
        Form::OpenCode,
        Form::Zed,
        Form::Toml,
    ] {
        let mut server = Server::new("/a \"quoted\" path/kapsa");
        server.env.push(("KAPSA_CAPSULE".to_string(), "/srv/x.kapsa".to_string()));
        let content = Content::Server { form, server: server.clone() };
        let text = content.add("", PROGRAM, false).expect("an entry").text;
        assert_eq!(form.read(&text).expect("it can be read"), Some(server), "{text}");
    }
}
