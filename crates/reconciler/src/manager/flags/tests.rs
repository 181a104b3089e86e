//! What the flags mean, what they refuse, and which address serves what.

use std::fs;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::*;

fn read(arguments: &[&str]) -> Result<Flags, clap::Error> {
    Flags::try_parse_from([&["program"], arguments].concat())
}

#[test]
fn the_defaults_are_those_of_kubernetes_components() {
    let flags = read(&[]).unwrap();
    assert!(flags.leader_elect);
    assert_eq!(flags.metrics_bind_address, BindAddress(None));
    assert_eq!(flags.health_probe_bind_address.0.unwrap().to_string(), "[::]:8081");
    let lease = flags.lease("shop", "program").unwrap();
    assert_eq!((lease.namespace(), lease.name()), ("shop", "program"));
    let seconds = Duration::from_secs;
    assert_eq!(
        [lease.lease_duration(), lease.stop_margin(), lease.retry_period()],
        [seconds(15), seconds(5), seconds(2)]
    );
    assert_eq!(lease.warnings(), [], "a start with the defaults warns of nothing");
    for (argument, leads) in
        [("--leader-elect", true), ("--leader-elect=true", true), ("--leader-elect=false", false)]
    {
        assert_eq!(read(&[argument]).unwrap().leader_elect, leads, "{argument}");
    }
}

#[test]
fn short_leases_go_together_without_more_flags() {
    let times = ["5s", "4s", "1s"];
    let flags = ["lease-duration", "renew-deadline", "retry-period"];
    let flags: Vec<String> =
        flags.iter().zip(times).map(|(f, t)| format!("--leader-elect-{f}={t}")).collect();
    let flags = read(&flags.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    let lease = flags.lease("shop", "program").unwrap();
    assert_eq!(lease.stop_margin(), Duration::from_secs(1));
    assert!(lease.attempts_per_hold() >= 3);
}

#[test]
fn what_cannot_be_is_told_with_flag_value_and_remedy() {
    for (arguments, words) in [
        (
            &["--leader-elect-lease-duration=15"][..],
            &["--leader-elect-lease-duration", "'15'", "1m30s"][..],
        ),
        (
            &["--metrics-bind-address=here"],
            &["--metrics-bind-address", "'here'", ":8080", "0 turns"],
        ),
        (&["--health-probe-bind-address=:99999"], &["--health-probe-bind-address", "':99999'"]),
        (&["--leader-elect=perhaps"], &["--leader-elect", "perhaps", "true, false"]),
        (
            &["--leader-elect-renew-deadline=20s"],
            &["--leader-elect-renew-deadline=20s must be shorter", "lease-duration=15s", "lower"],
        ),
        (
            &["--leader-elect-retry-period=10s"],
            &["--leader-elect-retry-period=10s must be shorter", "renew-deadline=10s"],
        ),
        (
            &[
                "--leader-elect-lease-duration=1500ms",
                "--leader-elect-renew-deadline=1s",
                "--leader-elect-retry-period=100ms",
            ],
            &["--leader-elect-lease-duration", "1.5s", "whole"],
        ),
        (&["--leader-elect-resource-name=My_Lease"], &["--leader-elect-resource-name", "My_Lease"]),
        (&["--leader-elect-retry-period=9s"], &["--leader-elect-retry-period", "9s", "shorten"]),
    ] {
        let error = match read(arguments) {
            Err(error) => error.to_string(),
            Ok(flags) => flags.lease("shop", "program").unwrap_err().to_string(),
        };
        for word in words {
            assert!(error.contains(word), "{word} is not in: {error}");
        }
    }
}

#[test]
fn help_shows_no_code_and_the_text_of_the_program_that_has_them_stays() {
    /// Sells shoes.
    #[derive(Parser)]
    struct Program {
        /// How many
        #[arg(long)]
        shoes: u32,
        #[command(flatten)]
        manager: Flags,
    }
    use clap::CommandFactory as _;
    let help = Flags::command().render_long_help().to_string();
    assert!(help.contains("--leader-elect-lease-duration") && !help.contains("```"), "{help}");
    Program::command().debug_assert();
    assert_eq!(Program::command().get_about().unwrap().to_string(), "Sells shoes");
    let program = Program::parse_from(["program", "--shoes", "3", "--leader-elect=false"]);
    assert_eq!((program.shoes, program.manager.leader_elect), (3, false));
}

async fn is_there(address: SocketAddr, path: &str) -> bool {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.starts_with("HTTP/1.1 200 ")
}

#[tokio::test]
async fn two_addresses_serve_metrics_and_probes_apart_and_zero_turns_one_off() {
    for (metrics, probes) in [(true, true), (true, false), (false, true)] {
        let address = |on| if on { "127.0.0.1:0" } else { "0" };
        let metrics_flag = format!("--metrics-bind-address={}", address(metrics));
        let probes_flag = format!("--health-probe-bind-address={}", address(probes));
        let admin = read(&[&metrics_flag, &probes_flag]).unwrap().admin().unwrap().unwrap();
        let addresses = admin.addresses();
        let manager = Manager::builder().admin(admin).build().unwrap();
        let stop = CancellationToken::new();
        let running = tokio::spawn(manager.run(stop.clone().cancelled_owned()));
        let of_metrics = addresses.first().filter(|_| metrics);
        let of_probes = addresses.last().filter(|_| probes);
        for (address, is_metrics) in [(of_metrics, true), (of_probes, false)] {
            let Some(address) = address else { continue };
            for path in ["/metrics", "/debug"] {
                assert_eq!(is_there(*address, path).await, is_metrics, "{path}");
            }
            for path in ["/livez", "/healthz", "/readyz"] {
                assert_eq!(is_there(*address, path).await, !is_metrics, "{path}");
            }
        }
        stop.cancel();
        running.await.unwrap().unwrap();
    }
    let off = ["--metrics-bind-address=0", "--health-probe-bind-address="];
    assert!(read(&off).unwrap().admin().unwrap().is_none());
}

#[tokio::test]
async fn a_kubeconfig_is_used_with_its_context_and_named_if_it_cannot_be() {
    let folder = std::env::temp_dir().join(format!("reconciler-flags-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("kubeconfig");
    let text = "
        {apiVersion: v1, kind: Config, current-context: one, users: [{name: me, user: {}}],
        clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}],
        contexts: [{name: one, context: {cluster: c, user: me, namespace: first}},
        {name: two, context: {cluster: c, user: me, namespace: second}}]}";
    fs::write(&file, text).unwrap();
    let kubeconfig = format!("--kubeconfig={}", file.display());
    let none = "--health-probe-bind-address=0";
    for (context, namespace) in [("one", "first"), ("two", "second")] {
        let flags = read(&[&kubeconfig, none, "--context", context]).unwrap();
        let (_, client) = flags.connect("program").await.unwrap();
        assert_eq!(client.default_namespace(), namespace);
    }
    let error = read(&[&kubeconfig, none, "--context=three"]).unwrap().connect("program").await;
    let error = error.map(drop).unwrap_err().to_string();
    assert!(error.contains("three") && error.contains("--context"), "{error}");
    fs::remove_dir_all(&folder).unwrap();
    let error = read(&[&kubeconfig, none]).unwrap().connect("program").await.map(drop);
    let error = error.unwrap_err();
    assert!(error.to_string().contains(&file.display().to_string()), "{error}");
}
