//! What every command needs: the capsule that is meant, how to open it, and where the answer goes.
//!
//! The library reads no clock, no environment and no host name; they are handed to it here.

use std::path::{Path, PathBuf};

use kapsa_agents::CapsuleHome;
use kapsa_memory::branch::{MAIN, branch_name};
use kapsa_memory::transfer::{Mounts, mount_path};
use kapsa_memory::{Error, Holder, Reader, Record, Uri, WriteOptions, Writer};

use crate::args::{Global, When};
use crate::error::{CliError, Result};
use crate::output::Output;
use crate::{locate, moment, sys};

/// How a command ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Exit code 0.
    Done,
    /// It did what was asked, and found the capsule unwell: exit code 2.
    Unwell,
    /// It did several things of which one failed and was told of: this exit code.
    Told(u8),
}

impl Status {
    /// The exit code of the process.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Status::Done => 0,
            Status::Unwell => 2,
            Status::Told(code) => code,
        }
    }
}

/// One call of the command line.
pub(crate) struct App {
    pub(crate) global: Global,
    pub(crate) out: Output,
}

impl App {
    pub(crate) fn new(global: Global) -> App {
        let out = Output::new(global.json, global.color);
        App { global, out }
    }

    /// The capsule that is meant.
    pub(crate) fn capsule(&self) -> Result<PathBuf> {
        locate::capsule(self.global.capsule.as_deref())
    }

    /// A reader of the branch that is meant.
    pub(crate) fn reader(&self) -> Result<Reader> {
        self.reader_as_of(None)
    }

    /// Who acts; none for the owner.
    pub(crate) fn principal(&self) -> Option<&str> {
        self.global.principal.as_deref()
    }

    /// Refuses to take somebody without a name, such as a variable that is empty, for the owner.
    pub(crate) fn check_principal(&self) -> Result<()> {
        if self.principal().is_none_or(|name| !name.trim().is_empty()) {
            return Ok(());
        }
        let hint = "leave out --as and unset KAPSA_PRINCIPAL to act as the owner";
        Err(CliError::usage("the name of the principal is empty").hint(hint))
    }

    /// A reader as it is for who acts.
    fn guarded(&self, reader: Reader) -> Result<Reader> {
        let Some(principal) = self.principal() else { return Ok(reader) };
        let profile = reader.clearance(principal)?;
        Ok(reader.as_principal(profile))
    }

    /// A reader of what a reading verb is told to look at.
    pub(crate) fn reader_when(&self, when: &When) -> Result<Reader> {
        if let (Some(_), Some(principal)) = (&when.mount, self.principal()) {
            return Err(Error::AccessDenied { principal: principal.to_string(), what: "read mounts" }.into());
        }
        let Some(mount) = &when.mount else { return self.reader_as_of(when.as_of.as_deref()) };
        // A mount has no current branch.
        let branch = self.global.branch.as_deref().filter(|name| !name.trim().is_empty()).unwrap_or(MAIN);
        let reader = Reader::open(&mount_path(&self.capsule()?, mount)?)?;
        Ok(reader.on(branch, when.as_of.as_deref().map(moment::as_of).as_ref())?)
    }

    /// The newest revision of a URI, and who reads it. What this capsule never knew is looked for in what was imported.
    pub(crate) fn record(&mut self, uri: &Uri, when: &When) -> Result<(Reader, Record)> {
        let reader = self.reader_when(when)?;
        let missing = match reader.get(uri) {
            Ok(record) => return Ok((reader, record)),
            Err(error @ Error::UriNotFound { .. })
                if when.mount.is_none() && when.as_of.is_none() && self.principal().is_none() =>
            {
                error
            }
            Err(error) => return Err(error.into()),
        };
        if reader.history(uri).is_ok() {
            return Err(missing.into());
        }
        if let Some((name, reader, record)) = self.in_mounts(uri) {
            self.out.note(&format!("from the mount {name}"));
            return Ok((reader, record));
        }
        Err(missing.into())
    }

    /// Looks for a URI in what was imported. A mount that cannot be read is told of, and passed over.
    fn in_mounts(&mut self, uri: &Uri) -> Option<(String, Reader, Record)> {
        let mounts = Mounts::of(&self.capsule().ok()?).list().map_err(|error| self.out.note(&error.to_string())).ok()?;
        mounts.into_iter().find_map(|mount| {
            let opened = Reader::open(&mount.path);
            let reader = opened.map_err(|error| self.out.note(&format!("skipped the mount {}: {error}", mount.name))).ok()?;
            let record = reader.get(uri).ok()?;
            Some((mount.name, reader, record))
        })
    }

    /// A reader of the capsule that is meant, whatever the branch.
    pub(crate) fn whole_reader(&self) -> Result<Reader> {
        self.guarded(Reader::open(&self.capsule()?)?)
    }

    /// A reader of the branch that is meant, as of then.
    pub(crate) fn reader_as_of(&self, as_of: Option<&str>) -> Result<Reader> {
        let path = self.capsule()?;
        let reader = self.guarded(Reader::open(&path)?)?;
        let branch = self.branch(&path)?;
        if branch.is_none() && as_of.is_none() {
            return Ok(reader);
        }
        let as_of = as_of.map(moment::as_of);
        Ok(reader.on(branch.as_deref().unwrap_or(MAIN), as_of.as_ref())?)
    }

    /// The writer of the branch that is meant, in the capsule at `path`; waits its turn.
    pub(crate) fn writer(&self, path: &Path, run: Option<&str>) -> Result<Writer> {
        let branch = self.branch(path)?;
        let mut options = self.write_options(run);
        options.holder.branch.clone_from(&branch);
        let mut writer = self.acting(Writer::open(path, options)?)?;
        if let Some(branch) = branch {
            writer.switch(&branch)?;
        }
        Ok(writer)
    }

    /// The writer of a capsule as a whole, whatever the branch.
    pub(crate) fn keeper(&self, path: &Path) -> Result<Writer> {
        self.acting(Writer::open(path, self.write_options(None))?)
    }

    /// A writer as it is for who acts.
    fn acting(&self, writer: Writer) -> Result<Writer> {
        let Some(principal) = self.principal() else { return Ok(writer) };
        let profile = Reader::open(writer.path())?.clearance(principal)?;
        Ok(writer.as_principal(profile))
    }

    /// The branch that is meant: the one asked for, else the capsule's current one; none for `main`.
    pub(crate) fn branch(&self, capsule: &Path) -> Result<Option<String>> {
        let asked = self.global.branch.as_deref().filter(|name| !name.trim().is_empty());
        let name = match asked {
            Some(name) => Some(branch_name(name)?),
            None => locate::current_branch(capsule)?,
        };
        Ok(name.filter(|name| name != MAIN))
    }

    /// The capsule and the branch that are meant, for stores of facts, episodes and insights, as they are for who acts.
    pub(crate) fn home(&self) -> Result<CapsuleHome> {
        let path = self.capsule()?;
        let branch = self.branch(&path)?;
        let mut options = self.write_options(None);
        options.holder.branch.clone_from(&branch);
        let home = CapsuleHome::new(&path, options).on(branch.unwrap_or_else(|| MAIN.to_string()));
        // Stores take a capsule that is not there for an empty one; who names one by mistake is told.
        let reader = Reader::open(&path)?;
        let Some(principal) = self.principal() else { return Ok(home) };
        Ok(home.as_principal(reader.clearance(principal)?))
    }

    /// As [`App::home`], at the moment that a reading verb is told to look at.
    pub(crate) fn home_when(&self, as_of: Option<&str>) -> Result<CapsuleHome> {
        let home = self.home()?;
        Ok(as_of.map(moment::as_of).map_or(home.clone(), |as_of| home.at(as_of)))
    }

    /// How a capsule is opened for writing by this call.
    pub(crate) fn write_options(&self, run: Option<&str>) -> WriteOptions {
        WriteOptions { clock: moment::now, lock_timeout: self.global.lock_timeout, holder: holder(run) }
    }
}

/// Who this process says it is, in the lock.
fn holder(run: Option<&str>) -> Holder {
    Holder {
        pid: std::process::id(),
        host: sys::host_name(),
        user: user(),
        started_at: moment::rfc3339(moment::now()),
        run_id: run.filter(|run| !run.is_empty()).map(str::to_string),
        pid_namespace: sys::pid_namespace(),
        process_start: sys::process(std::process::id()).map(|process| process.start),
        spec_id: None,
        branch: None,
    }
}

fn user() -> String {
    let named = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()));
    named.unwrap_or_else(|| format!("uid {}", sys::user_id()))
}

/// The URI that was typed.
pub(crate) fn uri(text: &str) -> Result<Uri> {
    Ok(Uri::parse(text)?)
}
