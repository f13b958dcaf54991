//! Lays two sequences side by side along their longest common one. Knows nothing of words.

/// What two sequences have in common, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alignment {
    /// Length of their longest common sequence.
    pub common: usize,
    /// Places where the one has parts that the other has others for.
    pub replaced: usize,
}

/// Aligns two sequences. Parts of which `says` does not hold are no replacement by themselves.
///
/// Takes time and memory by the product of both lengths.
pub fn align<T>(
    old: &[T],
    new: &[T],
    is_same: impl Fn(&T, &T) -> bool,
    says: impl Fn(&T) -> bool,
) -> Alignment {
    let (n, m) = (old.len(), new.len());
    let width = m + 1;
    let same: Vec<bool> =
        old.iter().flat_map(|old| new.iter().map(|new| is_same(old, new))).collect();
    // Length of the longest common sequence of what begins at each place.
    let mut best = vec![0usize; (n + 1) * width];
    for i in (0..n).rev() {
        for j in (0..m).rev() {
            best[i * width + j] = if same[i * m + j] {
                best[(i + 1) * width + j + 1] + 1
            } else {
                best[(i + 1) * width + j].max(best[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut replaced) = (0, 0, 0);
    let (mut old_run, mut new_run) = (false, false);
    while i < n || j < m {
        if i < n && j < m && same[i * m + j] {
            replaced += usize::from(old_run && new_run);
            (old_run, new_run) = (false, false);
            (i, j) = (i + 1, j + 1);
        } else if j == m || i < n && best[(i + 1) * width + j] >= best[i * width + j + 1] {
            old_run |= says(&old[i]);
            i += 1;
        } else {
            new_run |= says(&new[j]);
            j += 1;
        }
    }
    Alignment { common: best[0], replaced: replaced + usize::from(old_run && new_run) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(old: &str, new: &str) -> Alignment {
        let (old, new): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
        align(&old, &new, |a, b| a == b, |c| *c != '-')
    }

    #[test]
    fn counts_what_is_common_and_what_is_replaced() {
        let row = |common, replaced| Alignment { common, replaced };
        assert_eq!(of("", ""), row(0, 0));
        assert_eq!(of("abc", ""), row(0, 0));
        assert_eq!(of("abc", "abc"), row(3, 0));
        assert_eq!(of("abc", "abxc"), row(3, 0));
        assert_eq!(of("abc", "axc"), row(2, 1));
        assert_eq!(of("abcde", "xbcdy"), row(3, 2));
        assert_eq!(of("abc", "xyz"), row(0, 1));
        assert_eq!(of("a-c", "axc"), row(2, 0));
    }
}
