//! Who may write? The operating system's lock on `<capsule>.lock` is the truth; the JSON in it only informs.

/// Who holds, or last held, the writer's lock. Written for people; never used to decide anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// Process id in the holder's own pid namespace; 0 when unreadable.
    pub pid: u32,
    /// Host name.
    pub host: String,
    /// User name.
    pub user: String,
    /// When the lock was taken, RFC 3339.
    pub started_at: String,
    /// Run the writer works for.
    pub run_id: Option<String>,
    /// Spec the writer works for.
    pub spec_id: Option<String>,
    /// Branch written to.
    pub branch: Option<String>,
}
