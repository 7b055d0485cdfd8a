//! Providers over TLS, as they all are: certificates, reuse of connections, HTTP/2.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::Folder;
use super::serve::{Provider, Server};

/// A door with TLS in front of the fake provider.
struct Front {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Front {
    /// Opens it with a certificate for `name`; writes the authority that signed it to `ca.pem`.
    fn open(provider: &Provider, folder: &Folder, name: &str, speaks: &[u8]) -> Self {
        let acceptor = TlsAcceptor::from(Arc::new(server_config(folder, name, speaks)));
        let behind = provider.fake.addr();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        let listener = provider.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        provider.spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(mut outside) = acceptor.accept(socket).await else { return };
                    let mut inside = TcpStream::connect(behind).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
                });
            }
        });
        Self { address, connections }
    }
}

fn server_config(folder: &Folder, name: &str, speaks: &[u8]) -> ServerConfig {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    folder.write("ca.pem", &authority.pem());
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![speaks.to_vec()];
    config
}

fn server(folder: &Folder, front: &Front, more: &str) -> Server {
    let url = format!("https://localhost:{}", front.address.port());
    server_to(folder, &url, more, &[])
}

fn server_to(folder: &Folder, url: &str, more: &str, environment: &[(&str, &str)]) -> Server {
    folder.write("steadfast.toml", &format!("[endpoints.openai]\ndialect = \"openai\"\nurl = \"{url}\"\n{more}"));
    let authority = folder.0.join("ca.pem");
    let environment: Vec<_> =
        environment.iter().copied().chain([("SSL_CERT_FILE", authority.to_str().unwrap())]).collect();
    Server::start(folder, &[], &environment)
}

/// A proxy that tunnels every name to the same place, where the password is right.
fn proxy(provider: &Provider, to: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = provider.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&asked);
    provider.spawn(async move {
        while let Ok((mut outside, _)) = listener.accept().await {
            let heard = Arc::clone(&heard);
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(outside.read_u8().await.unwrap());
                }
                let head = String::from_utf8(head).unwrap();
                heard.lock().unwrap().push(head.lines().next().unwrap().to_owned());
                // `me:hunter22`
                if !head.to_lowercase().contains("proxy-authorization: basic bwu6ahvudgvymji=") {
                    let _ = outside.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").await;
                    return;
                }
                let mut inside = TcpStream::connect(to).await.unwrap();
                outside.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
            });
        }
    });
    (address, asked)
}

#[test]
fn a_provider_behind_a_proxy_is_reached_and_its_certificate_is_still_its_own() {
    for (speaks, more) in [(&b"http/1.1"[..], ""), (b"h2", "http2 = true\n")] {
        let (folder, provider) = (Folder::new(), Provider::start());
        // A name that only the proxy knows.
        let front = Front::open(&provider, &folder, "provider.test", speaks);
        let (proxy, asked) = proxy(&provider, front.address);
        let variable = format!("http://me:hunter22@{proxy}");
        let server = server_to(&folder, "https://provider.test", more, &[("HTTPS_PROXY", &variable)]);
        let answer = server.chat("");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert_eq!(*asked.lock().unwrap(), ["CONNECT provider.test:443 HTTP/1.1"]);
    }
}

#[test]
fn a_proxy_that_wants_a_password_is_said_and_no_password_is() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let front = Front::open(&provider, &folder, "provider.test", b"http/1.1");
    let (proxy, _) = proxy(&provider, front.address);
    let variable = format!("http://me:wrong-word@{proxy}");
    let server = server_to(&folder, "https://provider.test", "", &[("https_proxy", &variable)]);
    let answer = server.chat("");
    assert!(answer.contains("proxy authorization required") && !answer.contains("wrong-word"), "{answer}");
    assert_eq!(provider.fake.requests().len(), 0);
}

#[test]
fn a_connection_is_made_once_and_used_again() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let front = Front::open(&provider, &folder, "localhost", b"http/1.1");
    let server = server(&folder, &front, "");
    for _ in 0..12 {
        let answer = server.chat("");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    let threads = std::thread::available_parallelism().unwrap().get();
    let connections = front.connections.load(Ordering::Relaxed);
    assert!((1..=threads).contains(&connections), "{connections} connections of {threads} threads");
}

#[test]
fn http2_is_agreed_upon_within_tls() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let front = Front::open(&provider, &folder, "localhost", b"h2");
    let server = server(&folder, &front, "http2 = true\n");
    let answer = server.chat("");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn a_certificate_of_another_name_is_not_trusted_and_said_so() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let front = Front::open(&provider, &folder, "elsewhere.example", b"http/1.1");
    let server = server(&folder, &front, "");
    let answer = server.chat("");
    assert!(!answer.starts_with("HTTP/1.1 200 ") && answer.contains("certificate"), "{answer}");
    assert_eq!(provider.fake.requests().len(), 0, "nothing was sent, the key least of all");
}
