//! The door over pipes: JSON-RPC, a message a line, and nothing else on standard output.

use std::io;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rmcp::ServiceExt as _;
use tokio::io::{stdin, stdout};

use crate::door::Door;
use crate::lines::{Failure, Lines};
use crate::memory::Memory;

/// How long calls that were begun may go on once the client has gone.
const LAST_CALLS: Duration = Duration::from_secs(10);
/// Threads that answer calls; each waits for a disk or a lock, or searches.
pub(crate) const BLOCKING_THREADS_MAX: usize = 16;

/// Serves the process's standard input and output until the client closes them.
///
/// # Errors
/// When the runtime cannot begin, the client broke off before it said who it is, or its pipe
/// failed.
pub fn serve_pipes(memory: Arc<Memory>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .build()?;
    let failure = Failure::default();
    let lines = Lines::new(stdin(), stdout(), Arc::clone(&failure));
    let served = runtime.block_on(async {
        match Door::new(memory).serve(lines).await {
            Ok(running) => running.waiting().await.map(|_| ()).map_err(io::Error::other),
            // Nobody came.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        }
    });
    // What was begun is ended, a write above all; nobody reads its answer any more.
    runtime.shutdown_timeout(LAST_CALLS);
    let failed = failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    failed.map_or(served, Err)
}
