//! The hits that belong together, and the order of their groups. By session or by source.

use std::collections::HashMap;

use super::fusion::Fused;
use crate::records::record::Record;
use crate::records::request::Grouping;
use crate::records::turn::session;

/// What the best and the second best of a group count for its place. A turn has points for those
/// beside it: further ones say little more, and favour what is long.
const GROUP_WEIGHTS: [f32; 2] = [1.0, 0.3];

/// Which groups were met, and how often.
pub(super) struct Groups {
    by: Option<Grouping>,
    met: HashMap<String, usize>,
}

impl Groups {
    pub(super) fn new(by: Option<Grouping>) -> Groups {
        Groups { by, met: HashMap::new() }
    }

    fn name(&self, record: &Record) -> Option<String> {
        let own = || format!("#{}", record.sequence);
        Some(match self.by? {
            Grouping::Session => session(record).map_or_else(own, str::to_string),
            Grouping::Source => {
                record.source.as_ref().map_or_else(own, |source| source.path.clone())
            }
        })
    }

    /// Leaves the best of each group, in the order of what the best of each are worth together.
    pub(super) fn gather(&mut self, fused: &mut Vec<Fused>) {
        if self.by.is_none() {
            return;
        }
        let mut worth: HashMap<String, f32> = HashMap::new();
        fused.retain(|fused| {
            let name = self.name(&fused.record).unwrap_or_default();
            let count = self.met.entry(name.clone()).or_default();
            *worth.entry(name).or_default() +=
                GROUP_WEIGHTS.get(*count).unwrap_or(&0.0) * fused.score;
            *count += 1;
            *count == 1
        });
        fused.sort_by(|a, b| {
            let worth = |fused: &Fused| {
                self.name(&fused.record).and_then(|name| worth.get(&name).copied()).unwrap_or(0.0)
            };
            worth(b).total_cmp(&worth(a))
        });
    }

    pub(super) fn count(&self, record: &Record) -> usize {
        self.name(record).and_then(|name| self.met.get(&name).copied()).unwrap_or(0)
    }
}
