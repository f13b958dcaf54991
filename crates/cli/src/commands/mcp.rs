//! `mcp`: the memory behind the Model Context Protocol. What the server is not to know of the
//! environment, the clock and this program's errors is told to it here.

use std::fs;
use std::io::{self, IsTerminal, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kapsa_agents::{AgentMemory, StoreLocation, WorkspaceMemory};
use kapsa_memory::access::ClearanceProfile;
use kapsa_memory::request::Clock;
use kapsa_memory::{AsOf, Error, Micros, Trust, WriteOptions, random_id};
use kapsa_model::{Embedder, Model};
use kapsa_runs::shared_root;
use kapsa_server::http::{self, Options, Token};
use kapsa_server::{Door, Host, Memory, Problem, serve_pipes};
use tempfile::NamedTempFile;

use super::{audit, find, without_holder};
use crate::app::{App, branch_for};
use crate::args::{Global, McpArgs, TrustLevel};
use crate::error::{CliError, Result};
use crate::role_config::Declared;
use crate::{locate, models, moment, sys, typed_time};

/// What a principal is told of what the owner alone may do.
const OWNERS_ALONE: &str = "only the owner of this memory may; ask the user";
/// Folder of tokens, below the folder of the user's state.
const STATE: &str = "kapsa";
/// How the file of a token begins and ends; between them stand the process and the port.
const TOKEN_BEGIN: &str = "mcp-";
const TOKEN_END: &str = ".token";
/// Largest token file, in bytes.
const TOKEN_BYTES_MAX: u64 = 4096;
/// Shortest token that is taken from a file, in bytes.
const TOKEN_BYTES_MIN: usize = 16;

/// `kapsa mcp`.
pub(crate) fn run(app: &mut App, args: &McpArgs) -> Result<()> {
    sys::keep_memory_small();
    let trust = app.global.trust.unwrap_or(TrustLevel::Model);
    let global = Global { trust: Some(trust), json: false, ..app.global.clone() };
    // A client that comes over HTTP did not start this program.
    // May be dropped: a folder that is gone is in no repository.
    let started_in = if args.http.is_none() { std::env::current_dir().ok() } else { None };
    let host = McpHost { principal: global.principal.clone(), global, started_in };
    match args.http {
        None => {
            if io::stdin().is_terminal() {
                app.out.note(
                    "waiting for a client on standard input; programs of agents start this command \
                     themselves (kapsa mcp --help)",
                );
            }
            serve_pipes(Arc::new(Memory::new(Arc::new(host))))
                .map_err(|error| CliError::system("mcp", format!("the client left: {error}")))
        }
        Some(address) => over_http(app, args, address, host),
    }
}

fn over_http(app: &mut App, args: &McpArgs, address: SocketAddr, host: McpHost) -> Result<()> {
    if !address.ip().is_loopback() && !args.allow_remote {
        let message = format!("{address} can be reached from other machines");
        return Err(CliError::usage(message)
            .hint("use 127.0.0.1, or --allow-remote with --tls-cert FILE and --tls-key FILE"));
    }
    // One capsule for all who come: found here, now, so that a mistake shows before anybody waits.
    let capsule = app.capsule()?;
    let global = Global { capsule: Some(capsule), ..host.global };
    let memory = Arc::new(Memory::new(Arc::new(McpHost { global, ..host })));
    let (token, kept) = match &args.token_file {
        Some(file) => (token_in(file)?, file.clone()),
        None => fresh_token(address.port())?,
    };
    let mut hosts = args.host.clone();
    if args.allow_remote {
        hosts.push(address.ip().to_string());
    }
    let options = Options {
        address,
        token: Some(Token::new(token)),
        hosts,
        origins: args.origin.clone(),
        tls: args.tls_cert.clone().zip(args.tls_key.clone()),
    };
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let ready = |address: SocketAddr| {
        let told = format!(
            "serving {scheme}://{address}{} · the token is in {}\n",
            http::PATH,
            kept.display()
        );
        io::stderr().write_all(told.as_bytes())
    };
    let served = http::serve(move || Door::fixed(Arc::clone(&memory)), &options, ready);
    if args.token_file.is_none() {
        // May be dropped: whatever keeps the file there, its token lets nobody in any more.
        let _ = fs::remove_file(&kept);
    }
    served.map_err(|error| CliError::io(&format!("serve {address}"), &error))
}

fn new_token() -> String {
    let random = [random_id(), random_id()].concat();
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A new token in a file of its own.
fn fresh_token(port: u16) -> Result<(String, PathBuf)> {
    let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")));
    let state = state.ok_or_else(|| {
        CliError::user("no_state_folder", "neither XDG_STATE_HOME nor HOME is set")
            .hint("name a file for the token with --token-file FILE")
    })?;
    let folder = state.join(STATE);
    remove_stale(&folder);
    let file = folder.join(format!("{TOKEN_BEGIN}{}-{port}{TOKEN_END}", std::process::id()));
    let token = new_token();
    keep_token(&file, &token)?;
    Ok((token, file))
}

/// Removes the tokens of servers that were killed: files that are called as [`fresh_token`] calls
/// them, after processes that are no more.
fn remove_stale(folder: &Path) {
    // May be dropped: a folder that is not there or cannot be listed has none.
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_str().and_then(process_of).is_some_and(sys::is_gone) {
            // May be dropped: its token lets nobody in any more, whatever keeps it there.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The process that a token file is called after.
fn process_of(name: &str) -> Option<i32> {
    let (process, port) =
        name.strip_prefix(TOKEN_BEGIN)?.strip_suffix(TOKEN_END)?.split_once('-')?;
    // May be dropped: what is called otherwise is not ours.
    port.parse::<u16>().ok()?;
    process.parse().ok().filter(|process| *process > 0)
}

/// Writes a token where only the user reads it.
fn keep_token(file: &Path, token: &str) -> Result<()> {
    let failed = |error: io::Error| CliError::io(&format!("write {}", file.display()), &error);
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    // Files of this kind are made with mode 0600.
    let mut temporary = NamedTempFile::new_in(folder).map_err(failed)?;
    temporary.write_all(format!("{token}\n").as_bytes()).map_err(failed)?;
    temporary.as_file().sync_all().map_err(failed)?;
    temporary.persist(file).map_err(|error| failed(error.error))?;
    Ok(())
}

/// The token in a file that the user named; it is made where there is none.
fn token_in(file: &Path) -> Result<String> {
    use std::os::unix::fs::PermissionsExt as _;
    let failed = |error: io::Error| CliError::io(&format!("read {}", file.display()), &error);
    let found = match fs::metadata(file) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let token = new_token();
            keep_token(file, &token)?;
            return Ok(token);
        }
        Err(error) => return Err(failed(error)),
    };
    let unusable = |why: &str| {
        let message = format!("{} is no token: {why}", file.display());
        Err(CliError::user("invalid_token", message).hint("name a file that is not there yet"))
    };
    if !found.is_file() || found.len() > TOKEN_BYTES_MAX {
        return unusable("it is not a small regular file");
    }
    if found.permissions().mode() & 0o077 != 0 {
        return unusable("others may read it (chmod 600 FILE)");
    }
    let token = fs::read_to_string(file).map_err(failed)?.trim().to_string();
    if token.len() < TOKEN_BYTES_MIN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return unusable("it does not hold one word of at least 16 plain characters");
    }
    Ok(token)
}

/// This program, as the server asks it.
struct McpHost {
    global: Global,
    principal: Option<String>,
    /// Where a client started the program.
    started_in: Option<PathBuf>,
}

impl McpHost {
    /// A call on a capsule.
    fn app(&self, capsule: Option<&Path>) -> App {
        let capsule = capsule.map(Path::to_path_buf).or_else(|| self.global.capsule.clone());
        App::new(Global { capsule, ..self.global.clone() })
    }
}

impl From<CliError> for Problem {
    fn from(error: CliError) -> Problem {
        Problem { code: error.code.to_string(), message: error.message, hint: error.hint }
    }
}

impl Host for McpHost {
    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn capsule(&self, folder: Option<&Path>) -> Result<PathBuf, Problem> {
        let asked = self.global.capsule.as_deref().filter(|path| !path.as_os_str().is_empty());
        Ok(match (asked, folder) {
            (None, Some(folder)) => locate::seen_from(folder)?,
            (asked, _) => locate::capsule(asked)?,
        })
    }

    fn projects(&self, folder: Option<&Path>) -> Vec<PathBuf> {
        let started_in = || self.started_in.as_deref().filter(|here| shared_root(here).is_some());
        let Some(folder) = folder.or_else(started_in) else { return Vec::new() };
        let root = shared_root(folder).filter(|root| root != folder);
        [Some(folder.to_path_buf()), root].into_iter().flatten().collect()
    }

    fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    fn trust_min(&self) -> Option<Trust> {
        self.global.min_trust.map(Into::into)
    }

    fn branch(
        &self,
        capsule: &Path,
        profile: Option<&ClearanceProfile>,
    ) -> Result<Option<String>, Problem> {
        let app = self.app(Some(capsule));
        Ok(match profile {
            None => app.branch(capsule)?,
            Some(profile) => branch_for(&app, profile, capsule)?,
        })
    }

    fn write_options(&self) -> WriteOptions {
        self.app(None).write_options(None)
    }

    fn embedder(&self, model: Option<&Model>) -> Result<Arc<dyn Embedder>, Problem> {
        Ok(Arc::from(models::for_capsule(model)?))
    }

    fn agent(
        &self,
        capsule: &Path,
        location: &StoreLocation,
        agent: &str,
    ) -> Result<AgentMemory, Problem> {
        let clearance = Declared::find()?.effective(&self.app(Some(capsule)), agent)?;
        let workspace = WorkspaceMemory::in_capsule(location.clone(), moment::now);
        let memory = AgentMemory::in_capsule(agent, location, moment::now);
        Ok(memory.with_workspace(workspace.into()).with_clearance(clearance))
    }

    fn clock(&self, query: &str) -> Result<Clock, Problem> {
        Ok(find::clock(moment::now(), query)?)
    }

    fn now(&self) -> Micros {
        moment::now()
    }

    fn time(&self, text: &str) -> Result<Micros, Problem> {
        typed_time::parse_arg(text).map_err(|why| Problem::new("invalid_argument", why))
    }

    fn as_of(&self, text: &str) -> AsOf {
        typed_time::as_of(text)
    }

    fn shown_time(&self, at: Micros) -> String {
        moment::rfc3339(at)
    }

    fn problem(&self, error: Error) -> Problem {
        CliError::from(error).into()
    }

    fn failed(
        &self,
        capsule: Option<&Path>,
        tool: &str,
        asked: Option<&str>,
        problem: Problem,
    ) -> Problem {
        let (Some(principal), Some(capsule)) = (self.principal(), capsule) else { return problem };
        let app = self.app(Some(capsule));
        audit::of_call(&app, principal, tool, asked, &problem.code);
        if problem.code == "locked_by_writer" {
            return without_holder(&app, CliError::system("locked_by_writer", "")).into();
        }
        // How to act as the owner is not for a principal's model to hear.
        if problem.hint.as_deref().is_some_and(|hint| hint.contains("KAPSA_PRINCIPAL")) {
            return problem.hint(OWNERS_ALONE);
        }
        problem
    }
}
