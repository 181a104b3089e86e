//! What must be right before anything is started or written: the kubeconfig, the server, the class,
//! the port, the root.

use std::fs;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::storage::v1::StorageClass;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use reconciler::AdminServer;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::directory::{Owner, Root};
use crate::input::InputError;
use crate::parameters::Parameters;

/// How long the server may take to answer at the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// All attempts together.
    pub(crate) whole: Duration,
    /// One of them.
    pub(crate) each: Duration,
}

/// Between two attempts to reach the server.
const PAUSE: Duration = Duration::from_millis(250);
/// Below this much room a file system counts as full.
const ROOM_MIN_BYTES: u64 = 1024 * 1024;

/// Reads how to reach the server. No request is made.
///
/// # Errors
/// When there is no usable configuration.
pub(crate) async fn kube_config(
    kubeconfig: Option<&Path>,
    context: Option<&str>,
    api_timeout: Duration,
) -> Result<kube::Config, InputError> {
    let mut config = match kubeconfig {
        Some(path) => {
            let thing = format!("--kubeconfig {}", path.display());
            let remedy = "give a kubeconfig file that kubectl can use";
            let read = Kubeconfig::read_from(path)
                .map_err(|error| InputError::new(&*thing, chain(&error), remedy))?;
            let options = KubeConfigOptions {
                context: context.map(str::to_owned),
                ..KubeConfigOptions::default()
            };
            kube::Config::from_custom_kubeconfig(read, &options)
                .await
                .map_err(|error| InputError::new(&*thing, chain(&error), remedy))?
        }
        None => kube::Config::incluster().map_err(|error| {
            InputError::new(
                "configuration inside the cluster",
                chain(&error),
                "outside of a cluster give --kubeconfig FILE",
            )
        })?,
    };
    direct(&mut config, |name| std::env::var(name).ok())?;
    config.connect_timeout = Some(api_timeout);
    // Our queues try again, and they count and tell it; a retry below them would be hidden from
    // both.
    config.default_retry = false;
    Ok(config)
}

/// Lets go of a proxy where `NO_PROXY` excepts the server, and refuses any other: the client is
/// built without support for proxies.
///
/// `variable` reads the environment. Of `NO_PROXY`'s forms it knows `*`, hosts, addresses and
/// domains, not address ranges.
fn direct(
    config: &mut kube::Config,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(), InputError> {
    let Some(proxy) = config.proxy_url.take() else { return Ok(()) };
    let set = |name: &&str| variable(name).is_some_and(|value| !value.is_empty());
    let is_it = |name: &&str| {
        variable(name).is_some_and(|value| value.parse().ok().as_ref() == Some(&proxy))
    };
    let from = ["HTTPS_PROXY", "https_proxy"].into_iter().find(set).filter(is_it);
    let host =
        config.cluster_url.host().unwrap_or_default().trim_matches(['[', ']']).to_ascii_lowercase();
    let no_proxy =
        ["NO_PROXY", "no_proxy"].into_iter().find(set).and_then(&variable).unwrap_or_default();
    if from.is_some() && is_excepted(&no_proxy, &host) {
        return Ok(());
    }
    let (thing, remedy) = match from {
        Some(name) => (name, format!("unset {name}, or add {host} to NO_PROXY")),
        None => (
            "proxy-url in the kubeconfig",
            "remove it, and give an address that is reached directly".to_owned(),
        ),
    };
    let thing = format!("{thing} {}", shown_url(&proxy));
    Err(InputError::new(thing, "proxies to the API server are not supported", remedy))
}

/// Whether a list as in `NO_PROXY` names this host, or a domain it is in.
fn is_excepted(no_proxy: &str, host: &str) -> bool {
    no_proxy.split(',').map(|entry| entry.trim().to_ascii_lowercase()).any(|entry| {
        let entry = entry.trim_start_matches("*.").trim_start_matches('.').trim_matches(['[', ']']);
        let inside =
            host.strip_suffix(entry).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        !entry.is_empty() && (entry == "*" || inside)
    })
}

/// The address as it may be shown: a user and a password or token in front of the host stay out.
pub(crate) fn shown_url(url: &http::Uri) -> String {
    let host = url.authority().map_or("", |authority| {
        let whole = authority.as_str();
        whole.rsplit_once('@').map_or(whole, |(_, host)| host)
    });
    format!("{}://{host}", url.scheme_str().unwrap_or("http"))
}

/// Asks the server for its version, so that a wrong address or credential is found now.
///
/// # Errors
/// When it does not answer in time, or refuses us.
pub(crate) async fn server(
    client: &Client,
    url: &str,
    patience: Patience,
) -> Result<(), InputError> {
    let thing = format!("API server {url}");
    ask(patience, || client.apiserver_version())
        .await
        .map(drop)
        .or_else(|error| match error {
            // It knows us: what we may do beside that is another question.
            Unanswered::Refused(status) if status.code == 403 => Ok(()),
            other => Err(other),
        })
        .map_err(|error| match error {
            Unanswered::Refused(status) => InputError::new(
                thing,
                status.to_string(),
                "check the credentials in the kubeconfig",
            ),
            Unanswered::Silent(why) => InputError::new(
                thing,
                format!("not reached within {:?}: {why}", patience.whole),
                "check the address and that the server runs",
            ),
        })
}

/// Looks at the StorageClass: there, ours, and with parameters that can be met.
///
/// # Errors
/// When it is not.
pub(crate) async fn class(
    client: &Client,
    name: &str,
    provisioner: &str,
    patience: Patience,
) -> Result<(), InputError> {
    let thing = format!("--storage-class {name}");
    let classes: Api<StorageClass> = Api::all(client.clone());
    let class = match ask(patience, || classes.get(name)).await {
        // It may come to be granted, and the class is watched besides: no reason not to start.
        Err(Unanswered::Refused(status)) if status.code == 403 => return Ok(()),
        other => other,
    };
    let class = class.map_err(|error| match error {
        Unanswered::Refused(status) if status.code == 404 => InputError::new(
            &*thing,
            "there is no such StorageClass",
            format!("create it with provisioner {provisioner:?}"),
        ),
        Unanswered::Refused(status) => {
            InputError::new(&*thing, status.to_string(), "check the credentials in the kubeconfig")
        }
        Unanswered::Silent(why) => InputError::new(
            &*thing,
            format!("not read within {:?}: {why}", patience.whole),
            "check the API server",
        ),
    })?;
    if class.provisioner != provisioner {
        return Err(InputError::new(
            &*thing,
            format!("its provisioner is {:?}, not {provisioner:?}", class.provisioner),
            "name a class of ours, or give --provisioner-name",
        ));
    }
    Parameters::parse(class.parameters.as_ref()).map(drop).map_err(|error| {
        InputError::new(&*thing, error, "make the class anew with right parameters")
    })
}

/// Takes the port for metrics.
///
/// # Errors
/// When it is in use or not ours to take.
pub(crate) fn port(address: SocketAddr) -> Result<AdminServer, InputError> {
    AdminServer::bind(address).map_err(|error| {
        InputError::new(
            format!("--metrics-addr {address}"),
            error.error,
            "choose an address of this host and a free port",
        )
    })
}

/// Looks at the root: a folder or one that can be made, ours, writable, with room. Leaves nothing
/// behind.
///
/// # Errors
/// When it is not.
pub(crate) fn root(root: &Root, owner: &Owner) -> Result<(), InputError> {
    let thing = format!("--root {}", root.path().display());
    let existing = existing_part(root.path());
    let metadata = fs::metadata(&existing)
        .map_err(|error| InputError::new(&*thing, error, "give another folder"))?;
    if !metadata.is_dir() {
        let wrong = format!("{} is not a folder", existing.display());
        return Err(InputError::new(&*thing, wrong, "give a folder, or move that away"));
    }
    root.check_owner(owner).map_err(|error| InputError::new(&*thing, error, ""))?;
    if existing == root.path() {
        root.check_mounts().map_err(|error| {
            InputError::new(&*thing, error, "all below the root must be on the root's file system")
        })?;
    }
    let room = rustix::fs::statvfs(&existing).map_err(|error| {
        InputError::new(&*thing, io::Error::from(error), "give a folder on a local file system")
    })?;
    if is_full(&room) {
        return Err(InputError::new(
            &*thing,
            "the file system is full",
            "make room on it, or give a folder on another",
        ));
    }
    let probe = existing.join(format!(".hostpath-provisioner-probe-{:016x}", fastrand::u64(..)));
    fs::create_dir(&probe).and_then(|()| fs::remove_dir(&probe)).map_err(|error| {
        let (wrong, remedy) = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => (
                "the file system is full".to_owned(),
                "make room on it, or give a folder on another",
            ),
            _ => (
                format!("cannot write in {}: {error}", existing.display()),
                "give a folder this account may write in",
            ),
        };
        InputError::new(&*thing, wrong, remedy)
    })
}

/// Whether there is no room for another directory. File systems without a fixed number of files or
/// of blocks say 0 of 0.
fn is_full(room: &rustix::fs::StatVfs) -> bool {
    let no_files = room.f_files > 0 && room.f_favail == 0;
    let no_room = room.f_blocks > 0 && room.f_bavail.saturating_mul(room.f_frsize) < ROOM_MIN_BYTES;
    no_files || no_room
}

/// The longest part of a path that exists.
fn existing_part(path: &Path) -> PathBuf {
    path.ancestors()
        .find(|part| fs::symlink_metadata(part).is_ok_and(|_| true) || is_hidden(part))
        .unwrap_or(path)
        .to_path_buf()
}

/// Whether a path may exist, but cannot be looked at: below a file, or a folder that is closed to
/// us.
fn is_hidden(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

enum Unanswered {
    /// The server said no.
    Refused(Box<kube::core::Status>),
    /// No answer, or only ones that pass.
    Silent(String),
}

/// Asks until there is an answer that will not change by itself. One request that is never answered
/// does not use up the patience.
async fn ask<T, F>(patience: Patience, mut request: impl FnMut() -> F) -> Result<T, Unanswered>
where
    F: Future<Output = Result<T, kube::Error>>,
{
    let now = Instant::now();
    let deadline = now.checked_add(patience.whole).unwrap_or(now);
    let mut last = "no answer".to_owned();
    loop {
        match timeout_at(deadline, timeout(patience.each, request())).await {
            Ok(Ok(Ok(answer))) => return Ok(answer),
            Ok(Ok(Err(kube::Error::Api(status)))) if !matches!(status.code, 409 | 429 | 500..) => {
                return Err(Unanswered::Refused(status));
            }
            Ok(Ok(Err(error))) => last = chain(&error),
            Ok(Err(_)) => last = format!("no answer within {:?}", patience.each),
            Err(_) => return Err(Unanswered::Silent(last)),
        }
        if timeout_at(deadline, sleep(PAUSE)).await.is_err() {
            return Err(Unanswered::Silent(last));
        }
    }
}

/// An error with what caused it: of each the first line. Further lines of a YAML error quote the
/// file, a token of it maybe.
fn chain(error: &dyn std::error::Error) -> String {
    let first_line = |error: &dyn std::error::Error| {
        error.to_string().lines().next().unwrap_or_default().to_owned()
    };
    let mut text = first_line(error);
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = first_line(cause);
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::fence::Term;

    fn owner(class: &str) -> Owner {
        Owner { provisioner: "p".into(), storage_class: class.into(), lease: "ns/l".into() }
    }

    fn check(path: &Path) -> Result<(), InputError> {
        root(&Root::new(path).unwrap(), &owner("c"))
    }

    #[test]
    fn a_good_root_is_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        check(folder.path()).unwrap();
        check(&folder.path().join("not/yet/there")).unwrap();
        assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
    }

    #[test]
    fn a_bad_root_is_named_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        symlink(folder.path().join("nowhere"), folder.path().join("dangling")).unwrap();
        for bad in [
            file.clone(),
            file.join("below"),
            folder.path().join("dangling"),
            PathBuf::from("/proc/here"),
        ] {
            let line = check(&bad).expect_err(&bad.display().to_string()).to_string();
            assert!(
                line.starts_with(&format!("--root {}", bad.display())) && line.contains("; "),
                "{line}"
            );
        }
    }

    #[test]
    fn a_full_file_system_is_called_full_and_one_without_numbers_is_not() {
        let roomy = rustix::fs::StatVfs {
            f_blocks: 1000,
            f_bavail: 500,
            f_files: 10,
            f_favail: 5,
            f_frsize: 4096,
            ..rustix::fs::statvfs("/").unwrap()
        };
        assert!(!is_full(&roomy));
        assert!(is_full(&rustix::fs::StatVfs { f_bavail: 255, ..roomy }));
        assert!(is_full(&rustix::fs::StatVfs { f_favail: 0, ..roomy }));
        assert!(!is_full(&rustix::fs::StatVfs {
            f_blocks: 0,
            f_bavail: 0,
            f_files: 0,
            f_favail: 0,
            ..roomy
        }));
    }

    #[test]
    fn a_root_of_another_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        Root::new(folder.path()).unwrap().begin_term(&owner("other"), &Term::unfenced()).unwrap();
        assert!(check(folder.path()).unwrap_err().to_string().contains("belongs to"));
    }

    #[test]
    fn an_address_is_shown_without_what_is_secret_in_it() {
        for (url, shown) in [
            ("http://user:canary@127.0.0.1:80/x", "http://127.0.0.1:80"),
            ("https://canary@[::1]:6443", "https://[::1]:6443"),
            ("https://example.com/", "https://example.com"),
        ] {
            assert_eq!(shown_url(&url.parse().unwrap()), shown);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_request_that_is_never_answered_does_not_end_the_patience() {
        let patience = Patience { whole: Duration::from_secs(10), each: Duration::from_secs(2) };
        let asked = std::cell::Cell::new(0);
        let request = || {
            asked.set(asked.get() + 1);
            let first = asked.get() == 1;
            async move {
                if first {
                    std::future::pending::<()>().await;
                }
                Ok(7)
            }
        };
        assert!(matches!(ask(patience, request).await, Ok(7)));
        let silent = ask(patience, std::future::pending::<Result<(), kube::Error>>).await;
        assert!(matches!(silent, Err(Unanswered::Silent(why)) if why.contains("2s")));
    }

    #[test]
    fn a_port_in_use_is_named() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let line = port(address).unwrap_err().to_string();
        assert!(line.contains(&address.to_string()) && line.contains("in use"), "{line}");
    }

    #[tokio::test]
    async fn a_kubeconfig_that_cannot_be_used_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let garbage = folder.path().join("garbage");
        fs::write(&garbage, "}{").unwrap();
        let empty = folder.path().join("empty");
        fs::write(&empty, "").unwrap();
        for path in [folder.path().join("missing"), garbage, empty, folder.path().to_path_buf()] {
            let line = kube_config(Some(&path), None, PAUSE).await.unwrap_err().to_string();
            assert!(
                line.contains(&path.display().to_string()) && line.contains("give a kubeconfig"),
                "{line}"
            );
            assert!(!line.contains('\n'));
        }
        let line = kube_config(None, None, PAUSE).await.unwrap_err().to_string();
        assert!(line.contains("--kubeconfig"), "{line}");
    }

    #[test]
    fn a_proxy_is_refused_by_its_name_unless_the_server_is_excepted() {
        let with_proxy = || {
            let mut config = kube::Config::new("https://api.Example.org:6443".parse().unwrap());
            config.proxy_url = Some("http://user:secret@proxy:3128".parse().unwrap());
            config
        };
        let set = |name: &str, no_proxy: &str| {
            let proxy = Some("http://user:secret@proxy:3128".to_owned());
            match name {
                "https_proxy" => proxy,
                "NO_PROXY" => Some(no_proxy.to_owned()),
                _ => None,
            }
        };
        for no_proxy in ["", "other.org", "le.org", "pi.example.org,10.0.0.1"] {
            let line =
                direct(&mut with_proxy(), |name| set(name, no_proxy)).unwrap_err().to_string();
            assert!(line.contains("https_proxy") && line.contains("not supported"), "{line}");
            assert!(
                line.contains("add api.example.org to NO_PROXY") && !line.contains("secret"),
                "{line}"
            );
        }
        for no_proxy in ["*", "x, api.example.org", ".example.org", "*.example.org", "EXAMPLE.ORG"]
        {
            let mut config = with_proxy();
            direct(&mut config, |name| set(name, no_proxy)).unwrap();
            assert_eq!(config.proxy_url, None, "{no_proxy}");
        }
        let line = direct(&mut with_proxy(), |_| None).unwrap_err().to_string();
        assert!(line.starts_with("proxy-url in the kubeconfig"), "{line}");
        direct(&mut kube::Config::new("https://api".parse().unwrap()), |name| set(name, ""))
            .unwrap();
    }
}
