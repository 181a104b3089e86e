//! Instructions for a run with `--keep`: commands for its server, replicas and files. Pure.

use std::path::Path;

use crate::users::{VISITOR, authorization, kubeconfig};
use crate::venue::quoted;

/// The variables that would send a replica's requests to a proxy, which does not reach this
/// machine's loopback address.
pub(crate) const PROXIES: [&str; 6] =
    ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"];

/// A run that stays as it is.
#[derive(Debug)]
pub(crate) struct Kept<'a> {
    /// The run's folder.
    pub(crate) dir: &'a Path,
    /// The provisioner's root.
    pub(crate) root: &'a Path,
    /// Where the server listens.
    pub(crate) url: &'a str,
    /// The replicas that still run.
    pub(crate) running: &'a [String],
    /// Starts a stopped replica again: a program and its arguments.
    pub(crate) start: Option<&'a [String]>,
    /// Those of [`PROXIES`] that the user's shell has set.
    pub(crate) proxies: &'a [&'a str],
}

impl Kept<'_> {
    /// The instructions; each line that is indented can be pasted into a shell.
    pub(crate) fn instructions(&self) -> String {
        let shown = |path: &Path| quoted(&path.to_string_lossy());
        let replicas = match self.running {
            [] => "the replicas are stopped".to_owned(),
            running => format!("still running: {}", running.join(", ")),
        };
        let (dir, url) = (shown(self.dir), self.url.trim_end_matches('/'));
        let mut lines = vec![
            format!("{replicas}; the server and all files stay until Ctrl-C. In another terminal:"),
            format!(
                "  kubectl --kubeconfig {} get pvc,pv -A",
                shown(&kubeconfig(self.dir, VISITOR))
            ),
            format!(
                "  curl --noproxy '*' --header @{} {url}/embedded/requests",
                shown(&authorization(self.dir))
            ),
            format!("  ls -R {}", shown(self.root)),
            format!("  less {dir}/*.log"),
        ];
        if let Some(start) = self.start {
            lines.push("This starts a replica again:".to_owned());
            let unset = self.proxies.iter().map(|name| format!("-u {name} ")).collect::<String>();
            let env = if unset.is_empty() { String::new() } else { format!("env {unset}") };
            let words: Vec<_> = start.iter().map(|word| quoted(word)).collect();
            lines.push(format!("  {env}{}", words.join(" ")));
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::Kept;

    fn kept() -> Kept<'static> {
        Kept {
            dir: "/tmp/wq-demo-1".as_ref(),
            root: "/tmp/wq-demo-1/root".as_ref(),
            url: "http://127.0.0.1:8080/",
            running: &[],
            start: None,
            proxies: &[],
        }
    }

    #[test]
    fn every_command_can_be_pasted_as_it_stands() {
        let words = ["/my bin/provisioner", "run", "--identity", "replica-1"].map(str::to_owned);
        let instructions = Kept { start: Some(&words), ..kept() }.instructions();
        for line in [
            "  kubectl --kubeconfig /tmp/wq-demo-1/kubeconfig-visitor.yaml get pvc,pv -A",
            "  curl --noproxy '*' --header @/tmp/wq-demo-1/authorization http://127.0.0.1:8080/embedded/requests",
            "  ls -R /tmp/wq-demo-1/root",
            "  less /tmp/wq-demo-1/*.log",
            "  '/my bin/provisioner' run --identity replica-1",
        ] {
            assert!(instructions.lines().any(|found| found == line), "{line}\n{instructions}");
        }
        let behind_a_proxy =
            Kept { start: Some(&words), proxies: &["HTTPS_PROXY"], ..kept() }.instructions();
        assert!(behind_a_proxy.contains("\n  env -u HTTPS_PROXY '/my bin"), "{behind_a_proxy}");
    }

    #[test]
    fn the_first_line_says_which_replicas_run() {
        assert!(
            kept().instructions().starts_with(
                "the replicas are stopped; the server and all files stay until Ctrl-C"
            )
        );
        let running = ["replica-2".to_owned(), "replica-3".to_owned()];
        let instructions = Kept { running: &running, ..kept() }.instructions();
        assert!(
            instructions.starts_with("still running: replica-2, replica-3; "),
            "{instructions}"
        );
    }
}
