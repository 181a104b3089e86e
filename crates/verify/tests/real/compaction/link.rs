//! A link to the API server that can be cut, stalled and mended: a TCP proxy with a port of its own. TLS goes through it unseen.

use std::net::SocketAddr;
use std::pin::pin;

use kube::Config;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What the link does with connections.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Whole,
    /// Those that stand are closed, and new ones are closed at once.
    Cut,
    /// They stand, and nothing comes through.
    Stalled,
}

/// Lives as long as the runtime it was made in.
pub(crate) struct Link {
    address: SocketAddr,
    state: watch::Sender<State>,
}

impl Link {
    pub(crate) async fn to(cluster: &Config) -> Self {
        let server = cluster.cluster_url.authority().unwrap().as_str().parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = watch::Sender::new(State::Whole);
        let states = state.subscribe();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, server, states.clone()));
            }
        });
        Self { address, state }
    }

    /// The same server, reached through the link.
    pub(crate) fn through(&self, mut cluster: Config) -> Config {
        cluster.cluster_url = format!("https://{}", self.address).parse().unwrap();
        cluster
    }

    pub(crate) fn cut(&self) {
        self.state.send_replace(State::Cut);
    }

    pub(crate) fn stall(&self) {
        self.state.send_replace(State::Stalled);
    }

    pub(crate) fn mend(&self) {
        self.state.send_replace(State::Whole);
    }
}

/// One connection.
async fn carry(mut client: TcpStream, server: SocketAddr, mut states: watch::Receiver<State>) {
    if *states.borrow() == State::Cut {
        return;
    }
    let Ok(mut server) = TcpStream::connect(server).await else { return };
    let mut carrying = pin!(copy_bidirectional(&mut client, &mut server));
    loop {
        let state = *states.borrow_and_update();
        tokio::select! {
            _ = &mut carrying, if state == State::Whole => return,
            changed = states.changed() => {
                if changed.is_err() || *states.borrow() == State::Cut {
                    return;
                }
            }
        }
    }
}
