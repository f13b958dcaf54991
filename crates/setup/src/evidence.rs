//! What shows, where the ledger was lost, what a file was before setup: the backups beside it, and
//! what setup makes of a file that is not there. Reads backups; writes nothing.

use std::path::{Path, PathBuf};

use crate::content::{Content, Prune};
use crate::error::EditError;
use crate::read::read;
use crate::recover::{swaps, without_ours};
use crate::write::backups_of;

/// The backups beside a file, with what they hold.
pub(crate) struct Evidence {
    backups: Vec<(PathBuf, String)>,
}

/// How a file without a ledger comes back.
pub(crate) enum Recovered {
    /// It was this.
    Original(String),
    /// It was not there.
    Nothing,
    /// It is not known what it was: this is what it is without ours.
    Left(String),
}

impl Evidence {
    pub(crate) fn of(file: &Path) -> Evidence {
        let backups = backups_of(file).into_iter();
        let texts = backups.filter_map(|path| {
            // May be dropped: a backup that cannot be read says nothing.
            let text = read(&path, None).ok()?.text?;
            Some((path, text))
        });
        Evidence { backups: texts.collect() }
    }

    /// The backup of which setup makes the text, and where it is.
    pub(crate) fn exact(
        &self,
        content: &Content,
        text: &str,
        program: &str,
    ) -> Option<(String, PathBuf)> {
        // One that holds ours itself was made by a setup that knew nothing of an earlier one.
        let is_older =
            |backup: &str| matches!(content.remove(backup, program, Prune::Kept), Ok(None));
        self.backups
            .iter()
            .find(|(_, backup)| is_older(backup) && content.is_made_of(text, backup, program))
            .map(|(path, backup)| (backup.clone(), path.clone()))
    }

    /// What becomes of a text that holds something of ours; none where it does not.
    pub(crate) fn back(
        &self,
        content: &Content,
        text: &str,
        program: &str,
    ) -> Result<Option<Recovered>, EditError> {
        let Some(left) = content.remove(text, program, Prune::Kept)? else { return Ok(None) };
        if let Some((original, _)) = self.exact(content, text, program) {
            return Ok(Some(Recovered::Original(original)));
        }
        let Some((_, backup)) = self.backups.first() else {
            let is_all_ours = content.is_made_of(text, "", program);
            return Ok(Some(if is_all_ours { Recovered::Nothing } else { Recovered::Left(left) }));
        };
        // A person changed the file since: the backup still says which containers were there.
        let Ok(then) = content.add(backup, program, true) else {
            return Ok(Some(Recovered::Left(left)));
        };
        let swaps = swaps(backup, &then.text);
        let prune = Prune::Made(&then.made);
        Ok(without_ours(content, text, &swaps, program, prune)?.map(Recovered::Left))
    }

    /// Where the backups are.
    pub(crate) fn paths(self) -> Vec<PathBuf> {
        self.backups.into_iter().map(|(path, _)| path).collect()
    }
}
