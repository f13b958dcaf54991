//! The door over pipes: JSON-RPC, a message a line, and nothing else on standard output.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt as _;
use rmcp::transport::io::stdio;

use crate::door::Door;
use crate::memory::Memory;

/// How long calls that were begun may go on once the client has gone.
const LAST_CALLS: Duration = Duration::from_secs(10);
/// Threads that answer calls; each waits for a disk or a lock, or searches.
pub(crate) const BLOCKING_THREADS_MAX: usize = 16;

/// Serves the process's standard input and output until the client closes them.
///
/// # Errors
/// When the runtime cannot begin, or the client broke off before it said who it is.
pub fn serve_pipes(memory: Arc<Memory>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .build()?;
    let served = runtime.block_on(async {
        match Door::new(memory).serve(stdio()).await {
            Ok(running) => running.waiting().await.map(|_| ()).map_err(io::Error::other),
            // Nobody came.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        }
    });
    // What was begun is ended, a write above all; nobody reads its answer any more.
    runtime.shutdown_timeout(LAST_CALLS);
    served
}
