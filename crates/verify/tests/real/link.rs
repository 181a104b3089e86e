//! A link to the API server that can be cut, stalled, slowed down and mended, each way by itself: a
//! TCP proxy with a port of its own. TLS goes through it unseen.

use std::net::SocketAddr;
use std::time::Duration;

use kube::Config;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

/// What becomes of bytes that go one way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flow {
    /// They arrive so much later.
    Passing(Duration),
    /// They are kept, and arrive when the link is mended, also if whoever sent them has given up
    /// since.
    Held,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct State {
    /// Connections that stand are closed, and new ones are closed at once.
    cut: bool,
    requests: Flow,
    replies: Flow,
}

const WHOLE: State = State {
    cut: false,
    requests: Flow::Passing(Duration::ZERO),
    replies: Flow::Passing(Duration::ZERO),
};

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
        let state = watch::Sender::new(WHOLE);
        let states = state.subscribe();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, server, states.clone()));
            }
        });
        Self { address, state }
    }

    /// `https://127.0.0.1:PORT`.
    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The same server, reached through the link.
    pub(crate) fn through(&self, mut cluster: Config) -> Config {
        cluster.cluster_url = self.url().parse().unwrap();
        cluster
    }

    /// Connections are closed and refused.
    pub(crate) fn cut(&self) {
        self.state.send_replace(State { cut: true, ..WHOLE });
    }

    /// Connections stand, and nothing comes through.
    pub(crate) fn stall(&self) {
        self.state.send_replace(State { cut: false, requests: Flow::Held, replies: Flow::Held });
    }

    /// The server hears nothing from now on; what it tells arrives as before.
    pub(crate) fn hold_requests(&self) {
        self.state.send_modify(|state| state.requests = Flow::Held);
    }

    /// The server hears what was said, and will hear more.
    pub(crate) fn pass_requests(&self) {
        self.state.send_modify(|state| state.requests = WHOLE.requests);
    }

    /// What the server tells is not heard from now on; what it is asked for arrives as before.
    pub(crate) fn hold_replies(&self) {
        self.state.send_modify(|state| state.replies = Flow::Held);
    }

    /// Everything arrives, later.
    pub(crate) fn delay(&self, requests: Duration, replies: Duration) {
        let (requests, replies) = (Flow::Passing(requests), Flow::Passing(replies));
        self.state.send_replace(State { cut: false, requests, replies });
    }

    pub(crate) fn mend(&self) {
        self.state.send_replace(WHOLE);
    }
}

/// One connection.
async fn carry(client: TcpStream, server: SocketAddr, mut states: watch::Receiver<State>) {
    if states.borrow().cut {
        return;
    }
    let Ok(server) = TcpStream::connect(server).await else { return };
    let (Ok(()), Ok(())) = (client.set_nodelay(true), server.set_nodelay(true)) else { return };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let requests = one_way(from_client, to_server, states.clone(), |state| state.requests);
    let replies = one_way(from_server, to_client, states.clone(), |state| state.replies);
    tokio::select! {
        _ = async { tokio::join!(requests, replies) } => {}
        _ = states.wait_for(|state| state.cut) => {}
    }
}

/// Takes in all there is, so that what was sent before its sender gave up is not lost with the
/// connection.
async fn one_way(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut states: watch::Receiver<State>,
    flow: fn(&State) -> Flow,
) {
    let (keep, mut kept) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    let reading = async move {
        loop {
            let mut bytes = vec![0; 16 * 1024];
            match from.read(&mut bytes).await {
                Ok(length @ 1..) => bytes.truncate(length),
                _ => return,
            }
            if keep.send((Instant::now(), bytes)).is_err() {
                return;
            }
        }
    };
    let writing = async move {
        while let Some((arrived, bytes)) = kept.recv().await {
            loop {
                let flow = flow(&states.borrow_and_update());
                let due = match flow {
                    Flow::Passing(delay) if arrived.elapsed() >= delay => break,
                    Flow::Passing(delay) => Some(arrived + delay),
                    Flow::Held => None,
                };
                tokio::select! {
                    changed = states.changed() => if changed.is_err() { return },
                    () = sleep_until(due.unwrap_or(arrived)), if due.is_some() => {}
                }
            }
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
        // The end of what one side says; the other may go on.
        let _ = to.shutdown().await;
    };
    tokio::join!(reading, writing);
}
