//! Syncs two capsules: each gets what it misses of the other. By path, without a service.
//!
//! Equal chains prove equal histories. Whoever is merely behind gets the missing commits as they
//! are, and is the same capsule again. Where both went on, the other's records come as branches
//! named after it, which left where the two parted; merging is up to people.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use base16ct::lower::encode_string as hex;
use kapsa_capsule::{FileSystem, Snapshot, Stored, Volume};
use serde_json::{Map, Value};

use crate::error::{Error, Result, misuse};
use crate::records::branch::{self, Made};
use crate::records::codec::{Body, Envelope, Operation};
use crate::records::record::{BranchId, NewRecord, Record};
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;
use crate::versions::event::{EventType, NewEvent};
use crate::view::{View, branches};
use crate::write::later::{Indexing, TAIL_RECORDS_MAX};
use crate::write::maintain;
use crate::write::options::Progress;
use crate::write::pending::{Name, Pending, What};
use crate::write::writer::{BATCH_BYTES_MAX, BATCH_RECORDS_MAX, Writer};

/// Bytes copied at a time.
const COPY_BYTES: usize = 1 << 20;
/// Bytes of pulled records that wait for an index segment: another batch must fit beside them.
const PULLED_TAIL_BYTES_MAX: u64 = BATCH_BYTES_MAX as u64 / 2;

/// How two capsules stood to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The other has nothing that this one misses.
    UpToDate,
    /// This one was behind: it has the other's history now.
    FastForward,
    /// Both went on: the other's records came as branches.
    Forked,
}

/// What a pull brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulled {
    /// How the two stood.
    pub relation: Relation,
    /// Commits that both had in common.
    pub common: u64,
    /// Records that came.
    pub records: u64,
    /// Branches that they came to, when both had gone on.
    pub branches: Vec<String>,
}

/// Copies a capsule, while others may write to it. `to` must not exist. The copy has the same id
/// and history.
///
/// # Errors
/// `InvalidOperation` when something is at `to`; when `from` is not a capsule or damaged; what the
/// disk says. Then nothing is left at `to`.
pub fn clone(from: &Path, to: &Path, progress: Progress<'_>) -> Result<()> {
    Snapshot::open(from)?;
    if to.symlink_metadata().is_ok() {
        return Err(taken(to));
    }
    FileSystem.sweep(to).map_err(|source| failed("remove what was left beside", to, source))?;
    let temporary = FileSystem.temporary(to);
    let made = copy(from, &temporary, progress)
        .and_then(|()| check(&temporary))
        .and_then(|()| place(&temporary, to));
    let _a_leftover_is_swept_by_the_next_one = fs::remove_file(&temporary);
    made?;
    FileSystem.sync_folder(to).map_err(|source| failed("sync the folder of", to, source))
}

fn taken(to: &Path) -> Error {
    misuse(&format!("{} already exists; clone creates a new capsule", to.display()))
}

pub(crate) fn failed(operation: &'static str, path: &Path, source: io::Error) -> Error {
    Error::Capsule(kapsa_capsule::Error::Io { operation, path: path.to_path_buf(), source })
}

/// Copies from the start on: the hints come before what they name, and what a hint names is never
/// cut away.
fn copy(from: &Path, to: &Path, progress: Progress<'_>) -> Result<()> {
    let read = |source| failed("read", from, source);
    let write = |source| failed("write", to, source);
    let mut source = File::open(from).map_err(read)?;
    let total = source.metadata().map_err(read)?.len();
    let mut target = File::create_new(to).map_err(write)?;
    // Locked, it is not a leftover.
    target.lock().map_err(write)?;
    let mut buffer = vec![0; COPY_BYTES];
    let mut done = 0;
    loop {
        let count = source.read(&mut buffer).map_err(read)?;
        if count == 0 {
            return target.sync_all().map_err(write);
        }
        target.write_all(&buffer[..count]).map_err(write)?;
        done += count as u64;
        progress(done.min(total), Some(total));
    }
}

fn check(copy: &Path) -> Result<()> {
    let report = crate::exchange::check::verify(copy, &mut |_, _| {})?;
    match report.problems.first() {
        None => Ok(()),
        Some(problem) => Err(misuse(&format!(
            "the capsule is damaged at byte {}: {}",
            problem.offset, problem.what
        ))),
    }
}

/// Gives the copy its name, and takes nobody's place.
fn place(temporary: &Path, to: &Path) -> Result<()> {
    match fs::hard_link(temporary, to) {
        Ok(()) => Ok(()),
        Err(_) if to.symlink_metadata().is_ok() => Err(taken(to)),
        // Some file systems know one name for a file only.
        Err(_) => fs::rename(temporary, to).map_err(|source| failed("put in place", to, source)),
    }
}

/// Brings what the capsule at `from` has and this one misses. Where both have gone on, it comes as
/// branches `<name>/<branch>`. `progress` is how many records are durable: they stay when the rest
/// fails, and the next pull goes on after them.
///
/// # Errors
/// `InvalidOperation` when the two have nothing in common, or when another capsule was pulled under
/// this name before; what the disks say.
pub fn pull(
    writer: &mut Writer,
    from: &Path,
    name: &str,
    progress: Progress<'_>,
) -> Result<Pulled> {
    let theirs = View::new(Snapshot::open(from)?);
    let ours = writer.capsule_mut().snapshot()?;
    let (here, there) = (ours.commit().number, theirs.store().snapshot().commit().number);
    let common = kapsa_capsule::common(&ours, theirs.store().snapshot())?;
    if common == 0 && here > 0 && there > 0 {
        return Err(misuse(&format!(
            "{} shares no history with this capsule; `kapsa import` takes what is foreign",
            from.display()
        )));
    }
    if common == there {
        return Ok(Pulled {
            relation: Relation::UpToDate,
            common,
            records: 0,
            branches: Vec::new(),
        });
    }
    if common == here {
        let records = fast_forward(writer, theirs.store().snapshot(), common, progress)?;
        return Ok(Pulled {
            relation: Relation::FastForward,
            common,
            records,
            branches: Vec::new(),
        });
    }
    let name = branch::branch_name(name)?;
    let (records, branches) = pull_fork(writer, &theirs, common, &name)?;
    let relation = if records == 0 { Relation::UpToDate } else { Relation::Forked };
    Ok(Pulled { relation, common, records, branches })
}

/// Appends the commits after `common` as they are. `progress` is how many records are durable.
fn fast_forward(
    writer: &mut Writer,
    theirs: &Snapshot,
    common: u64,
    progress: Progress<'_>,
) -> Result<u64> {
    let chains = theirs.chains(common + 1)?;
    let total = theirs.commit().next_sequence;
    let first = writer.capsule_mut().snapshot()?.commit().next_sequence;
    for (span, chain) in
        theirs.commits()?.into_iter().filter(|span| span.number > common).zip(&chains)
    {
        let capsule = writer.capsule_mut();
        let mut transaction = capsule.begin()?;
        for record in theirs
            .records(span.first_sequence)
            .take((span.next_sequence - span.first_sequence) as usize)
        {
            transaction.append_stored(record?.stored())?;
        }
        transaction.commit_as(span.time_us, chain)?;
        progress(span.next_sequence - first, Some(total - first));
        let tail = capsule.snapshot()?;
        if tail.tail().count() >= BATCH_RECORDS_MAX || tail.tail_bytes() >= PULLED_TAIL_BYTES_MAX {
            maintain::index_tail(capsule, span.time_us)?;
        }
    }
    let capsule = writer.capsule_mut();
    if capsule.snapshot()?.tail().count() as u64 > TAIL_RECORDS_MAX {
        maintain::index_tail(capsule, theirs.commit().time_us)?;
    }
    writer.later.note(Indexing::Later);
    Ok(total - first)
}

/// Appends what the other wrote since the two parted, as branches.
fn pull_fork(
    writer: &mut Writer,
    theirs: &View,
    common: u64,
    name: &str,
) -> Result<(u64, Vec<String>)> {
    let parted = theirs
        .store()
        .snapshot()
        .commits()?
        .iter()
        .find(|span| span.number > common)
        .map_or(1, |span| span.first_sequence);
    let mut fork = Fork::new(writer.view()?, theirs, name, parted)?;
    let first = writer.view()?.store().snapshot().commit().next_sequence;
    let mut records = 0;
    for stored in theirs.store().snapshot().records(parted) {
        let stored = stored?;
        let Stored::Body(bytes) = stored.stored() else { continue };
        if fork.known.contains_key(&stored.sequence()) {
            continue;
        }
        let body = crate::records::codec::decode(stored.sequence(), bytes)?;
        // It signs a commit there. The one that this becomes here has its own.
        if body.record.is_signature() {
            continue;
        }
        fork.take(first, body)?;
        records += 1;
    }
    if records == 0 {
        return Ok((0, Vec::new()));
    }
    let mut all = fork.pending;
    all.push(fork.event.pending(BranchId::MAIN)?);
    writer.write(all)?;
    Ok((records, fork.made))
}

/// The other's records on their way here.
struct Fork<'a> {
    theirs: &'a View,
    name: &'a str,
    /// First sequence that the two do not share.
    parted: u64,
    /// Sequences here by sequences there, for what came since they parted.
    known: HashMap<u64, u64>,
    /// Branches here by branches there.
    branches: HashMap<BranchId, BranchId>,
    /// Parents and forks of those here.
    forks: HashMap<BranchId, (BranchId, u64)>,
    pending: Vec<Pending>,
    made: Vec<String>,
    event: NewEvent,
}

impl<'a> Fork<'a> {
    fn new(ours: &View, theirs: &'a View, name: &'a str, parted: u64) -> Result<Fork<'a>> {
        let (known, branches, forks) = (HashMap::new(), HashMap::new(), HashMap::new());
        let event = pull_event(theirs.store().snapshot(), name);
        let mut fork = Fork {
            theirs,
            name,
            parted,
            known,
            branches,
            forks,
            pending: Vec::new(),
            made: Vec::new(),
            event,
        };
        fork.remember(ours)?;
        Ok(fork)
    }

    /// Finds out what earlier pulls brought, and that they were of the same capsule.
    fn remember(&mut self, ours: &View) -> Result<()> {
        let prefix = format!("{}/", self.name);
        for branch in crate::versions::branch::in_view(ours)?
            .into_iter()
            .filter(|branch| branch.name.starts_with(&prefix))
        {
            let metadata = ours.store().record(branch.id.0)?.metadata;
            let number = |name: &str| metadata.get(name).and_then(Value::as_u64);
            let (Some(commit), Some(remote)) = (number("remote_commit"), number("remote_id"))
            else {
                continue;
            };
            let chain = self.theirs.store().snapshot().chain_of(commit)?.map(|chain| hex(&chain));
            if chain.as_deref() != metadata.get("remote_chain").and_then(Value::as_str) {
                let reason = format!(
                    "`{}` was another capsule when it was pulled before; choose another name with --name",
                    self.name
                );
                return Err(misuse(&reason));
            }
            self.branches.insert(BranchId(remote), branch.id);
            self.forks.extend(
                ours.store().made(branch.id)?.map(|made| (branch.id, (made.parent, made.fork))),
            );
            for sequence in ours
                .store()
                .sequences(&Lineage::alone(branch.id), Class::Both)?
                .ranges()
                .iter()
                .flat_map(Clone::clone)
            {
                self.known
                    .extend(ours.store().record(sequence)?.pulled.map(|there| (there, sequence)));
            }
            self.known
                .extend(ours.store().record(branch.id.0)?.pulled.map(|there| (there, branch.id.0)));
        }
        Ok(())
    }

    /// What stands here for a sequence there.
    fn sequence(&self, there: u64) -> u64 {
        if there < self.parted { there } else { self.known.get(&there).copied().unwrap_or(there) }
    }

    /// What stands here for the last of all up to a sequence there, which may be of a record that
    /// did not come: one that was erased, or a signature.
    fn until(&self, there: u64) -> u64 {
        let before = self.known.iter().filter(|(known, _)| **known <= there);
        match before.max_by_key(|(known, _)| **known) {
            Some((_, &here)) if there >= self.parted => here,
            _ => there,
        }
    }

    /// What stands here for the first of all from a sequence there on; none when nothing from there
    /// on has come yet.
    fn from(&self, there: u64) -> Option<u64> {
        let after = self.known.iter().filter(|(known, _)| **known >= there);
        after.min_by_key(|(known, _)| **known).map(|(_, &here)| here)
    }

    /// Takes one record; `first` is the sequence that the first of all will have here.
    fn take(&mut self, first: u64, body: Body) -> Result<()> {
        let there = body.record.sequence;
        if let Some(made) = Made::of(&body.record) {
            if made.id.0 == there {
                return self.take_branch(first, &body.record, &made);
            }
            return self.change_branch(first, &body.record, &made);
        }
        let branch = self.branch(first, body.record.branch)?;
        let mut record = body.record.clone();
        self.rename(&mut record);
        let mut envelope = Envelope {
            branch,
            system: record.system,
            pulled: Some(there),
            provenance: std::mem::take(&mut record.provenance),
            ..Envelope::default()
        };
        envelope.conflicts_with =
            record.conflicts_with.iter().map(|&beside| self.sequence(beside)).collect();
        envelope.conflicts_with.sort_unstable();
        if let Some(origin) = &mut record.origin {
            origin.sequence = self.sequence(origin.sequence);
            origin.branch = if origin.branch.0 < self.parted {
                origin.branch
            } else {
                self.branch(first, origin.branch)?
            };
        }
        envelope.origin = record.origin.take();
        let what = match (body.operation, &record.alias) {
            (_, Some(target)) => What::Alias(target.clone()),
            (Operation::Put | Operation::Alias, None) => What::Put(Box::new(record.as_new())),
            // What was purged there is forgotten on its branch; whether it is erased here is for
            // the owner of this capsule to say.
            (Operation::Tombstone | Operation::Purge, None) => {
                let agent = std::mem::take(&mut record.agent);
                What::Bury { operation: Operation::Tombstone, agent }
            }
        };
        self.push(first, Some(there), Pending { name: Name::Given(record.uri), what, envelope });
        Ok(())
    }

    /// Names of branches in the events of merges.
    fn rename(&self, record: &mut Record) {
        for field in ["from_branch", "to_branch"] {
            if let Some(Value::String(name)) =
                record.metadata.get_mut(field).filter(|_| record.system)
            {
                *name = format!("{}/{name}", self.name);
            }
        }
        if let Some(last) =
            record.metadata.get("from_sequence").and_then(Value::as_u64).filter(|_| record.system)
        {
            record.metadata.insert("from_sequence".to_string(), self.until(last).into());
        }
    }

    fn push(&mut self, first: u64, there: Option<u64>, pending: Pending) -> u64 {
        let here = first + self.pending.len() as u64;
        self.known.extend(there.map(|there| (there, here)));
        self.pending.push(pending);
        here
    }

    /// The branch here that stands for one there; made when it is first needed.
    fn branch(&mut self, first: u64, there: BranchId) -> Result<BranchId> {
        if let Some(here) = self.branches.get(&there) {
            return Ok(*here);
        }
        let name = branches::name_of(self.theirs.store(), there)?;
        self.make(first, there, None, &name, there, self.parted)
    }

    /// A branch that was made there since the two parted.
    fn take_branch(&mut self, first: u64, record: &Record, made: &Made) -> Result<()> {
        let name = record.uri.branch_name().unwrap_or_default().to_string();
        let (parent, fork) = if made.fork <= self.parted && made.parent.0 < self.parted {
            (made.parent, made.fork)
        } else {
            let next = first + self.pending.len() as u64;
            let parent = self.branch(first, made.parent)?;
            (
                parent,
                if made.fork <= self.parted {
                    made.fork
                } else {
                    self.from(made.fork).unwrap_or(next)
                },
            )
        };
        self.make(first, made.id, Some(record.sequence), &name, parent, fork).map(drop)
    }

    fn make(
        &mut self,
        first: u64,
        there: BranchId,
        pulled: Option<u64>,
        name: &str,
        parent: BranchId,
        fork: u64,
    ) -> Result<BranchId> {
        let name = branch::branch_name(&format!("{}/{name}", self.name))?;
        let mut record = Made::record(&name, parent, fork, None, false)?;
        self.mark(&mut record, there);
        let uri = Name::Given(record.uri.take().expect("a branch has a name"));
        let envelope = Envelope { branch: parent, system: true, pulled, ..Envelope::default() };
        let what = What::Branch { record: Box::new(record), parent, fork, archives: None };
        let here = BranchId(self.push(first, pulled, Pending { name: uri, what, envelope }));
        self.branches.insert(there, here);
        self.forks.insert(here, (parent, fork));
        self.made.push(name);
        Ok(here)
    }

    /// Notes which branch of which history it stands for.
    fn mark(&self, record: &mut NewRecord, there: BranchId) {
        let commit = self.theirs.store().snapshot().commit();
        let fields: [(&str, Value); 3] = [
            ("remote_id", there.0.into()),
            ("remote_commit", commit.number.into()),
            ("remote_chain", hex(&commit.chain).into()),
        ];
        record.metadata.extend(fields.map(|(name, value)| (name.to_string(), value)));
    }

    /// A change of a branch there: its archiving.
    fn change_branch(&mut self, first: u64, there: &Record, made: &Made) -> Result<()> {
        let id = self.branch(first, made.id)?;
        let name = branch::branch_name(&format!(
            "{}/{}",
            self.name,
            there.uri.branch_name().unwrap_or_default()
        ))?;
        let (parent, fork) = self.forks.get(&id).copied().unwrap_or((BranchId::MAIN, self.parted));
        let mut record = Made::record(&name, parent, fork, Some(id), made.archived)?;
        let uri = Name::Given(record.uri.take().expect("a branch has a name"));
        let envelope = Envelope {
            branch: parent,
            system: true,
            pulled: Some(there.sequence),
            ..Envelope::default()
        };
        self.push(
            first,
            Some(there.sequence),
            Pending { name: uri, what: What::Put(Box::new(record)), envelope },
        );
        Ok(())
    }
}

fn pull_event(theirs: &Snapshot, name: &str) -> NewEvent {
    let commit = theirs.commit();
    let mut payload = Map::new();
    let fields: [(&str, Value); 8] = [
        ("source_type", "pull".into()),
        ("source", name.into()),
        ("format", "kapsa".into()),
        ("original_capsule_id", hex(&theirs.file().capsule_id).into()),
        ("checkpoints_imported", "all".into()),
        ("imported_at", commit.time_us.to_string().into()),
        ("content_hash", hex(&commit.chain).into()),
        ("verification_passed", true.into()),
    ];
    payload.extend(fields.map(|(name, value)| (name.to_string(), value)));
    NewEvent { payload, ..NewEvent::new(EventType::CapsuleImported) }
}
