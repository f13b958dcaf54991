//! What setup would write for a client: every file is read and edited in memory first. Writes
//! nothing.

use std::path::{Path, PathBuf};

use crate::clients::{Client, Place, Places, Scope};
use crate::content::Content;
use crate::error::Error;
use crate::hooks::hooks_of;
use crate::read::{expect_writable, read};
use crate::server::Server;

/// The variable that names the capsule of a call.
const CAPSULE_VARIABLE: &str = "KAPSA_CAPSULE";
/// Where a project keeps its capsule.
const WORKSPACE: &str = ".kapsa/workspace.kapsa";

/// How files call the program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its absolute path.
    pub path: String,
    /// What files call it that other machines share: its name, where that finds it.
    pub shared: String,
}

impl Program {
    fn in_scope(&self, scope: Scope) -> &str {
        match scope {
            Scope::Global => &self.path,
            Scope::Project => &self.shared,
        }
    }
}

/// What one file would become.
#[derive(Clone, Debug)]
pub struct FilePlan {
    /// The file, as the client knows it.
    pub path: PathBuf,
    /// The file that is written: where the path leads to.
    pub target: PathBuf,
    /// The client.
    pub client: &'static str,
    /// Whose file it is.
    pub scope: Scope,
    /// What it shall hold.
    pub content: Content,
    /// What it holds; none where there is no file.
    pub before: Option<String>,
    /// What it would hold.
    pub after: String,
    /// The project that it is a file of.
    pub(crate) project: Option<PathBuf>,
    pub(crate) mode: Option<u32>,
    pub(crate) program: String,
}

impl FilePlan {
    /// Whether anything would be written.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.before.as_deref() != Some(self.after.as_str())
    }
}

/// What setup would write for a client; nothing where it has no file of this scope.
///
/// # Errors
///
/// [`Error`]: a file cannot be read, edited or written to. Nothing was written then.
pub fn plan(
    client: &'static Client,
    scope: Scope,
    places: &Places,
    program: &Program,
    force: bool,
) -> Result<Vec<FilePlan>, Error> {
    let project = (scope == Scope::Project).then_some(places.project.as_path());
    contents(client, scope, places, program)
        .into_iter()
        .map(|(path, content)| {
            let found = read(&path, project)?;
            let text = found.text.as_deref().unwrap_or_default();
            let edited = content
                .add(text, &program.path, force)
                .map_err(|error| Error::edit(&path, error))?;
            let plan = FilePlan {
                target: found.target.clone(),
                client: client.name,
                scope,
                content,
                before: found.text.clone(),
                after: edited.text,
                project: project.map(Path::to_path_buf),
                mode: found.mode,
                program: program.path.clone(),
                path,
            };
            if plan.is_change() {
                expect_writable(&plan.path, &found)?;
            }
            Ok(plan)
        })
        .collect()
}

/// The files of a client and what each shall hold.
pub(crate) fn contents(
    client: &Client,
    scope: Scope,
    places: &Places,
    program: &Program,
) -> Vec<(PathBuf, Content)> {
    let Some(files) = client.files(scope) else { return Vec::new() };
    let called = program.in_scope(scope);
    let mut server = Server::new(called);
    if let Some(memory) = memory_of(client, scope, places) {
        server.env.push((CAPSULE_VARIABLE.to_string(), memory));
    }
    let server = Content::Server { form: client.form, server };
    let mut contents = vec![(chosen(files.server, places), server)];
    if let Some(place) = files.hooks {
        contents.push((places.path(place), Content::Hooks(hooks_of(called, client.name))));
    }
    if let Some(place) = files.passage {
        contents.push((places.path(place), Content::Passage));
    }
    contents
}

/// The capsule to name in an entry: a client that starts servers anywhere would not find it.
fn memory_of(client: &Client, scope: Scope, places: &Places) -> Option<String> {
    match scope {
        Scope::Project => client.workspace.map(|folder| format!("{folder}/{WORKSPACE}")),
        Scope::Global if client.elsewhere => {
            places.home.join(WORKSPACE).to_str().map(ToString::to_string)
        }
        Scope::Global => None,
    }
}

/// The first of several files that exists, else the first.
pub(crate) fn chosen(of: &[Place], places: &Places) -> PathBuf {
    let paths: Vec<PathBuf> = of.iter().map(|place| places.path(*place)).collect();
    let found = paths.iter().find(|path| is_there(path)).or(paths.first());
    found.cloned().unwrap_or_default()
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
