//! The way to a provider: straight, or through the proxy that stands in between.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use steadfast_config::Proxy;
use tokio::net::TcpStream;
use tower_service::Service;

/// What no proxy can reach: it would look on its own machine.
const OWN_MACHINE: &str = "localhost,127.0.0.0/8,::1";

/// Makes connections; TLS is another's.
#[derive(Clone)]
pub(super) struct Way {
    tcp: HttpConnector,
    proxy: Option<Arc<Matcher>>,
}

impl Way {
    pub(super) fn new(connect: Duration, proxy: Option<&Proxy>) -> Self {
        let proxy = proxy.map(|proxy| {
            let except = proxy.except.iter().map(String::as_str).chain([OWN_MACHINE]).collect::<Vec<_>>().join(",");
            Arc::new(Matcher::builder().https(proxy.url.expose()).no(except).build())
        });
        Self { tcp: tcp(connect), proxy }
    }
}

/// Small requests must not wait for larger ones, and a provider that is gone is noticed.
fn tcp(connect: Duration) -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(Duration::from_secs(30)));
    tcp.set_connect_timeout(Some(connect));
    tcp
}

type Connecting<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

impl Service<Uri> for Way {
    type Response = TokioIo<TcpStream>;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Connecting<Self::Response, Self::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.tcp.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, provider: Uri) -> Self::Future {
        let Some(found) = self.proxy.as_ref().and_then(|proxy| proxy.intercept(&provider)) else {
            let connecting = self.tcp.call(provider);
            return Box::pin(async { Ok(connecting.await?) });
        };
        let mut tunnel = Tunnel::new(found.uri().clone(), self.tcp.clone());
        if let Some(password) = found.basic_auth() {
            tunnel = tunnel.with_auth(password.clone());
        }
        let connecting = tunnel.call(provider);
        Box::pin(async { Ok(connecting.await?) })
    }
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The proxy's address may hold a password.
        f.debug_struct("Way").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_written_to_a_provider_goes_at_once() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let stream = Way::new(Duration::from_secs(20), None).call(address).await.unwrap();
        assert!(stream.inner().nodelay().unwrap());
    }

    #[test]
    fn only_providers_elsewhere_and_over_https_are_reached_through_a_proxy() {
        let except = vec!["internal.example".to_owned(), "10.0.0.0/8".to_owned()];
        let proxy = Proxy { url: steadfast_config::Secret::new("http://proxy.example:3128"), except };
        let way = Way::new(Duration::from_secs(20), Some(&proxy));
        let passes = |address: &str| way.proxy.as_ref().unwrap().intercept(&address.parse().unwrap()).is_some();
        assert!(passes("https://api.openai.com/v1") && passes("https://192.0.2.7:8443"));
        for straight in [
            "http://api.openai.com/v1",
            "https://localhost:8443",
            "https://127.0.0.1:8443",
            "https://[::1]:8443",
            "https://internal.example",
            "https://models.internal.example",
            "https://10.1.2.3",
        ] {
            assert!(!passes(straight), "{straight}");
        }
    }
}
