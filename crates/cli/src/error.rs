//! A failure as the caller sees it: its kind (which alone decides the exit code), its stable code,
//! its message and how to fix it.

use std::io;
use std::path::Path;

use kapsa_memory::request::{Change, Put};
use kapsa_memory::{CapsuleError, Error, Holder, Uri};
use kapsa_model::{EmbedError, ModelError, ModelErrorKind};
use serde_json::{Map, Value};

use crate::holder;
use crate::wire::WarningOut;

/// Result of a command.
pub(crate) type Result<T, E = CliError> = std::result::Result<T, E>;

/// Who can fix a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The caller can fix it: exit code 1.
    User,
    /// The machine, the disk or the file: exit code 2.
    System,
    /// The reader of our output went away: not a failure at all.
    Quiet,
}

/// A failure of a command. The message begins in lower case and has no full stop.
#[derive(Clone, Debug)]
pub(crate) struct CliError {
    pub(crate) kind: Kind,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// More of it for programs, put beside `code` and `message`.
    pub(crate) fields: Map<String, Value>,
    /// Warnings of the call that no answer holds.
    pub(crate) warnings: Vec<WarningOut>,
}

impl CliError {
    pub(crate) fn user(code: &'static str, message: impl Into<String>) -> CliError {
        CliError {
            kind: Kind::User,
            code,
            message: message.into(),
            hint: None,
            fields: Map::new(),
            warnings: Vec::new(),
        }
    }

    pub(crate) fn system(code: &'static str, message: impl Into<String>) -> CliError {
        CliError { kind: Kind::System, ..CliError::user(code, message) }
    }

    /// A call that the command line cannot make sense of.
    pub(crate) fn usage(message: impl Into<String>) -> CliError {
        CliError::user("usage", message)
    }

    /// What the operating system said when we tried to `what`.
    pub(crate) fn io(what: &str, source: &io::Error) -> CliError {
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => {
                CliError::system("disk_full", format!("cannot {what}: {source}"))
                    .hint(HINT_DISK_FULL)
            }
            _ => CliError::system("io", format!("cannot {what}: {source}")),
        }
    }

    /// What went wrong with standard output.
    pub(crate) fn stdout(source: &io::Error) -> CliError {
        let mut error = CliError::io("write to standard output", source);
        if source.kind() == io::ErrorKind::BrokenPipe {
            error.kind = Kind::Quiet;
        }
        error
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> CliError {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn field(mut self, name: &str, value: impl Into<Value>) -> CliError {
        self.fields.insert(name.to_string(), value.into());
        self
    }

    /// The exit code of the process.
    pub(crate) fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Quiet => 0,
            Kind::User => 1,
            Kind::System => 2,
        }
    }
}

/// What a call has committed. Whatever fails after that is no failure of the commit, and says so.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    what: String,
    fields: Map<String, Value>,
}

impl Done {
    /// What was done, as the beginning of a message.
    pub(crate) fn new(what: impl Into<String>) -> Done {
        Done { what: what.into(), fields: Map::from_iter([("stored".to_string(), true.into())]) }
    }

    /// One record.
    pub(crate) fn put(put: &Put) -> Done {
        let how = if put.change == Change::Forgotten { "forgotten" } else { "stored" };
        Done::new(format!("{how} as #{}", put.sequence)).field("sequence", put.sequence)
    }

    pub(crate) fn field(mut self, name: &str, value: impl Into<Value>) -> Done {
        self.fields.insert(name.to_string(), value.into());
        self
    }
}

/// A failure, with what was committed before it.
pub(crate) fn after(done: Option<Done>, mut error: CliError) -> CliError {
    if let Some(done) = done {
        error.message = format!("{}; {}", done.what, error.message);
        error.fields.extend(done.fields);
    }
    error
}

/// Line of a script that a call stands on; none for a call of its own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place(pub(crate) Option<u64>);

impl Place {
    /// The failure, with its place.
    pub(crate) fn of(self, mut error: CliError) -> CliError {
        let Some(line) = self.0 else { return error };
        error.message = format!("line {line}: {}", error.message);
        error.fields.entry("line").or_insert_with(|| line.into());
        error
    }

    /// What the parser says, with its place.
    pub(crate) fn before(self, text: &str) -> String {
        let Some(line) = self.0 else { return text.to_string() };
        text.strip_prefix("error: ").map_or_else(
            || format!("line {line}: {text}"),
            |rest| format!("error: line {line}: {rest}"),
        )
    }
}

const HINT_UNREADABLE: &str =
    "kapsa verify lists what is damaged, kapsa salvage NEW saves what can be read";
const HINT_DISK_FULL: &str = "free some space; everything stored before is safe";

impl CliError {
    /// A part of the capsule can no longer be read, though it was there when it was opened.
    pub(crate) fn lost_page(capsule: &Path) -> CliError {
        let message = format!(
            "a part of {} can no longer be read: a bad sector, or the file was cut while it was open",
            capsule.display()
        );
        CliError::system("unreadable", message).hint(HINT_UNREADABLE)
    }
}

impl From<EmbedError> for CliError {
    fn from(error: EmbedError) -> CliError {
        let failed = CliError::system("embedding_failed", error.message);
        match error.hint {
            Some(hint) => failed.hint(hint),
            None => failed,
        }
    }
}

impl From<ModelError> for CliError {
    fn from(error: ModelError) -> CliError {
        let failed = match error.kind {
            ModelErrorKind::NotConfigured
            | ModelErrorKind::Unauthorized
            | ModelErrorKind::Refused => CliError::user("model_failed", error.message),
            _ => CliError::system("model_failed", error.message),
        };
        let failed = match error.hint {
            Some(hint) => failed.hint(hint),
            None => failed,
        };
        failed.field("tokens_in", error.usage.tokens_in).field("tokens_out", error.usage.tokens_out)
    }
}

impl From<kapsa_traces::Error> for CliError {
    fn from(error: kapsa_traces::Error) -> CliError {
        let message = error.to_string();
        match error {
            kapsa_traces::Error::Memory(error) => error.into(),
            kapsa_traces::Error::Missing { path } => {
                CliError::user("trace_not_found", message).field("path", path.display().to_string())
            }
            kapsa_traces::Error::SessionFileMissing { path } => {
                CliError::user("trace_not_found", message).field("path", path.display().to_string())
            }
            kapsa_traces::Error::NoTrace { .. } => {
                CliError::user("no_trace", message).hint("docs/traces.md lists the formats")
            }
            kapsa_traces::Error::Notes(_) => CliError::user("notes", message),
            kapsa_traces::Error::Contract(_) | kapsa_traces::Error::EmptyTrace => {
                CliError::user("run_failed", message)
            }
            kapsa_traces::Error::Trace(_) => CliError::user("trace_unreadable", message),
        }
    }
}

impl From<Error> for CliError {
    fn from(error: Error) -> CliError {
        let message = error.to_string();
        match error {
            Error::Capsule(cause) => capsule(cause, message),
            Error::Index(_) => CliError::system("index", message).hint("kapsa verify shows what is damaged"),
            Error::QueryTooLong { .. } => CliError::user("query_too_long", message),
            Error::InvalidUri { .. } => {
                CliError::user("invalid_uri", message).hint("a URI is a path such as note/locks or mv2://default/note/locks")
            }
            Error::InvalidRecord { field, .. } => CliError::user("invalid_record", message).field("field", field),
            Error::UriNotFound { uri } => not_found(uri),
            Error::DamagedRecord { sequence, .. } => {
                CliError::system("damaged_record", message).hint("kapsa verify shows what is damaged").field("sequence", sequence)
            }
            Error::BranchNotFound { name } => {
                let hint = format!("kapsa branch lists the branches, kapsa branch create {name} creates this one");
                CliError::user("branch_not_found", message).hint(hint).field("branch", name)
            }
            Error::UnknownAsOf { branch, .. } => CliError::user("unknown_moment", message)
                .hint("kapsa checkpoints lists the checkpoints, kapsa log the sequences")
                .field("branch", branch),
            Error::OtherModel { .. } => {
                CliError::user("other_model", message).hint("kapsa reembed --model NAME changes the model")
            }
            Error::Embedding(cause) => cause.into(),
            Error::NoVectors => CliError::user("no_vectors", message).hint("run kapsa embed, or search by words with --mode lex"),
            Error::DuplicateLabel { label, .. } => duplicate_label(&label, message),
            Error::ContentMissing => content_error(None, message),
            Error::ContentDamaged { hash, .. } => content_error(Some(&hash), message),
            Error::SigningKey(cause) => CliError::user("signing_key", message).hint(cause.hint),
            Error::AccessDenied { what, .. } => CliError::user("access_denied", message).hint(access_hint(what)),
            Error::FieldDenied { field, .. } => {
                CliError::user("access_denied", message).hint("leave it out").field("field", field)
            }
            Error::HeldForReview { item, .. } => {
                let hint = format!("the owner decides: kapsa review show {}", item.short());
                CliError::user("held_for_review", message)
                    .hint(hint)
                    .field("pending", item.as_str())
            }
            Error::PolicyChanged { id } => {
                let hint = format!(
                    "kapsa history policy/{id} shows its revisions, kapsa policy capture FILE captures it again"
                );
                CliError::system("policy_changed", message).hint(hint).field("policy", id)
            }
            Error::InvalidOperation { .. } => CliError::user("invalid_operation", message),
            Error::TargetExists { path } => CliError::user("exists", message)
                .hint("--force replaces a file or an earlier export, but no other folder; --out sets another target")
                .field("path", path.display().to_string()),
            Error::InvalidMountName { .. } => {
                CliError::user("invalid_mount_name", message).hint("choose a name with --mount-as NAME")
            }
            Error::MountNotFound { name } => {
                CliError::user("mount_not_found", message).hint("kapsa mounts lists the mounts").field("mount", name)
            }
            Error::MountHashConflict { name } => {
                CliError::user("mount_hash_conflict", message).hint("choose another name with --mount-as").field("mount", name)
            }
            Error::MountsRegistry { .. } => CliError::system("mounts_registry", message).hint("fix the file, or import again"),
            Error::VerificationFailed { .. } => {
                CliError::system("verification_failed", message).hint("nothing was mounted; copy the file again from its source")
            }
            Error::Source { .. } => CliError::user("source_unreadable", message),
            _ => CliError::system("internal", message),
        }
    }
}

fn duplicate_label(label: &str, message: String) -> CliError {
    CliError::user("duplicate_label", message)
        .hint("choose another label, or reuse this one with --force")
        .field("error_code", "DUPLICATE_LABEL")
        .field("label", label)
}

/// What is wrong with the bytes of a file.
fn content_error(hash: Option<&str>, message: String) -> CliError {
    let Some(hash) = hash else {
        return CliError::user("content_missing", message)
            .hint("store the file again: kapsa put --uri URI FILE");
    };
    CliError::system("content_damaged", message)
        .hint("kapsa verify shows what is damaged; kapsa history URI lists earlier revisions")
        .field("hash", hash)
}

/// What makes a denied operation possible. Clearance decides only about levels and domains.
fn access_hint(what: &str) -> &'static str {
    match what {
        "write at this level in this domain" | "change what it may only read" => {
            "the owner can allow it: kapsa clearance set PRINCIPAL DOMAIN=LEVEL…, which replaces its whole clearance, so name every domain"
        }
        "let more people read this than now" => {
            "classify it at least as high as what it replaces or comes from"
        }
        "write in the name of another agent" | "write into the memory of another agent" => {
            "a principal writes only as itself"
        }
        "act as another principal" => "KAPSA_PRINCIPAL says who acts: leave out --as",
        _ => "only the owner may: leave out --as and unset KAPSA_PRINCIPAL",
    }
}

/// Names the URI as people type it; programs get the canonical form.
fn not_found(uri: String) -> CliError {
    let short = Uri::parse(&uri).map_or_else(|_| uri.clone(), |parsed| parsed.short().to_string());
    let hint = format!(
        "kapsa history {short} shows whether it was forgotten, kapsa find searches by words"
    );
    CliError::user("uri_not_found", format!("nothing is remembered under {short}"))
        .hint(hint)
        .field("uri", uri)
}

fn capsule(cause: CapsuleError, message: String) -> CliError {
    let full = cause.is_disk_full();
    match cause {
        CapsuleError::NotFound { .. } => CliError::user("capsule_not_found", message)
            .hint("kapsa init creates one here, kapsa create PATH elsewhere"),
        CapsuleError::NotACapsule { .. } => CliError::user("not_a_capsule", message)
            .hint("the file was not touched; choose another path"),
        CapsuleError::VersionMismatch { .. } => {
            CliError::system("version_mismatch", message).hint("upgrade kapsa")
        }
        CapsuleError::LockedByWriter { path, holder, .. } => {
            locked(&path, holder.as_deref(), message)
        }
        CapsuleError::ForeignLock { .. } => CliError::user("foreign_lock", message)
            .hint("it was not touched; move it, or give the capsule another name"),
        CapsuleError::Truncated { .. } => {
            CliError::system("truncated", message).hint("kapsa doctor shows how to fix it")
        }
        CapsuleError::NoMemory { .. } => CliError::system("no_memory", message)
            .hint("the capsule is not damaged; give the process more memory, or ask for less"),
        CapsuleError::Unreadable { offset, .. } => {
            CliError::system("unreadable", message).hint(HINT_UNREADABLE).field("offset", offset)
        }
        CapsuleError::Corrupt { offset, .. } => CliError::system("corrupt", message)
            .hint("kapsa verify shows what is damaged")
            .field("offset", offset),
        CapsuleError::NoSuchRecord { sequence } => {
            CliError::user("no_such_record", message).field("sequence", sequence)
        }
        CapsuleError::ChainMismatch { number } => CliError::system("chain_mismatch", message)
            .hint("kapsa verify shows what is damaged")
            .field("commit", number),
        CapsuleError::Misuse { .. } => CliError::user("invalid_operation", message),
        CapsuleError::TooLarge { .. } => CliError::user("too_large", message),
        CapsuleError::Replaced { .. } => CliError::system("replaced", message).hint("try again"),
        CapsuleError::Poisoned { .. } => {
            CliError::system("poisoned", message).hint("run kapsa verify, then try again")
        }
        CapsuleError::Io { .. } if full => {
            CliError::system("disk_full", message).hint(HINT_DISK_FULL)
        }
        CapsuleError::Io { .. } => CliError::system("io", message),
        _ => CliError::system("internal", message),
    }
}

fn locked(capsule: &Path, holder: Option<&Holder>, message: String) -> CliError {
    let error = CliError::system("locked_by_writer", message);
    let Some(holder) = holder else {
        return error.hint("wait for it to finish, or wait longer with --lock-timeout SECONDS");
    };
    let fate = holder::fate(holder, &kapsa_memory::lock_path(capsule));
    let error = error.hint(fate.hint(holder)).field("holder", fate.name());
    let error = error
        .field("pid", holder.pid)
        .field("host", holder.host.clone())
        .field("user", holder.user.clone())
        .field("started_at", holder.started_at.clone());
    match &holder.run_id {
        Some(run) => error.field("run", run.clone()),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_lock_tells_who_holds_it() {
        let holder = Holder {
            pid: 7,
            host: "h".into(),
            user: "u".into(),
            started_at: "t".into(),
            run_id: Some("r".into()),
            ..Holder::default()
        };
        let cause = CapsuleError::LockedByWriter {
            path: "x.kapsa".into(),
            holder: Some(Box::new(holder)),
            waited: Duration::ZERO,
        };
        let error = CliError::from(Error::Capsule(cause));
        assert_eq!((error.exit_code(), error.code), (2, "locked_by_writer"));
        assert_eq!(error.fields["pid"], 7);
        assert_eq!(error.fields["run"], "r");
    }

    #[test]
    fn a_full_disk_is_the_systems_fault_and_a_closed_pipe_nobodys() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        assert_eq!(CliError::io("write", &full).code, "disk_full");
        assert_eq!(CliError::stdout(&full).exit_code(), 2);
        assert_eq!(CliError::stdout(&io::Error::from(io::ErrorKind::BrokenPipe)).exit_code(), 0);
    }
}
