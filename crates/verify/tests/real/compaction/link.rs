//! A link to the API server that can be cut and mended: a TCP proxy with a port of its own. TLS goes through it unseen.

use std::net::SocketAddr;

use kube::Config;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// While it is cut, connections that stand are closed and new ones are closed at once. Lives as long as the runtime it was made in.
pub(crate) struct Link {
    address: SocketAddr,
    open: watch::Sender<bool>,
}

impl Link {
    pub(crate) async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let open = watch::Sender::new(true);
        let is_open = open.subscribe();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut is_open = is_open.clone();
                tokio::spawn(async move {
                    if !*is_open.borrow() {
                        return;
                    }
                    let Ok(mut server) = TcpStream::connect(server).await else { return };
                    tokio::select! {
                        _ = is_open.wait_for(|open| !*open) => {}
                        _ = copy_bidirectional(&mut client, &mut server) => {}
                    }
                });
            }
        });
        Self { address, open }
    }

    /// The same server, reached through the link.
    pub(crate) fn through(&self, mut cluster: Config) -> Config {
        cluster.cluster_url = format!("https://{}", self.address).parse().unwrap();
        cluster
    }

    pub(crate) fn cut(&self) {
        self.open.send_replace(false);
    }

    pub(crate) fn mend(&self) {
        self.open.send_replace(true);
    }
}
