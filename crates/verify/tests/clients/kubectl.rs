//! kubectl, as it is, against the embedded server: what its users type, and what it then prints.

use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

use control_plane::Component;
use embedded_apiserver::{Builder, EmbeddedApiServer, Listener, Verb};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

/// Longer than any command here takes on a machine that is busy with other things.
const LIMIT: Duration = Duration::from_secs(60);

const CLAIM: &str = r#"{
    "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "c", "labels": { "app": "a" } },
    "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } }
}"#;

/// A server with a socket, and kubectl with a kubeconfig and a home of its own.
struct Stage {
    server: EmbeddedApiServer,
    _listener: Listener,
    home: TempDir,
    kubectl: PathBuf,
}

impl Stage {
    /// Nothing where there is no kubectl.
    async fn new() -> Option<Self> {
        Self::on(EmbeddedApiServer::builder().garbage_collector(true).namespace_lifecycle(true))
            .await
    }

    async fn on(builder: Builder) -> Option<Self> {
        let assets =
            tokio::task::spawn_blocking(verify::real::assets).await.expect("it does not panic")?;
        let server = builder.token("kim", "kim's token").build();
        let listener = server.listen("127.0.0.1:0").await.expect("a free port");
        let home = tempfile::tempdir().expect("a folder");
        std::fs::write(home.path().join("config"), server.kubeconfig(&listener.url(), "kim"))
            .expect("written");
        let kubectl = assets.path(Component::Kubectl).expect("prepared").to_owned();
        Some(Self { server, _listener: listener, home, kubectl })
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(&self.kubectl);
        command.args(words.split_whitespace()).env("HOME", self.home.path()).kill_on_drop(true);
        command.env("KUBECONFIG", self.home.path().join("config"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    async fn output(&self, words: &str, input: &str) -> Output {
        let mut child = self.command(words).spawn().expect("kubectl starts");
        let mut stdin = child.stdin.take().expect("piped");
        let run = async {
            stdin.write_all(input.as_bytes()).await.expect("kubectl reads");
            drop(stdin);
            child.wait_with_output().await.expect("kubectl ends")
        };
        timeout(LIMIT, run).await.unwrap_or_else(|_| panic!("kubectl {words} takes too long"))
    }

    /// What kubectl says, which must succeed.
    async fn says(&self, words: &str, input: &str) -> String {
        let output = self.output(words, input).await;
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {words}: {error}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    async fn run(&self, words: &str) -> String {
        self.says(words, "").await
    }

    /// What kubectl complains about, which must fail.
    async fn complains(&self, words: &str, input: &str) -> String {
        let output = self.output(words, input).await;
        assert!(!output.status.success(), "kubectl {words} succeeds");
        String::from_utf8_lossy(&output.stderr).trim_end().to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_creates_reads_changes_and_deletes() {
    let Some(k) = Stage::new().await else { return };
    assert_eq!(k.run("create namespace other").await, "namespace/other created");
    assert_eq!(k.run("create configmap m --from-literal=key=1").await, "configmap/m created");
    assert_eq!(
        k.run("create configmap m2 --from-literal=key=2 -n other").await,
        "configmap/m2 created"
    );
    assert_eq!(k.says("create -f -", CLAIM).await, "persistentvolumeclaim/c created");

    assert_eq!(k.run("get cm m -o jsonpath={.data.key}").await, "1");
    assert_eq!(k.run("get cm -A -o name").await, "configmap/m\nconfigmap/m2");
    assert_eq!(k.run("get pvc -l app=a -o name").await, "persistentvolumeclaim/c");
    assert_eq!(k.run("get pvc -l app!=a -o name").await, "");
    assert_eq!(k.run("get cm -A --field-selector metadata.name=m2 -o name").await, "configmap/m2");
    assert!(k.run("get pvc c -o yaml").await.contains("\n      storage: 1Gi\n"));
    let table = k.run("get pvc -o wide").await;
    let words: Vec<&str> = table
        .lines()
        .next()
        .unwrap_or_default()
        .split("  ")
        .filter(|word| !word.is_empty())
        .collect();
    let heads = [
        "NAME",
        "STATUS",
        "VOLUME",
        "CAPACITY",
        "ACCESS MODES",
        "STORAGECLASS",
        "VOLUMEATTRIBUTESCLASS",
        "AGE",
    ];
    assert_eq!(
        words.iter().map(|word| word.trim()).collect::<Vec<_>>()[..8],
        heads,
        "as on the real server"
    );
    assert!(table.contains("c      Pending "), "{table}");
    assert!(k.run("get cm m").await.starts_with("NAME   DATA   AGE\nm      1      "));
    let list = r#"{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"of-list"}}]}"#;
    assert_eq!(k.says("create -f -", list).await, "configmap/of-list created");
    k.run("delete cm of-list").await;
    assert!(k.run("describe pvc c").await.contains("Status:        Pending"));
    assert!(k.run("describe cm m").await.contains("key:\n----\n1\n"));

    assert_eq!(k.run("label cm m color=red").await, "configmap/m labeled");
    assert_eq!(k.run("annotate cm m note=x").await, "configmap/m annotated");
    let labels = "get cm m -o jsonpath={.metadata.labels.color}{.metadata.annotations.note}";
    assert_eq!(k.run(labels).await, "redx");
    for (how, patch) in [
        ("strategic", r#"{"metadata":{"finalizers":["example.com/a"]}}"#),
        ("merge", r#"{"data":{"key":"3"}}"#),
        ("json", r#"[{"op":"add","path":"/data/other","value":"4"}]"#),
    ] {
        assert_eq!(
            k.run(&format!("patch cm m --type {how} -p {patch}")).await,
            "configmap/m patched"
        );
    }
    // The default type adds to a list that is a set.
    let more = r#"patch cm m -p {"metadata":{"finalizers":["example.com/b"]}}"#;
    assert_eq!(k.run(more).await, "configmap/m patched");
    let now = "get cm m -o jsonpath={.data.key}{.data.other}{.metadata.finalizers}";
    assert_eq!(k.run(now).await, r#"34["example.com/b","example.com/a"]"#);

    let map = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m2","namespace":"other"},"data":{"key":"9"}}"#;
    assert_eq!(k.says("replace -f -", map).await, "configmap/m2 replaced");
    assert_eq!(k.run("get cm m2 -n other -o jsonpath={.data}").await, r#"{"key":"9"}"#);
    assert_eq!(
        k.run("delete cm m2 -n other --wait=true").await,
        "configmap \"m2\" deleted from other namespace"
    );
    assert!(k.complains("get cm m2 -n other", "").await.contains("(NotFound)"));
    assert!(k.complains("create configmap m", "").await.contains("already exists"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_applies_and_waits_and_a_finalizer_holds_what_it_deletes() {
    let Some(k) = Stage::new().await else { return };
    assert_eq!(k.says("apply -f -", CLAIM).await, "persistentvolumeclaim/c created");
    assert_eq!(k.says("apply -f -", CLAIM).await, "persistentvolumeclaim/c unchanged");
    let changed = CLAIM.replace(r#""app": "a""#, r#""app": "b", "more": "yes""#);
    assert_eq!(k.says("apply -f -", &changed).await, "persistentvolumeclaim/c configured");
    assert_eq!(k.says("apply -f -", CLAIM).await, "persistentvolumeclaim/c configured");
    assert_eq!(
        k.run("get pvc c -o jsonpath={.metadata.labels}").await,
        r#"{"app":"a"}"#,
        "more is gone"
    );
    assert!(k.says("diff -f -", CLAIM).await.is_empty());

    let met = "persistentvolumeclaim/c condition met";
    assert_eq!(k.run("wait pvc/c --for=jsonpath={.status.phase}=Pending --timeout=30s").await, met);
    let condition = r#"patch pvc c --subresource status --type merge -p {"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#;
    assert_eq!(k.run(condition).await, "persistentvolumeclaim/c patched");
    assert_eq!(k.run("wait pvc/c --for=condition=Ready --timeout=30s").await, met);

    k.run(r#"patch pvc c -p {"metadata":{"finalizers":["example.com/held"]}}"#).await;
    k.run("delete pvc c --wait=false").await;
    assert_ne!(k.run("get pvc c -o jsonpath={.metadata.deletionTimestamp}").await, "");
    let (gone, ()) = tokio::join!(k.run("wait pvc/c --for=delete --timeout=30s"), async {
        k.run(r#"patch pvc c --type merge -p {"metadata":{"finalizers":null}}"#).await;
    });
    // Nothing is said if it was gone before kubectl looked.
    assert!(gone == met || gone.is_empty(), "{gone}");
    assert!(k.complains("get pvc c", "").await.contains("(NotFound)"));
    assert_eq!(k.run("run p --image=x").await, "pod/p created");
    k.run("delete pod p --grace-period=0 --force").await;
    assert!(k.complains("get pod p", "").await.contains("(NotFound)"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_learns_what_is_served_and_has_its_input_checked() {
    let Some(k) = Stage::new().await else { return };
    let resources = k.run("api-resources --no-headers").await;
    let of = |name: &str| {
        resources.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned()
    };
    let words: Vec<String> =
        of("persistentvolumeclaims ").split_whitespace().map(str::to_owned).collect();
    assert_eq!(words, ["persistentvolumeclaims", "pvc", "v1", "true", "PersistentVolumeClaim"]);
    let versions = k.run("api-versions").await;
    for version in ["coordination.k8s.io/v1", "events.k8s.io/v1", "storage.k8s.io/v1", "v1"] {
        assert!(versions.lines().any(|line| line == version), "{version} in {versions}");
    }
    let asked = k.server.requests().all().by("kim").verb(Verb::Get).entries();
    let discovery: Vec<&str> = asked
        .iter()
        .map(|entry| entry.request.path.as_str())
        .filter(|path| path.starts_with("/api"))
        .collect();
    assert!(
        !discovery.is_empty() && discovery.iter().all(|path| matches!(*path, "/api" | "/apis")),
        "all at once: {discovery:?}"
    );
    let version = k.run("version").await;
    assert!(version.contains("Server Version: v1.36.3+embedded"), "{version}");
    assert!(k.run("explain pvc.spec.resources").await.contains("requests\t<map[string]Quantity>"));
    assert!(
        k.run("explain crd.spec.versions").await.contains("schema\t<CustomResourceValidation>")
    );

    let wrong = CLAIM.replace("\"spec\"", "\"spek\": {}, \"spec\"");
    let refused = k.complains("create -f -", &wrong).await;
    assert!(refused.contains("strict decoding error: unknown field \"spek\""), "{refused}");
    assert_eq!(
        k.says("create --validate=ignore -f -", &wrong).await,
        "persistentvolumeclaim/c created"
    );
    for (words, said) in [
        ("get nothing", "the server doesn't have a resource type \"nothing\""),
        ("logs p", "pods \"p\" not found"),
    ] {
        let said_so = k.complains(words, "").await;
        assert!(said_so.contains(said), "kubectl {words}: {said_so}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_follows_changes() {
    let Some(k) = Stage::new().await else { return };
    k.run("create configmap m").await;
    let mut child = k
        .command(r#"get cm -w --output-watch-events -o jsonpath={.type}{"\n"}"#)
        .spawn()
        .expect("kubectl starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut next =
        async || timeout(LIMIT, lines.next_line()).await.expect("in time").expect("text");
    assert_eq!(next().await.as_deref(), Some("ADDED"));
    k.run("label cm m a=b").await;
    k.run("delete cm m").await;
    assert_eq!(next().await.as_deref(), Some("MODIFIED"));
    assert_eq!(next().await.as_deref(), Some("DELETED"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_applies_on_the_server_and_takes_fields_by_force() {
    let Some(k) = Stage::new().await else { return };
    let map = |value: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m"}},"data":{{"key":"{value}"}}}}"#
        )
    };
    let apply = "apply --server-side -f -";
    assert_eq!(k.says(apply, &map("1")).await, "configmap/m serverside-applied");
    assert_eq!(k.says(apply, &map("1")).await, "configmap/m serverside-applied");
    let other = "apply --server-side --field-manager other -f -";
    let conflict = k.complains(other, &map("2")).await;
    assert!(
        conflict.contains("Apply failed with 1 conflict: conflict with \"kubectl\": .data.key"),
        "{conflict}"
    );
    assert_eq!(
        k.says(&format!("{other} --force-conflicts"), &map("2")).await,
        "configmap/m serverside-applied"
    );
    assert_eq!(k.run("get cm m -o jsonpath={.data.key}").await, "2");
    let owners = "get cm m --show-managed-fields -o jsonpath={.metadata.managedFields[*].manager}";
    assert!(k.run(owners).await.split(' ').any(|manager| manager == "other"));
    let dry = "apply --server-side --dry-run=server --force-conflicts -f -";
    assert_eq!(k.says(dry, &map("3")).await, "configmap/m serverside-applied (server dry run)");
    assert_eq!(k.run("get cm m -o jsonpath={.data.key}").await, "2");
    let difference = k.output("diff --server-side --force-conflicts -f -", &map("4")).await;
    assert_eq!(difference.status.code(), Some(1), "there is one");
    assert!(String::from_utf8_lossy(&difference.stdout).contains("+  key: \"4\""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_deletes_with_and_without_dependents_and_whole_namespaces() {
    let Some(k) = Stage::new().await else { return };
    let owned = async |name: &str| {
        let uid = k.run("get cm owner -o jsonpath={.metadata.uid}").await;
        let owner = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"{uid}","blockOwnerDeletion":true}}"#
        );
        let object = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","ownerReferences":[{owner}]}}}}"#
        );
        k.says("create -f -", &object).await;
    };
    k.run("create cm owner").await;
    owned("a").await;
    assert_eq!(
        k.run("delete cm owner --cascade=orphan --timeout=30s").await,
        "configmap \"owner\" deleted from default namespace"
    );
    assert_eq!(k.run("get cm -o name").await, "configmap/a");
    k.run("create cm owner").await;
    owned("b").await;
    k.run("delete cm owner --cascade=foreground --timeout=30s").await;
    assert_eq!(k.run("get cm -o name").await, "configmap/a", "b went first");
    k.run("create cm owner").await;
    owned("c").await;
    k.run("delete cm owner").await;
    k.run("wait cm/c --for=delete --timeout=30s").await;

    k.run("create namespace n").await;
    k.run("create cm inside -n n").await;
    k.run("delete namespace n --timeout=30s").await;
    assert!(k.complains("get namespace n", "").await.contains("(NotFound)"));
    assert_eq!(k.run("get cm -A -o name").await, "configmap/a");
}

const DEFINITION: &str = r#"{
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "widgets.example.com" },
    "spec": {
        "group": "example.com", "scope": "Namespaced",
        "names": { "kind": "Widget", "plural": "widgets", "singular": "widget", "shortNames": ["wd"], "categories": ["all"] },
        "versions": [{
            "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
            "schema": { "openAPIV3Schema": {
                "type": "object", "description": "Something small.",
                "properties": { "spec": { "type": "object", "properties": {
                    "color": { "type": "string", "description": "What it looks like." }
                } } }
            } }
        }]
    }
}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_knows_custom_kinds_by_their_definition() {
    let Some(k) = Stage::new().await else { return };
    let definition = serde_json::from_str(DEFINITION).expect("a definition");
    k.server.register_definition(&definition).expect("it can be served");
    let explained = k.run("explain widgets.spec.color").await;
    assert!(
        explained.contains("FIELD: color <string>") && explained.contains("What it looks like."),
        "{explained}"
    );
    assert!(k.run("explain wd").await.contains("Something small."));
    let widget = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"color":"red"}}"#;
    assert_eq!(k.says("create -f -", widget).await, "widget.example.com/w created");
    assert_eq!(
        k.says("apply --server-side --force-conflicts -f -", &widget.replace("red", "blue")).await,
        "widget.example.com/w serverside-applied"
    );
    assert_eq!(k.run("get wd -o jsonpath={.items[*].spec.color}").await, "blue");
    k.run("run p --image=x").await;
    let all = k.run("get all -o name").await;
    assert!(
        all.lines().any(|line| line == "widget.example.com/w")
            && all.lines().any(|line| line == "pod/p"),
        "{all}"
    );
    assert!(k.run("describe wd w").await.contains("Color:  blue"));
    assert_eq!(
        k.run("delete wd --all").await,
        "widget.example.com \"w\" deleted from default namespace"
    );
    for (words, said) in
        [("auth can-i get pods", "yes"), ("auth can-i create widgets.example.com", "yes")]
    {
        assert_eq!(k.run(words).await, said, "{words}");
    }
    assert!(k.run("auth whoami").await.contains("kim"));
}

const DEPLOYMENT: &str = r#"{
    "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "d" },
    "spec": {
        "replicas": 1, "selector": { "matchLabels": { "app": "a" } },
        "template": { "metadata": { "labels": { "app": "a" } }, "spec": { "containers": [{ "name": "c", "image": "x" }] } }
    }
}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_scales_and_follows_a_rollout() {
    let Some(k) = Stage::new().await else { return };
    assert_eq!(k.says("create -f -", DEPLOYMENT).await, "deployment.apps/d created");
    assert_eq!(k.run("scale deployment d --replicas=3").await, "deployment.apps/d scaled");
    assert_eq!(k.run("get deployment d -o jsonpath={.spec.replicas}").await, "3");
    let refused = k.complains("scale deployment d --replicas=4 --current-replicas=1", "").await;
    assert!(refused.contains("Expected replicas to be 1, was 3"), "{refused}");
    let refused = k.complains("scale cm/none --replicas=1", "").await;
    assert!(refused.contains("NotFound") || refused.contains("could not find"), "{refused}");

    // Nobody runs it: what a controller would report is reported by hand, while kubectl waits for
    // it.
    let report = async |updated: u8, available: u8| {
        let generation = k.run("get deployment d -o jsonpath={.metadata.generation}").await;
        let status = format!(
            r#"{{"status":{{"observedGeneration":{generation},"replicas":3,"updatedReplicas":{updated},"readyReplicas":{available},"availableReplicas":{available}}}}}"#
        );
        k.run(&format!("patch deployment d --subresource status --type merge -p {status}")).await;
    };
    report(1, 1).await;
    let (said, ()) = tokio::join!(k.run("rollout status deployment d --timeout=50s"), async {
        k.server.requests().by("kim").verb(Verb::Watch).resource("deployments").reached(1).await;
        report(3, 3).await;
    });
    assert!(said.contains("1 out of 3 new replicas have been updated"), "{said}");
    assert!(said.ends_with("deployment \"d\" successfully rolled out"), "{said}");
    assert_eq!(k.run("rollout restart deployment d").await, "deployment.apps/d restarted");
    let restarted = "get deployment d -o jsonpath={.spec.template.metadata.annotations}";
    assert!(k.run(restarted).await.contains("kubectl.kubernetes.io/restartedAt"));
    let image = "set image deployment/d c=y";
    assert_eq!(k.run(image).await, "deployment.apps/d image updated");
    assert!(k.run("get deployment d").await.contains("3/3"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_asks_what_its_user_may_do_where_roles_decide() {
    let Some(k) = Stage::on(EmbeddedApiServer::builder().rbac(true)).await else { return };
    let admin = k.server.client();
    for (path, body) in [
        (
            "roles",
            r#"{"metadata":{"name":"r"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list"]}]}"#,
        ),
        (
            "rolebindings",
            r#"{"metadata":{"name":"r"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"kim"}]}"#,
        ),
    ] {
        let request = http::Request::post(format!(
            "/apis/rbac.authorization.k8s.io/v1/namespaces/default/{path}"
        ))
        .header("content-type", "application/json")
        .body(body.as_bytes().to_vec())
        .expect("a request");
        admin.request_text(request).await.expect("made");
    }
    assert_eq!(k.run("auth can-i list configmaps").await, "yes");
    let no = k.output("auth can-i create configmaps", "").await;
    assert_eq!((no.status.code(), String::from_utf8_lossy(&no.stdout).trim()), (Some(1), "no"));
    let list = k.run("auth can-i --list").await;
    let row = list.lines().find(|line| line.starts_with("configmaps ")).unwrap_or_default();
    assert!(row.contains("[get list]"), "{list}");
    assert_eq!(k.run("get cm").await, "");
    assert!(k.complains("get cm m", "").await.contains("(NotFound)"));
    let refused = k.complains("create cm m", "").await;
    let words = "User \"kim\" cannot create resource \"configmaps\" in API group \"\" in the namespace \"default\"";
    assert!(refused.contains("configmaps is forbidden") && refused.contains(words), "{refused}");
    k.server.access().by("kim").assert_all_used();
}

/// The commands of the section about kubectl in the server's page, after those that start the
/// server.
fn commands_of_the_page() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/embedded-apiserver.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let section = page.split("## With kubectl").nth(1).expect("the section");
    let block = section
        .split("```sh\n")
        .nth(2)
        .and_then(|rest| rest.split("```").next())
        .expect("two blocks");
    block
        .lines()
        .filter(|line| !line.starts_with("export KUBECONFIG="))
        .collect::<Vec<_>>()
        .join("\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_commands_of_the_page_do_what_it_says() {
    let Some(k) = Stage::new().await else { return };
    let mut shell = Command::new("bash");
    let folder = k.kubectl.parent().expect("a folder").to_owned();
    let path = std::env::var("PATH").unwrap_or_default();
    shell.args(["-euc", &commands_of_the_page()]).kill_on_drop(true);
    shell.env("PATH", format!("{}:{path}", folder.display())).env("HOME", k.home.path());
    shell.env("KUBECONFIG", k.home.path().join("config"));
    let output = timeout(LIMIT, shell.output()).await.expect("in time").expect("bash starts");
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{complained}");
    for part in [
        "customresourcedefinition.apiextensions.k8s.io/widgets.example.com created",
        "customresourcedefinition.apiextensions.k8s.io/widgets.example.com condition met",
        "widget.example.com/first serverside-applied",
        "color: red",
        "What it looks like.",
        "widget.example.com \"first\" deleted",
    ] {
        assert!(said.contains(part), "{part:?} in:\n{said}\n{complained}");
    }
}
