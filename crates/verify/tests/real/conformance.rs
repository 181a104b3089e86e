//! The conformance cases on every server: the embedded one in process, the same over its socket,
//! and the real one.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use verify::conformance::{self, Server, Side};

/// The real server, with the cases' custom kinds, and no history that is older than they.
async fn real() -> Option<Server> {
    let plane = tokio::task::spawn_blocking(verify::real::shared).await.unwrap()?;
    let kubeconfig = Kubeconfig::from_yaml(&plane.kubeconfig("admin").unwrap()).unwrap();
    let mut config =
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    // The cases want the answers as they are, 504 included.
    config.default_retry = false;
    let mut nobody = config.clone();
    nobody.auth_info = Default::default();
    let server = Server::new(Client::try_from(config).unwrap())
        .with_stranger(Client::try_from(nobody).unwrap());
    server.prepare().await.unwrap();
    // What is old must be gone, as on a server that has run for a while.
    tokio::task::spawn_blocking(|| plane.compact()).await.unwrap().unwrap();
    Some(server)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::print_stdout, reason = "what the stage of the CI is there to say")]
async fn every_server_does_what_each_case_says() {
    let Some(real) = real().await else { return };
    let filter = std::env::var("CONFORMANCE_FILTER").unwrap_or_default();
    let (embedded, listening) = (Server::embedded().unwrap(), Server::listening().await.unwrap());
    let servers = [
        ("embedded", embedded, Side::Embedded),
        ("embedded, over its socket", listening, Side::Embedded),
        ("real", real, Side::Real),
    ];
    let (mut passed, mut failures) = (Vec::new(), Vec::new());
    for (name, server, side) in servers {
        let run = conformance::run(&server, side, &filter, 24).await;
        conformance::report(name, &run);
        assert!(run.ran > 0, "no case has a name that contains {filter:?}");
        passed.push(run.passed());
        failures.extend(run.failures);
    }
    let cases = conformance::cases();
    let differing = cases.iter().filter(|case| case.difference().is_some()).count();
    println!(
        "conformance: cases={} embedded={} listener={} real={} differences={differing}",
        cases.iter().filter(|case| case.full_name().contains(&filter)).count(),
        passed[0],
        passed[1],
        passed[2],
    );
    assert!(
        failures.is_empty(),
        "{}",
        conformance::verdict(&failures, "--test real conformance::")
    );
}
