//! The door over HTTP: Streamable HTTP at `/mcp`, for whoever has the token.
//!
//! Who may come in is decided before anything of a request is read: the token, then the `Host` and
//! the `Origin` (a page of another machine has no business here). Beyond this machine only with
//! TLS. A request that is slow, long or broken ends with an answer, and holds nobody up.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::ServerHandler;
use rmcp::model::ErrorCode;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::de::IgnoredAny;
use serde_json::json;
use subtle::ConstantTimeEq as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_util::sync::CancellationToken;

use crate::pipes::BLOCKING_THREADS_MAX;
use crate::strangers::{Stranger, Strangers};

/// The path that answers.
pub const PATH: &str = "/mcp";
/// Most connections at once of clients that have shown the token; further ones are refused.
pub const CONNECTIONS_MAX: usize = 256;
/// Largest request, in bytes.
pub const REQUEST_BYTES_MAX: usize = 4 << 20;
/// Origins of pages that this machine serves itself. They need the token like everybody else.
const LOCAL_ORIGINS: [&str; 6] = [
    "http://localhost:*",
    "http://127.0.0.1:*",
    "http://[::1]:*",
    "https://localhost:*",
    "https://127.0.0.1:*",
    "https://[::1]:*",
];
/// Headers that a request has once at most: of two, one would be checked and the other believed.
const SINGLE_HEADERS: [header::HeaderName; 3] =
    [header::HOST, header::AUTHORIZATION, header::ORIGIN];
/// How long a client may take for the head of a request, and for a TLS handshake.
const HEAD_WAIT: Duration = Duration::from_secs(10);
/// How long a client may take for the body of a request.
const BODY_WAIT: Duration = Duration::from_secs(30);
/// How long calls that were begun may go on once the server is to end.
const LAST_CALLS: Duration = Duration::from_secs(5);

type Service<H> = StreamableHttpService<H, LocalSessionManager>;
type Reply = Response<BoxBody<Bytes, Infallible>>;

/// A token that lets in whoever has it. Never shown.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Takes a token.
    #[must_use]
    pub fn new(token: impl Into<String>) -> Token {
        Token(token.into())
    }

    /// Whether a request carries it.
    fn admits<B>(&self, request: &Request<B>) -> bool {
        let given = request.headers().get(header::AUTHORIZATION);
        let given = given.and_then(|value| value.to_str().ok());
        let (scheme, token) = given.and_then(|value| value.split_once(' ')).unwrap_or_default();
        // In constant time: how long a refusal takes says nothing of the token.
        scheme.eq_ignore_ascii_case("bearer")
            && bool::from(token.trim().as_bytes().ct_eq(self.0.as_bytes()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// How the server listens.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where.
    pub address: SocketAddr,
    /// Who may come in; none lets everybody in, for tests alone.
    pub token: Option<Token>,
    /// Names by which clients may call this machine, besides those of the loopback.
    pub hosts: Vec<String>,
    /// Origins of pages that may call it, besides those of this machine.
    pub origins: Vec<String>,
    /// Files of a certificate chain and its key, in PEM.
    pub tls: Option<(PathBuf, PathBuf)>,
}

/// Serves until it is told to end by SIGINT or SIGTERM. `ready` learns the address once clients
/// may come.
///
/// # Errors
/// When the address cannot be listened at, or the files of TLS cannot be read.
pub fn serve<H: ServerHandler + Send + Sync + 'static>(
    make: impl Fn() -> H + Send + Sync + 'static,
    options: &Options,
    ready: impl FnOnce(SocketAddr) -> io::Result<()>,
) -> io::Result<()> {
    let tls = options.tls.as_ref().map(acceptor).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .build()?;
    let served = runtime.block_on(async {
        let listener = TcpListener::bind(options.address).await?;
        let end = CancellationToken::new();
        let service = service(make, options, &end);
        let ending = ending()?;
        ready(listener.local_addr()?)?;
        tokio::select! {
            () = accept(&listener, &service, options.token.as_ref(), tls.as_ref()) => {}
            () = ending => {}
        }
        end.cancel();
        Ok(())
    });
    runtime.shutdown_timeout(LAST_CALLS);
    served
}

fn service<H: ServerHandler + Send + Sync + 'static>(
    make: impl Fn() -> H + Send + Sync + 'static,
    options: &Options,
    end: &CancellationToken,
) -> Service<H> {
    let mut config = StreamableHttpServerConfig::default()
        .with_cancellation_token(end.child_token())
        .with_max_request_body_bytes(REQUEST_BYTES_MAX)
        .with_allowed_origins(
            LOCAL_ORIGINS.map(str::to_string).into_iter().chain(options.origins.iter().cloned()),
        )
        .enforce_origin_validation();
    config.allowed_hosts.extend(options.hosts.iter().cloned());
    StreamableHttpService::new(move || Ok(make()), Arc::default(), config)
}

/// Resolves when the process is asked to end.
fn ending() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

async fn accept<H: ServerHandler + Send + Sync + 'static>(
    listener: &TcpListener,
    service: &Service<H>,
    token: Option<&Token>,
    tls: Option<&TlsAcceptor>,
) {
    let strangers = Strangers::default();
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, or a client that left before it was let in: others may come.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let stranger = Arc::new(strangers.admit());
        let peer = Peer {
            token: token.cloned(),
            stranger: Arc::clone(&stranger),
            places: Arc::clone(&places),
            place: OnceLock::new(),
        };
        let (service, tls) = (service.clone(), tls.cloned());
        let served = async move {
            match tls {
                None => connection(stream, service, peer).await,
                Some(tls) => {
                    let shaken = tokio::time::timeout(HEAD_WAIT, tls.accept(stream)).await;
                    if let Ok(Ok(stream)) = shaken {
                        connection(stream, service, peer).await;
                    }
                }
            }
        };
        tokio::spawn(async move {
            tokio::select! {
                () = served => {}
                () = stranger.leave() => {}
            }
        });
    }
}

/// Whoever is at the other end of a connection.
struct Peer {
    token: Option<Token>,
    stranger: Arc<Stranger>,
    places: Arc<Semaphore>,
    /// Its place, once it has shown the token.
    place: OnceLock<OwnedSemaphorePermit>,
}

impl Peer {
    /// What a request is answered that may not come in.
    fn refusal<B>(&self, request: &Request<B>) -> Option<Reply> {
        let is_doubled = |name| request.headers().get_all(name).iter().nth(1).is_some();
        if SINGLE_HEADERS.iter().any(is_doubled) {
            return Some(plain(
                StatusCode::BAD_REQUEST,
                "Host, Authorization and Origin are given once\n",
            ));
        }
        if self.token.as_ref().is_some_and(|token| !token.admits(request)) {
            let mut refused = plain(StatusCode::UNAUTHORIZED, "a bearer token is needed\n");
            let headers = refused.headers_mut();
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            // Who has no token has no business with a connection that stays open.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            return Some(refused);
        }
        self.stranger.is_known();
        if self.place.get().is_none() {
            let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
                return Some(plain(StatusCode::SERVICE_UNAVAILABLE, "too many connections\n"));
            };
            // May be dropped: requests of one connection come one after the other.
            let _ = self.place.set(place);
        }
        None
    }
}

async fn connection<H: ServerHandler + Send + Sync + 'static>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    service: Service<H>,
    peer: Peer,
) {
    let peer = Arc::new(peer);
    let answer = service_fn(move |request: Request<Incoming>| {
        let (service, peer) = (service.clone(), Arc::clone(&peer));
        async move { Ok::<_, Infallible>(answered(request, &service, &peer).await) }
    });
    let mut builder = http1::Builder::new();
    // It holds for each request of a connection: who says nothing has no place for long.
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_WAIT);
    // May be dropped: a client that breaks off has been told all that it wanted to hear.
    let _ = builder.serve_connection(TokioIo::new(stream), answer).await;
}

async fn answered<H: ServerHandler + Send + Sync + 'static>(
    request: Request<Incoming>,
    service: &Service<H>,
    peer: &Peer,
) -> Reply {
    if let Some(refused) = peer.refusal(&request) {
        return refused;
    }
    if request.uri().authority().is_some() || is_forged_origin(&request) {
        return plain(StatusCode::BAD_REQUEST, "the request names this server in its Host alone\n");
    }
    if request.uri().path() != PATH {
        return plain(StatusCode::NOT_FOUND, "the memory answers at /mcp\n");
    }
    let (head, body) = request.into_parts();
    let body = Limited::new(body, REQUEST_BYTES_MAX).collect();
    let body = match tokio::time::timeout(BODY_WAIT, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            return closing(StatusCode::PAYLOAD_TOO_LARGE, "a request is 4 MiB at most\n");
        }
        Ok(Err(_)) => return closing(StatusCode::BAD_REQUEST, "the request broke off\n"),
        Err(_) => return closing(StatusCode::REQUEST_TIMEOUT, "the request took too long\n"),
    };
    if head.method == Method::POST
        && let Err(error) = serde_json::from_slice::<IgnoredAny>(&body)
    {
        return not_json(&error);
    }
    service.handle(Request::from_parts(head, Full::new(body))).await
}

/// Whether the origin has more than a scheme, a host and a port: what stands before an `@` is taken
/// for the host by whoever reads it in a hurry.
fn is_forged_origin<B>(request: &Request<B>) -> bool {
    request.headers().get(header::ORIGIN).is_some_and(|origin| origin.as_bytes().contains(&b'@'))
}

fn not_json(error: &serde_json::Error) -> Reply {
    let message = format!("the request is not JSON: {error}");
    let answer = json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": { "code": ErrorCode::PARSE_ERROR.0, "message": message },
    });
    let mut response = Response::new(Full::new(Bytes::from(answer.to_string())).boxed());
    *response.status_mut() = StatusCode::BAD_REQUEST;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// The same, of a request whose rest nobody reads.
fn closing(status: StatusCode, text: &'static str) -> Reply {
    let mut response = plain(status, text);
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

fn plain(status: StatusCode, text: &'static str) -> Reply {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *response.status_mut() = status;
    response
}

fn acceptor((certificate, key): &(PathBuf, PathBuf)) -> io::Result<TlsAcceptor> {
    let failed = |path: &PathBuf, error: &dyn fmt::Display| {
        io::Error::other(format!("cannot use {}: {error}", path.display()))
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| failed(certificate, &error))?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| failed(key, &error))?;
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|error| failed(key, &error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
