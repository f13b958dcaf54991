//! What every command needs: the capsule that is meant, how to open it, and where the answer goes.
//!
//! The library reads no clock, no environment and no host name; they are handed to it here.

use std::path::{Path, PathBuf};

use kapsa_agents::StoreLocation;
use kapsa_memory::access::{Classification, ClearanceProfile};
use kapsa_memory::branch::{MAIN, branch_name};
use kapsa_memory::transfer::{Mounts, mount_path};
pub(crate) use kapsa_memory::{AnyReader, AnyWriter};
use kapsa_memory::{
    AsOf, Error, Holder, KeySource, PrincipalReader, Provenance, Reader, Record, Trust,
    UnlockedWriter, Uri, WriteOptions, Writer,
};

use crate::args::{Global, LOCK_TIMEOUT_DEFAULT, When};
use crate::error::{CliError, Done, Result, after};
use crate::output::{ErrorStyle, Output, error_text};
use crate::{locate, moment, signing_key, sys, typed_time, upkeep};

/// How a command ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Exit code 0.
    Done,
    /// It did what was asked, and found the capsule unwell: exit code 2.
    Unwell,
    /// It did several things, of which one failed and was reported: this exit code.
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

/// The owner's writer, for a part of a verb that principals may use in other ways.
pub(crate) fn owner_of<'w>(
    app: &App,
    writer: &'w mut AnyWriter,
    what: &'static str,
) -> Result<&'w mut Writer> {
    app.refuse_principals(what)?;
    match writer {
        AnyWriter::Owner(writer) => Ok(writer),
        AnyWriter::Principal(_) => unreachable!("a principal acts, and was refused"),
    }
}

/// What places a reader on a branch, as of then.
type OnBranch<R> = fn(&R, &str, Option<&AsOf>) -> Result<R, Error>;

/// One call of the command line.
pub(crate) struct App {
    pub(crate) global: Global,
    pub(crate) out: Output,
    /// What this call has committed.
    pub(crate) done: Option<Done>,
    /// Spec that this call works for, told to whoever waits for the lock.
    pub(crate) spec: Option<String>,
}

impl App {
    pub(crate) fn new(global: Global) -> App {
        let out = Output::new(global.json, global.color);
        sys::on_lost_page_later(None::<fn() -> Vec<u8>>);
        App { global, out, done: None, spec: None }
    }

    /// The capsule that is meant.
    pub(crate) fn capsule(&self) -> Result<PathBuf> {
        let path = locate::capsule(self.global.capsule.as_deref())?;
        sys::on_lost_page(|| {
            error_text(&CliError::lost_page(&path), style(&self.out)).into_bytes()
        });
        Ok(path)
    }

    /// A reader of the branch that is meant.
    pub(crate) fn reader(&self) -> Result<AnyReader> {
        self.reader_as_of(None)
    }

    /// As [`App::reader`], for what only the owner may ask.
    pub(crate) fn owner_reader(&self) -> Result<Reader> {
        self.refuse_principals("use this verb")?;
        self.placed(Reader::open(&self.capsule()?)?, None, Reader::on)
    }

    /// Denies a principal what belongs to the owner.
    pub(crate) fn refuse_principals(&self, what: &'static str) -> Result<()> {
        match self.principal() {
            Some(principal) => {
                Err(Error::AccessDenied { principal: principal.to_string(), what }.into())
            }
            None => Ok(()),
        }
    }

    /// Who acts; none for the owner.
    pub(crate) fn principal(&self) -> Option<&str> {
        self.global.principal.as_deref()
    }

    /// Refuses to take somebody without a name, such as a variable that is empty, for the owner,
    /// and whoever runs as one principal for another.
    pub(crate) fn check_principal(&self) -> Result<()> {
        let Some(named) = self.principal() else { return Ok(()) };
        if named.trim().is_empty() {
            let hint = "leave out --as and unset KAPSA_PRINCIPAL to act as the owner";
            return Err(CliError::usage("the name of the principal is empty").hint(hint));
        }
        match runs_as() {
            Some(principal) if principal != named => {
                Err(Error::AccessDenied { principal, what: "act as another principal" }.into())
            }
            _ => Ok(()),
        }
    }

    /// A reader of what a reading verb is to look at.
    pub(crate) fn reader_when(&self, when: &When) -> Result<AnyReader> {
        if self.principal().is_none() {
            return Ok(AnyReader::Owner(self.owner_reader_when(when)?));
        }
        if when.mount.is_some() {
            self.refuse_principals("read mounts")?;
        }
        self.reader_as_of(when.as_of.as_deref())
    }

    /// As [`App::reader_when`], for what only the owner may ask.
    pub(crate) fn owner_reader_when(&self, when: &When) -> Result<Reader> {
        self.refuse_principals("use this verb")?;
        let Some(mount) = &when.mount else {
            let reader = trusted(Reader::open(&self.capsule()?)?, &self.global);
            return self.placed(reader, when.as_of.as_deref(), Reader::on);
        };
        // A mount has no current branch.
        let branch =
            self.global.branch.as_deref().filter(|name| !name.trim().is_empty()).unwrap_or(MAIN);
        let reader = trusted(Reader::open(&mount_path(&self.capsule()?, mount)?)?, &self.global);
        Ok(reader.on(branch, when.as_of.as_deref().map(typed_time::as_of).as_ref())?)
    }

    /// The newest revision of a URI, and who reads it. What this capsule never knew is looked for
    /// in what was imported.
    pub(crate) fn record(&mut self, uri: &Uri, when: &When) -> Result<(AnyReader, Record)> {
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
        if reader.revisions(uri).is_ok() {
            return Err(missing.into());
        }
        if let Some((name, reader, record)) = self.in_mounts(uri) {
            self.out.warn("from_mount", &format!("from the mount {name}"));
            return Ok((AnyReader::Owner(reader), record));
        }
        Err(missing.into())
    }

    /// Looks for a URI in what was imported. A mount that cannot be read is told of, and passed
    /// over.
    fn in_mounts(&mut self, uri: &Uri) -> Option<(String, Reader, Record)> {
        let mounts = Mounts::of(&self.capsule().ok()?)
            .list()
            .map_err(|error| self.out.warn("mounts_unreadable", &error.to_string()))
            .ok()?;
        mounts.into_iter().find_map(|mount| {
            let opened = Reader::open(&mount.path);
            let reader =
                opened.map_err(|error| skipped(&mut self.out, &mount.name, &error)).ok()?;
            match reader.get(uri) {
                Ok(record) => Some((mount.name, reader, record)),
                Err(Error::UriNotFound { .. }) => None,
                Err(error) => {
                    skipped(&mut self.out, &mount.name, &error);
                    None
                }
            }
        })
    }

    /// A reader of the capsule that is meant, whatever the branch, for what only the owner may ask.
    pub(crate) fn whole_reader(&self) -> Result<Reader> {
        self.refuse_principals("use this verb")?;
        Ok(Reader::open(&self.capsule()?)?)
    }

    /// A reader of the branch that is meant, as of then.
    pub(crate) fn reader_as_of(&self, as_of: Option<&str>) -> Result<AnyReader> {
        let reader = trusted(Reader::open(&self.capsule()?)?, &self.global);
        let Some(principal) = self.principal() else {
            return Ok(AnyReader::Owner(self.placed(reader, as_of, Reader::on)?));
        };
        let profile = reader.clearance(principal)?;
        let branch = branch_for(self, &profile, &self.capsule()?)?;
        let guarded = reader.as_principal(profile);
        Ok(AnyReader::Principal(placed_on(guarded, branch, as_of, PrincipalReader::on)?))
    }

    /// A reader on the branch that is meant, as of then; `on` places it there.
    fn placed<R>(&self, reader: R, as_of: Option<&str>, on: OnBranch<R>) -> Result<R> {
        placed_on(reader, self.branch(&self.capsule()?)?, as_of, on)
    }

    /// The writer of the branch that is meant, in the capsule at `path`; waits its turn.
    pub(crate) fn writer(&self, path: &Path, run: Option<&str>) -> Result<AnyWriter> {
        let branch = self.branch(path)?;
        let writer = Writer::open(path, self.branch_options(run, branch.as_deref()))?;
        self.acting(writer, branch)
    }

    /// The capsule at `path`, opened for the writer of the branch that is meant before its turn has
    /// come.
    pub(crate) fn unlocked(&self, path: &Path, run: Option<&str>) -> Result<UnlockedWriter> {
        let branch = self.branch(path)?;
        Ok(UnlockedWriter::open(path, self.branch_options(run, branch.as_deref()))?)
    }

    /// The writer of a capsule that is open already; waits its turn.
    pub(crate) fn lock(&self, unlocked: UnlockedWriter, path: &Path) -> Result<AnyWriter> {
        let branch = self.branch(path)?;
        self.acting(unlocked.lock()?, branch)
    }

    fn branch_options(&self, run: Option<&str>, branch: Option<&str>) -> WriteOptions {
        let mut options = self.write_options(run);
        options.holder.branch = branch.map(str::to_string);
        options
    }

    /// The writer as it is for whoever acts, on a branch.
    fn acting(&self, mut writer: Writer, branch: Option<String>) -> Result<AnyWriter> {
        let Some(principal) = self.principal() else {
            branch.map_or(Ok(()), |branch| writer.switch(&branch))?;
            return Ok(AnyWriter::Owner(writer));
        };
        let profile = writer.reader()?.clearance(principal)?;
        let branch = branch_for(self, &profile, writer.path())?;
        let mut writer = writer.as_principal(profile);
        branch.map_or(Ok(()), |branch| writer.switch(&branch))?;
        Ok(AnyWriter::Principal(writer))
    }

    /// As [`App::writer`], for what only the owner may write.
    pub(crate) fn owner_writer(&self, path: &Path, run: Option<&str>) -> Result<Writer> {
        self.refuse_principals("use this verb")?;
        match self.writer(path, run)? {
            AnyWriter::Owner(writer) => Ok(writer),
            AnyWriter::Principal(_) => unreachable!("refused above"),
        }
    }

    /// The writer of a capsule as a whole, whatever the branch, for what only the owner may write.
    pub(crate) fn keeper(&self, path: &Path) -> Result<Writer> {
        self.refuse_principals("use this verb")?;
        Ok(Writer::open(path, self.write_options(None))?)
    }

    /// The branch that is meant: the one asked for, else the capsule's current one; none for
    /// `main`.
    pub(crate) fn branch(&self, capsule: &Path) -> Result<Option<String>> {
        let asked = self.global.branch.as_deref().filter(|name| !name.trim().is_empty());
        let name = match asked {
            Some(name) => Some(branch_name(name)?),
            None => locate::current_branch(capsule)?,
        };
        Ok(name.filter(|name| name != MAIN))
    }

    /// The capsule and the branch that are meant, for stores of facts, episodes and insights, as
    /// they are for who acts.
    pub(crate) fn location(&self) -> Result<StoreLocation> {
        let path = self.capsule()?;
        let branch = self.branch(&path)?;
        let mut options = self.write_options(None);
        options.holder.branch.clone_from(&branch);
        let location =
            StoreLocation::new(&path, options).on(branch.unwrap_or_else(|| MAIN.to_string()));
        // Stores take a capsule that is not there for an empty one; who names one by mistake is
        // told.
        let reader = Reader::open(&path)?;
        let Some(principal) = self.principal() else { return Ok(location) };
        let profile = reader.clearance(principal)?;
        let branch = branch_for(self, &profile, &path)?;
        Ok(location.on(branch.unwrap_or_else(|| MAIN.to_string())).as_principal(profile))
    }

    /// As [`App::location`], as of the moment that a reading verb asks for.
    pub(crate) fn location_when(&self, as_of: Option<&str>) -> Result<StoreLocation> {
        let mut location = self.location()?;
        if let Some(least) = self.global.min_trust {
            location = location.trusted(least.into());
        }
        Ok(as_of.map(typed_time::as_of).map_or(location.clone(), |as_of| location.at(as_of)))
    }

    /// How a capsule is opened for writing by this call.
    pub(crate) fn write_options(&self, run: Option<&str>) -> WriteOptions {
        WriteOptions {
            clock: moment::now,
            lock_timeout: self.global.lock_timeout.unwrap_or(LOCK_TIMEOUT_DEFAULT),
            holder: Holder { spec_id: self.spec.clone(), ..holder(run) },
            signing: KeySource::AtFirstCommit(signing_key::load),
            provenance: Provenance::default()
                .at_most(self.global.trust.map(Into::into))
                .at_most(environment_trust()),
            upkeep: upkeep::starter(),
        }
    }
}

/// The reader without what is trusted less far than is asked.
fn trusted(reader: Reader, global: &Global) -> Reader {
    match global.min_trust {
        Some(least) => kapsa_memory::trusted(&reader, least.into()),
        None => reader,
    }
}

/// How far what this program writes is trusted, where that was said by who started it: a flag does
/// not raise it.
fn environment_trust() -> Option<Trust> {
    let named = std::env::var_os("KAPSA_TRUST").filter(|named| !named.is_empty())?;
    // What is not a trust is the lowest one: a mistake opens nothing.
    Some(named.to_str().and_then(Trust::named).unwrap_or(Trust::ALL[0]))
}

/// Who runs this program, where that was said by who started it.
pub(crate) fn runs_as() -> Option<String> {
    let named = std::env::var_os("KAPSA_PRINCIPAL")?.to_string_lossy().into_owned();
    Some(named).filter(|named| !named.trim().is_empty())
}

/// Refuses a field that a principal gave and that is not its to fill in.
pub(crate) fn refuse_field(
    app: &App,
    field: &str,
    is_given: bool,
    why: &'static str,
) -> Result<()> {
    match app.principal() {
        Some(principal) if is_given => {
            let (principal, field) = (principal.to_string(), field.to_string());
            Err(Error::FieldDenied { principal, field, why }.into())
        }
        _ => Ok(()),
    }
}

/// Refuses a field by which a principal names somebody else.
pub(crate) fn refuse_other(app: &App, field: &str, named: Option<&str>) -> Result<()> {
    let is_other = named.is_some_and(|named| Some(named) != app.principal());
    refuse_field(app, field, is_other, "a principal writes in its own name only")
}

/// Refuses tags that only the memory itself gives.
pub(crate) fn refuse_own_tags(app: &App, tags: &[String]) -> Result<()> {
    let own = tags.iter().find(|tag| tag.starts_with("kapsa."));
    let why = "tags that begin with `kapsa.` are the memory's own";
    own.map_or(Ok(()), |tag| refuse_field(app, &format!("tags.{tag}"), true, why))
}

/// As [`App::branch`], as far as whoever acts may know of it.
pub(crate) fn known_branch(app: &App, capsule: &Path) -> Result<Option<String>> {
    let Some(principal) = app.principal() else { return app.branch(capsule) };
    let profile = Reader::open(capsule)?.clearance(principal)?;
    branch_for(app, &profile, capsule)
}

/// As [`App::branch`], for a principal. One that may not know of branches is not placed on the
/// owner's current one, of which it would learn from the error.
pub(crate) fn branch_for(
    app: &App,
    profile: &ClearanceProfile,
    capsule: &Path,
) -> Result<Option<String>> {
    let is_asked = app.global.branch.as_deref().is_some_and(|name| !name.trim().is_empty());
    if is_asked || profile.allows("", Classification::Internal, &[]) {
        return app.branch(capsule);
    }
    Ok(None)
}

fn placed_on<R>(
    reader: R,
    branch: Option<String>,
    as_of: Option<&str>,
    on: OnBranch<R>,
) -> Result<R> {
    if branch.is_none() && as_of.is_none() {
        return Ok(reader);
    }
    let as_of = as_of.map(typed_time::as_of);
    Ok(on(&reader, branch.as_deref().unwrap_or(MAIN), as_of.as_ref())?)
}

/// Notes what a call has committed: whatever fails after that is no failure of the commit.
pub(crate) fn did(app: &mut App, done: impl Into<Option<Done>>) {
    app.done = done.into();
    sys::on_lost_page_later(app.done.clone().map(|done| {
        || {
            let lost = CliError::lost_page(&app.capsule().unwrap_or_default());
            error_text(&after(Some(done), lost), style(&app.out)).into_bytes()
        }
    }));
}

/// Ends a call that failed.
pub(crate) fn failed(app: &mut App, error: CliError) -> CliError {
    CliError { warnings: app.out.fail(), ..after(app.done.take(), error) }
}

fn style(out: &Output) -> ErrorStyle {
    if out.is_json() { ErrorStyle::Json } else { ErrorStyle::People }
}

fn skipped(out: &mut Output, mount: &str, error: &Error) {
    out.warn("mount_skipped", &format!("skipped the mount {mount}: {error}"));
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
    let named = ["USER", "LOGNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()));
    named.unwrap_or_else(|| format!("uid {}", sys::user_id()))
}

/// The URI that was typed.
pub(crate) fn uri(text: &str) -> Result<Uri> {
    Ok(Uri::parse(text)?)
}
