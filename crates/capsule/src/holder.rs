//! The holder of a capsule's lock: what the lock file says of it, and errors repeat; it decides
//! nothing.

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
    /// Pid namespace that the pid belongs to, where the system has such things.
    pub pid_namespace: Option<String>,
    /// When that process started, in a form that only this system understands: pids are used
    /// again.
    pub process_start: Option<String>,
    /// Run the writer works for.
    pub run_id: Option<String>,
    /// Spec the writer works for.
    pub spec_id: Option<String>,
    /// Branch written to.
    pub branch: Option<String>,
}
