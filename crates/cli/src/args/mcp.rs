//! Arguments of `mcp`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Serve Streamable HTTP at this address instead of standard input and output; port 0 takes a
    /// free one
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) http: Option<SocketAddr>,
    /// Take the bearer token from this file, or make one there [default: a new one each time, below
    /// the folder of the user's state]
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// Allow another address than one of this machine; needs --tls-cert and --tls-key
    #[arg(long, requires_all = ["http", "tls_cert", "tls_key"])]
    pub(crate) allow_remote: bool,
    /// Certificate chain in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Key of the certificate in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Name by which clients may call this machine, besides localhost; may be repeated
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) host: Vec<String>,
    /// Origin of a web page that may call, such as https://app.example.com:443; may be repeated
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub(crate) origin: Vec<String>,
}
