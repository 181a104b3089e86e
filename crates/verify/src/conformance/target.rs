//! A way to a server for one case: raw requests through a `kube::Client`, in a namespace of the
//! case's own.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use embedded_apiserver::{EmbeddedApiServer, FaultPlan, FaultProxy, Listener, User};
use futures::io::{AsyncBufRead, Lines as IoLines};
use futures::{AsyncBufReadExt, TryStreamExt};
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::conformance::answer::{Answer, Outcome, number, text, version};
use crate::conformance::objects;
use crate::conformance::seen::Sight;
use crate::conformance::waiting::{ANSWER, PATIENCE, eventually};

/// Media types of patches.
pub(crate) const MERGE: &str = "application/merge-patch+json";
/// RFC 6902.
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
/// Strategic merge patch.
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";
/// Server-side apply.
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// A server that cases run against.
#[derive(Clone)]
pub struct Server {
    client: Client,
    run: String,
    cases: Arc<AtomicU32>,
    /// Namespaces that are empty again: made anew for each case they would keep the namespace
    /// controller busy for minutes, and everybody else's namespaces with it.
    free: Arc<Mutex<Vec<String>>>,
    /// Without credentials; a client in the process needs none, and is a stranger by its header
    /// alone.
    stranger: Option<Client>,
    /// The server's own faults can be planned; before another one stands a proxy that has the
    /// same.
    has_faults: bool,
    /// What must live as long as the server is used.
    _kept: Option<Arc<Listener>>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("run", &self.run)
            .field("cases", &self.cases)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// The server that an administrator's client reaches. Its custom kinds must be
    /// [served](Self::prepare).
    #[must_use]
    pub fn new(client: Client) -> Self {
        let run = format!("{:x}", std::process::id());
        Self {
            client,
            run,
            cases: Arc::default(),
            free: Arc::default(),
            stranger: None,
            has_faults: false,
            _kept: None,
        }
    }

    /// An embedded server that does what the real one's controllers do for volumes, owners and
    /// namespaces, with the cases' custom kinds.
    ///
    /// # Errors
    ///
    /// Says which kind it refused.
    pub fn embedded() -> Result<Self, String> {
        Ok(Self { has_faults: true, ..Self::new(prepared(true)?.client()) })
    }

    /// An embedded server with the cases' custom kinds on which nobody but its clients writes. They
    /// are the user that the control plane calls `admin`.
    ///
    /// # Errors
    ///
    /// As of [`embedded`](Self::embedded).
    pub fn bare() -> Result<Self, String> {
        let admin = User::new("admin").group(User::MASTERS).uid("admin");
        Ok(Self::new(prepared(false)?.client_as(admin)))
    }

    /// A client that reaches the same server without credentials.
    #[must_use]
    pub fn with_stranger(self, client: Client) -> Self {
        Self { stranger: Some(client), ..self }
    }

    /// The server of [`embedded`](Self::embedded) behind a socket of loopback.
    ///
    /// # Errors
    ///
    /// Says which kind it refused, or why there is no socket.
    pub async fn listening() -> Result<Self, String> {
        Self::behind_a_socket(&prepared(true)?).await
    }

    /// The server of [`bare`](Self::bare) behind a socket of loopback.
    ///
    /// # Errors
    ///
    /// Says which kind it refused, or why there is no socket.
    pub async fn bare_listening() -> Result<Self, String> {
        Self::behind_a_socket(&prepared(false)?).await
    }

    async fn behind_a_socket(server: &EmbeddedApiServer) -> Result<Self, String> {
        let listener = server.listen("127.0.0.1:0").await.map_err(|error| error.to_string())?;
        let uri: http::Uri = listener.url().parse().map_err(|error| format!("{error}"))?;
        let mut config = kube::Config::new(uri);
        // The cases want the answers as they are, 504 included.
        config.default_retry = false;
        config.proxy_url = None;
        let stranger = Client::try_from(config.clone()).map_err(|error| error.to_string())?;
        config.auth_info.token = Some(TOKEN.to_owned().into());
        let client = Client::try_from(config).map_err(|error| error.to_string())?;
        let server = Self::new(client).with_stranger(stranger);
        Ok(Self { has_faults: true, _kept: Some(Arc::new(listener)), ..server })
    }

    /// The client that it is reached by.
    #[must_use]
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// Creates the definitions of the cases' custom kinds and waits until they are served.
    ///
    /// # Errors
    ///
    /// What the server answered.
    pub async fn prepare(&self) -> Outcome {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        for definition in objects::definitions() {
            let made = self.send(Method::POST, path, &[JSON], definition.to_string()).await?;
            if made.code != 409 {
                made.is(201)?;
            }
        }
        for collection in
            ["v1/widgets", "v2/widgets", "v1/gadgets", "v1/trackers", "v2/trackers", "v1/gears"]
        {
            let path = format!("/apis/{}/{collection}", objects::GROUP);
            // Discovery and the storage of a new kind come some seconds after its definition.
            eventually(async || Ok(self.send(Method::GET, &path, &[], "").await?.is(200))).await?;
        }
        Ok(())
    }

    /// A namespace for one case.
    pub(super) async fn target(&self) -> Result<Target, String> {
        let number = self.cases.fetch_add(1, Ordering::Relaxed);
        let class = format!("conformance-{}-{number}", self.run);
        let free = self.free.lock().pop();
        let namespace = match free {
            Some(namespace) => namespace,
            None => {
                let object = json!({ "metadata": { "name": class } });
                self.send(Method::POST, NAMESPACES, &[JSON], object.to_string()).await?.is(201)?;
                class.clone()
            }
        };
        let (made, sights) = Default::default();
        Ok(Target {
            server: self.clone(),
            namespace,
            class,
            made,
            sights,
            may_write_late: Rc::default(),
        })
    }

    /// Takes a case's namespace back: for the next case if it is empty again.
    pub(super) async fn give_back(&self, target: Target, reusable: bool) {
        target.clean_up().await;
        if reusable && !target.may_write_late.get() {
            self.free.lock().push(target.namespace);
        } else {
            self.delete_namespace(&target.namespace).await;
        }
    }

    /// Deletes the namespaces of the cases.
    pub(super) async fn clean_up(&self) {
        let free = std::mem::take(&mut *self.free.lock());
        for namespace in free {
            self.delete_namespace(&namespace).await;
        }
    }

    async fn delete_namespace(&self, name: &str) {
        // One that cannot be deleted stays, and no other run sees it.
        let _answer = self.send(Method::DELETE, &format!("{NAMESPACES}/{name}"), &[], "").await;
    }

    /// Any request, as it is.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<String>,
    ) -> Result<Answer, String> {
        let said = format!("{method} {path}");
        let without_body = method == Method::HEAD;
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request
            .body(Body::from(body.into().into_bytes()))
            .map_err(|error| error.to_string())?;
        let unanswered = |why: String| format!("{said}: no answer: {why}");
        let answered = async {
            let (parts, body) =
                self.client.send(request).await.map_err(|error| error.to_string())?.into_parts();
            let bytes = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
            Ok((parts, bytes))
        };
        let (parts, bytes) = timeout(ANSWER, answered)
            .await
            .unwrap_or_else(|_| Err(format!("not within {} s", ANSWER.as_secs())))
            .map_err(unanswered)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let media = parts
            .headers
            .get("content-type")
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        // A watch that is read to its end has any number of documents, also none. An answer to HEAD
        // has the type of a body, and none.
        let several = path.contains("watch") && parts.status == 200;
        // The address of something that has moved has no body either.
        let without_body = without_body || parts.status == 301;
        let json = if media.starts_with("application/json") && !several && !without_body {
            serde_json::from_str(&text)
                .map_err(|error| format!("{said}: a body that is no JSON: {error}: {text:.500}"))?
        } else {
            serde_json::from_str(&text).unwrap_or_default()
        };
        Ok(Answer {
            request: said,
            code: parts.status.as_u16(),
            headers: parts.headers,
            text,
            json,
        })
    }
}

/// The administrator's, where there is a socket.
const TOKEN: &str = "the administrator's";

/// An embedded server as the cases want it, with controllers or without.
fn prepared(actors: bool) -> Result<EmbeddedApiServer, String> {
    let server = EmbeddedApiServer::builder()
        .protect_volumes(actors)
        .garbage_collector(actors)
        .namespace_lifecycle(actors)
        .rbac(true)
        .token(User::admin(), TOKEN)
        .build();
    if actors {
        let binder = User::new(volume_binder::USER).group("system:masters");
        tokio::spawn(volume_binder::run(server.client_as(binder)));
    }
    for definition in objects::definitions() {
        let definition = serde_json::from_value(definition).map_err(|error| error.to_string())?;
        server.register_definition(&definition).map_err(|error| error.to_string())?;
    }
    // Revision 1 is too old, as it is on a server that has run for a while.
    server.compact();
    Ok(server)
}

pub(super) const JSON: (&str, &str) = ("content-type", "application/json");
const NAMESPACES: &str = "/api/v1/namespaces";

/// A server, and a namespace on it that nobody else uses.
#[derive(Debug)]
pub struct Target {
    server: Server,
    /// The namespace's name.
    pub namespace: String,
    /// A name that no other case has: a storage class of its own, and the beginning of names of
    /// cluster scope.
    pub class: String,
    /// Paths of objects that were created, to be deleted in the end.
    made: Rc<RefCell<Vec<String>>>,
    /// What was seen so far.
    sights: Rc<RefCell<BTreeSet<Sight>>>,
    /// A request that met a fault may be applied when the case is over, or a webhook of the case
    /// called.
    may_write_late: Rc<Cell<bool>>,
}

/// Requests.
impl Target {
    /// Any request.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<String>,
    ) -> Result<Answer, String> {
        let creates = [Method::POST, Method::PUT, Method::PATCH].contains(&method)
            && !path.contains("dryRun");
        let media = headers
            .iter()
            .find(|(name, _)| *name == "content-type")
            .map_or("", |(_, media)| *media);
        let body = body.into();
        // Right after a definition was accepted, the real server may take down what it had served
        // of it, and says so.
        let answer = eventually(async || {
            let answer = self.server.send(method.clone(), path, headers, body.clone()).await?;
            let goes = answer.code == 503
                && path.contains("example.com/")
                && answer.text.contains("is shutting down");
            Ok(if goes { Err(answer.text) } else { Ok(answer) })
        })
        .await?;
        self.see(&method, path, media, answer.code, &answer.json);
        if creates && answer.code == 201 {
            let collection = path.split('?').next().unwrap_or_default();
            // A write to the status of a Service makes the Service.
            let collection = collection.strip_suffix("/status").unwrap_or(collection);
            // Events may have spaces in their names.
            let name = text(&answer.json, "/metadata/name").replace(' ', "%20");
            let own = collection.ends_with(&format!("/{name}"));
            let path = if own { collection.to_owned() } else { format!("{collection}/{name}") };
            self.made.borrow_mut().push(path);
        }
        Ok(answer)
    }

    pub(super) async fn get(&self, path: &str) -> Result<Answer, String> {
        self.send(Method::GET, path, &[], "").await
    }

    /// A read that wants a certain form.
    pub(super) async fn get_as(&self, path: &str, accept: &str) -> Result<Answer, String> {
        self.send(Method::GET, path, &[("accept", accept)], "").await
    }

    pub(super) async fn post(&self, path: &str, object: &Value) -> Result<Answer, String> {
        self.send(Method::POST, path, &[JSON], object.to_string()).await
    }

    pub(super) async fn put(&self, path: &str, object: &Value) -> Result<Answer, String> {
        self.send(Method::PUT, path, &[JSON], object.to_string()).await
    }

    pub(super) async fn patch(
        &self,
        path: &str,
        media: &str,
        patch: &Value,
    ) -> Result<Answer, String> {
        self.send(Method::PATCH, path, &[("content-type", media)], patch.to_string()).await
    }

    pub(super) async fn merge(&self, path: &str, patch: Value) -> Result<Answer, String> {
        self.patch(path, MERGE, &patch).await
    }

    pub(super) async fn json_patch(&self, path: &str, patch: Value) -> Result<Answer, String> {
        self.patch(path, JSON_PATCH, &patch).await
    }

    pub(super) async fn delete(&self, path: &str) -> Result<Answer, String> {
        self.send(Method::DELETE, path, &[], "").await
    }

    pub(super) async fn delete_with(&self, path: &str, options: Value) -> Result<Answer, String> {
        self.send(Method::DELETE, path, &[JSON], options.to_string()).await
    }

    /// Creates an object and returns it.
    pub(super) async fn make(&self, path: &str, object: Value) -> Result<Value, String> {
        self.post(path, &object).await?.is(201)
    }

    /// Creates a ConfigMap with one entry, `k`.
    pub(super) async fn map(&self, name: &str, value: &str) -> Result<Value, String> {
        self.make(&self.maps(""), objects::map(name, value)).await
    }

    /// Creates a ConfigMap with one label.
    pub(super) async fn labelled(
        &self,
        name: &str,
        label: &str,
        value: &str,
    ) -> Result<Value, String> {
        let mut object = objects::map(name, "v");
        object["metadata"]["labels"] = json!({ label: value });
        self.make(&self.maps(""), object).await
    }

    /// Reads an object and puts back what `change` makes of it; once more for each time that one of
    /// the server's controllers has written it in between. A 409 about an object that nobody
    /// wrote is the answer.
    pub(super) async fn replace(
        &self,
        path: &str,
        change: impl Fn(&mut Value),
    ) -> Result<Answer, String> {
        let mut read = self.get(path).await?.is(200)?;
        loop {
            let mut object = read.clone();
            change(&mut object);
            let answer = self.put(path, &object).await?;
            if answer.code != 409 {
                return Ok(answer);
            }
            let now = self.get(path).await?.is(200)?;
            if version(&now) == version(&read) {
                return Ok(answer);
            }
            read = now;
        }
    }

    /// Waits until what the server answers out of its cache has all that is stored of a collection.
    /// Whether a write that changes nothing one is shown is a write depends, on the real
    /// server, on what its cache has seen.
    pub(super) async fn settled(&self, collection: &str) -> Outcome {
        let cached = format!("{collection}?resourceVersion=0");
        let stored = number(&self.server.send(Method::GET, collection, &[], "").await?.is(200)?);
        eventually(async || {
            let is_new =
                number(&self.server.send(Method::GET, &cached, &[], "").await?.is(200)?) >= stored;
            Ok(if is_new {
                Ok(())
            } else {
                Err(format!("GET {cached}: older than version {stored}"))
            })
        })
        .await
    }

    /// Opens a watch.
    pub(super) async fn watch(&self, path: &str) -> Result<Lines, String> {
        self.watch_as(path, "application/json").await
    }

    /// Opens a watch. The real server refuses watches of a new definition until its cache is full.
    pub(super) async fn watch_as(&self, path: &str, accept: &str) -> Result<Lines, String> {
        eventually(async || match self.open_watch(path, accept).await {
            Err(why) if why.contains("storage is (re)initializing") => Ok(Err(why)),
            opened => opened.map(Ok),
        })
        .await
    }

    async fn open_watch(&self, path: &str, accept: &str) -> Result<Lines, String> {
        let separator = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{separator}watch=true");
        let request = Request::builder().uri(&path).header("accept", accept).body(Vec::new());
        let request = request.map_err(|error| error.to_string())?;
        let opened = timeout(ANSWER, self.server.client.request_stream(request)).await;
        let opened = opened
            .map_err(|_| format!("GET {path}: no answer: not within {} s", ANSWER.as_secs()))?;
        let lines = opened.map_err(|error| format!("GET {path}: {error}"))?;
        self.see(&Method::GET, &path, "", 200, &Value::Null);
        let lines: Pin<Box<dyn AsyncBufRead>> = Box::pin(lines);
        Ok(Lines { path, lines: lines.lines() })
    }
}

/// Faults.
impl Target {
    /// Two ways to the case's namespace: one for the user who meets the faults of a plan, one for
    /// somebody else.
    ///
    /// Of the embedded server it is another one, which begins empty.
    pub(super) fn with_faults(&self, user: &str, plan: FaultPlan) -> (Self, Self) {
        self.may_write_late.set(true);
        let (faulty, sound) = if self.server.has_faults {
            let server =
                EmbeddedApiServer::builder().namespace(&self.namespace).faults(plan).build();
            (server.client_as(user), server.client_as("sound"))
        } else {
            let client = &self.server.client;
            let proxy =
                FaultProxy::builder().user(user, "token", client.clone()).faults(plan).build();
            (proxy.client_as(user), client.clone())
        };
        (self.through(faulty), self.through(sound))
    }

    /// The same server as somebody with a token that nobody has.
    pub(super) fn as_stranger(&self) -> Self {
        let client = self.server.stranger.as_ref().unwrap_or(&self.server.client);
        Self { sights: Rc::clone(&self.sights), ..self.through(client.clone()) }
    }

    /// The same by another client. What it sees is not for the tables.
    fn through(&self, client: Client) -> Self {
        let server = Server { client, ..self.server.clone() };
        let (namespace, class) = (self.namespace.clone(), self.class.clone());
        let (made, may_write_late) = (Rc::clone(&self.made), Rc::clone(&self.may_write_late));
        Self { server, namespace, class, made, sights: Rc::default(), may_write_late }
    }
}

impl Target {
    /// No other case gets the namespace: something may still happen to it when the case is over.
    pub(super) fn keep_namespace(&self) {
        self.may_write_late.set(true);
    }

    /// Creates a ConfigMap as soon as the server lets it.
    pub(super) async fn until_made(&self, name: &str) -> Outcome {
        eventually(async || {
            let answer = self.post(&self.maps(""), &objects::map(name, "v")).await?;
            Ok(if answer.code == 201 { Ok(()) } else { Err(answer.text) })
        })
        .await
    }
}

/// What the tables are made of.
impl Target {
    fn see(&self, method: &Method, path: &str, media: &str, code: u16, body: &Value) {
        self.sights.borrow_mut().extend(Sight::of(method, path, media, code, body));
    }

    /// What was seen so far.
    pub(super) fn take_sights(&self) -> BTreeSet<Sight> {
        self.sights.take()
    }
}

/// Paths; `rest` is what follows the collection: `/name`, `?limit=1`, or nothing.
impl Target {
    pub(super) fn core(&self, plural: &str, rest: &str) -> String {
        format!("/api/v1/namespaces/{}/{plural}{rest}", self.namespace)
    }

    pub(super) fn maps(&self, rest: &str) -> String {
        self.core("configmaps", rest)
    }

    /// Of a group and version: `apps/v1`.
    pub(super) fn of_group(&self, version: &str, plural: &str, rest: &str) -> String {
        format!("/apis/{version}/namespaces/{}/{plural}{rest}", self.namespace)
    }

    pub(super) fn leases(&self, rest: &str) -> String {
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases{rest}", self.namespace)
    }

    /// A custom kind with a status subresource.
    pub(super) fn widgets(&self, rest: &str) -> String {
        format!("/apis/{}/v1/namespaces/{}/widgets{rest}", objects::GROUP, self.namespace)
    }

    /// The same kind in its other version.
    pub(super) fn widgets_v2(&self, rest: &str) -> String {
        format!("/apis/{}/v2/namespaces/{}/widgets{rest}", objects::GROUP, self.namespace)
    }

    /// A custom kind with lists and maps of every sort.
    pub(super) fn trackers(&self, rest: &str) -> String {
        format!("/apis/{}/v1/namespaces/{}/trackers{rest}", objects::GROUP, self.namespace)
    }

    /// A custom kind with a schema that has something of everything.
    pub(super) fn gears(&self, rest: &str) -> String {
        format!("/apis/{}/v1/namespaces/{}/gears{rest}", objects::GROUP, self.namespace)
    }

    /// A custom kind of cluster scope, without subresources.
    pub(super) fn gadgets(&self, rest: &str) -> String {
        format!("/apis/{}/v1/gadgets{rest}", objects::GROUP)
    }

    pub(super) fn claims(&self, rest: &str) -> String {
        self.core("persistentvolumeclaims", rest)
    }

    pub(super) fn volumes(&self, rest: &str) -> String {
        format!("/api/v1/persistentvolumes{rest}")
    }

    pub(super) fn classes(&self, rest: &str) -> String {
        format!("/apis/storage.k8s.io/v1/storageclasses{rest}")
    }

    /// Events in the group that has them now.
    pub(super) fn new_events(&self, rest: &str) -> String {
        format!("/apis/events.k8s.io/v1/namespaces/{}/events{rest}", self.namespace)
    }

    /// A name for an object of cluster scope.
    pub(super) fn own(&self, name: &str) -> String {
        format!("{}-{name}", self.class)
    }

    /// Deletes what the case made, whatever holds it.
    pub(super) async fn clean_up(&self) {
        for path in self.made.take().into_iter().rev() {
            // What is gone by now answers 404; what cannot be deleted stays, and no other case sees
            // it.
            let deleted = self.delete_with(&path, json!({ "gracePeriodSeconds": 0 })).await;
            let held =
                deleted.is_ok_and(|answer| answer.json.pointer("/metadata/finalizers").is_some());
            if held {
                let _gone = self.merge(&path, json!({ "metadata": { "finalizers": null } })).await;
            }
        }
    }
}

/// An open watch, line by line.
pub struct Lines {
    path: String,
    lines: IoLines<Pin<Box<dyn AsyncBufRead>>>,
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Lines {
    /// The next event, whatever it is; nothing when the watch has ended.
    pub(super) async fn next(&mut self) -> Result<Option<Value>, String> {
        let line = timeout(PATIENCE, self.lines.try_next()).await;
        let line = line
            .map_err(|_| format!("GET {}: no event within {} s", self.path, PATIENCE.as_secs()))?;
        let line = line.map_err(|error| format!("GET {}: {error}", self.path))?;
        line.map(|line| serde_json::from_str(&line).map_err(|error| format!("{error} in {line}")))
            .transpose()
    }

    /// The object of the next event, which is of this type and about an object of this name.
    pub(super) async fn event(&mut self, kind: &str, name: &str) -> Result<Value, String> {
        let mut event = self.next().await?.ok_or_else(|| format!("GET {}: it ended", self.path))?;
        if text(&event, "/type") == kind && text(&event, "/object/metadata/name") == name {
            return Ok(event["object"].take());
        }
        let event: String = event.to_string().chars().take(500).collect();
        Err(format!("GET {}: expected {kind} {name:?}, got {event}", self.path))
    }

    /// All events until the watch ends by itself.
    pub(super) async fn rest(&mut self) -> Result<Vec<Value>, String> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await? {
            events.push(event);
        }
        Ok(events)
    }
}
