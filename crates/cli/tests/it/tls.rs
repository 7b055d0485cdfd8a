//! Providers over TLS, as they all are: certificates, reuse of connections, HTTP/2.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
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
    let port = front.address.port();
    folder.write(
        "steadfast.toml",
        &format!("[endpoints.openai]\ndialect = \"openai\"\nurl = \"https://localhost:{port}\"\n{more}"),
    );
    let authority = folder.0.join("ca.pem");
    Server::start(folder, &[], &[("SSL_CERT_FILE", authority.to_str().unwrap())])
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
