//! Do the crates that hold bytes assert what they promise each other? Assertions are counted in stripped code; what they
//! assert is for a reader to judge.

use super::{Problem, crate_of_source};

/// Crates that must assert.
const CRATES: [&str; 2] = ["capsule", "index"];
/// Assertions that such a crate has at least for each thousand lines without its tests.
const PER_THOUSAND_LINES_MIN: usize = 10;

/// What was counted in the crates so far.
#[derive(Debug, Default)]
pub(super) struct Assertions {
    counts: [Count; CRATES.len()],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    assertions: usize,
    lines: usize,
}

impl Assertions {
    /// Counts those in `code` (comments and strings blanked), if the source `name` is of one of the crates and is not a test.
    pub(super) fn count(&mut self, name: &str, code: &str) {
        let package = crate_of_source(name).and_then(|package| CRATES.iter().position(|one| *one == package));
        let Some(at) = package.filter(|_| !name.ends_with("/tests.rs")) else { return };
        let code = production(code);
        self.counts[at].assertions += assertions(code);
        self.counts[at].lines += code.lines().count();
    }

    /// The crates that have too few.
    pub(super) fn too_few(&self) -> Vec<Problem> {
        let sparse = |count: &Count| count.assertions * 1000 < count.lines * PER_THOUSAND_LINES_MIN;
        let counts = CRATES.iter().zip(&self.counts).filter(|(_, count)| sparse(count));
        counts.map(|(package, count)| Problem::new(&format!("crates/{package}"), 1, message(*count))).collect()
    }
}

fn message(Count { assertions, lines }: Count) -> String {
    format!("{assertions} assertions in {lines} lines, fewer than {PER_THOUSAND_LINES_MIN} per 1,000")
}

/// `code` up to its module of tests.
fn production(code: &str) -> &str {
    let tests = code.match_indices("#[cfg(").find(|(at, _)| {
        let line = code[*at..].lines().next().unwrap_or_default();
        let at_start = *at == 0 || code[..*at].ends_with('\n');
        at_start && line.contains("test") && code[*at..].lines().nth(1).is_some_and(|next| next.starts_with("mod tests {"))
    });
    tests.map_or(code, |(at, _)| &code[..at])
}

fn assertions(code: &str) -> usize {
    ["assert!", "assert_eq!", "assert_ne!"].iter().map(|call| code.matches(call).count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, code: &str) -> Assertions {
        let mut counted = Assertions::default();
        counted.count(name, code);
        counted
    }

    #[test]
    fn too_few_fire() {
        let code = format!("fn f() {{ assert!(true) }}\n{}", "//\n".repeat(100));
        let found = of("crates/index/src/a.rs", &code).too_few();
        let message = "1 assertions in 101 lines, fewer than 10 per 1,000";
        assert_eq!(found, [Problem::new("crates/index", 1, message)]);
    }

    #[test]
    fn enough_are_free() {
        let code = "assert!(a);\ndebug_assert_eq!(a, b);\n//\n#[cfg(test)]\nmod tests {\nassert!(c)\n}\n";
        let counted = of("crates/capsule/src/a.rs", code);
        assert_eq!(counted.counts[0], Count { assertions: 2, lines: 3 });
        assert_eq!(counted.too_few(), []);
    }

    #[test]
    fn tests_and_other_crates_do_not_count() {
        let code = "x\n".repeat(200);
        for name in ["crates/memory/src/a.rs", "crates/index/tests/it/a.rs", "crates/index/src/vectors/tests.rs"] {
            assert_eq!(of(name, &code).too_few(), [], "{name}");
        }
    }
}
