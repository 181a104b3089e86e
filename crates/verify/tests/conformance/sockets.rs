//! In process and over a socket the server says the same, to random calls as well.

use kube::Client;
use verify::conformance::Server;
use verify::fuzz::{self, Pair, Plan};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_calls_are_answered_over_the_socket_as_in_process() {
    let (socket, process) = (Server::bare_listening().await.unwrap(), Server::bare().unwrap());
    let pair = Pair::new(Client::clone(socket.client()), Client::clone(process.client()));
    let report = fuzz::run(&pair, &Plan::new(1, 800)).await;
    assert!(report.found.is_empty(), "{}", report.found.join("\n\n"));
    assert!(report.calls >= 800 && report.watches > 20 && report.events > 40, "{report:?}");
}
