//! `--keep`: the server stays, and what the instructions say can be done as it stands.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use super::stage::{World, now, sleep};

/// A lease is taken well before this.
const PATIENCE: Duration = Duration::from_secs(30);

/// A replica that the test started itself, and ends.
struct Replica(Child);

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The line of the instructions that begins like this.
#[track_caller]
fn line<'a>(said: &'a str, start: &str) -> &'a str {
    let found = said
        .lines()
        .find_map(|line| line.strip_prefix("  ").filter(|line| line.starts_with(start)));
    found.unwrap_or_else(|| panic!("no line with {start}: {said}"))
}

/// What `GET url` answers.
fn get(url: &str, header: &str) -> String {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\n{header}\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn keep_leaves_the_server_up_until_a_signal_and_its_instructions_work() {
    let world = World::new();
    let mut run = world.start(&["--claims", "60", "--keep", "--seed", "13"]);
    let said = || std::fs::read_to_string(world.path().join("stderr")).unwrap();
    while !(said().contains("This starts a replica again:\n  ") && said().ends_with('\n')) {
        assert!(!run.ended(), "{}", said());
        sleep(Duration::from_millis(50));
    }
    let stdout = std::fs::read_to_string(world.path().join("stdout")).unwrap();
    assert_eq!(stdout.lines().last(), Some("PASSED"), "{stdout}");
    let said = said();
    assert!(said.contains("demo: the replicas are stopped; "), "{said}");
    let kubeconfig = line(&said, "kubectl --kubeconfig ").split_whitespace().nth(2).unwrap();
    assert!(std::path::Path::new(kubeconfig).is_file(), "{said}");

    let curl: Vec<_> = line(&said, "curl ").split_whitespace().collect();
    let ["curl", "--noproxy", "'*'", "--header", file, url] = curl[..] else { panic!("{curl:?}") };
    let header = std::fs::read_to_string(file.strip_prefix('@').unwrap()).unwrap();
    let answer = get(url, header.trim_end());
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");

    let lease = "apis/coordination.k8s.io/v1/namespaces/default/leases/wq-demo-provisioner";
    let lease = url.replace("embedded/requests", lease);
    let has_leader = || get(&lease, header.trim_end()).contains(r#""holderIdentity":"replica-1""#);
    assert!(!has_leader(), "{}", get(&lease, header.trim_end()));
    let start = format!("exec {}", line(&said, "env -u "));
    let mut shell = Command::new("sh");
    shell.args(["-c", &start]).env("HTTPS_PROXY", "http://127.0.0.1:9").stderr(Stdio::null());
    let replica = Replica(shell.spawn().unwrap());
    let since = now();
    while !has_leader() && since.elapsed() < PATIENCE {
        sleep(Duration::from_millis(50));
    }
    assert!(has_leader(), "{}", get(&lease, header.trim_end()));
    drop(replica);

    run.signal(Signal::INT);
    let outcome = run.wait();
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    assert_eq!(
        outcome.stderr.lines().last().map(|line| line.starts_with("demo: cleaned up: ")),
        Some(true)
    );
    world.assert_empty();
}
