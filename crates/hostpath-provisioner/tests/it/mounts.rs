//! Mounts below the root: nothing behind one is removed, each is named, and the rest goes on. They
//! are made in a mount namespace of the test's own, where the system allows one.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hostpath_provisioner::{RETAINED_FOLDER, STATE_FOLDER, TRASH_FOLDER, volume_name};
use k8s_openapi::api::events::v1::Event;
use kube::api::Api;

use crate::world::{World, pass, until};

/// Set for the process that runs in the namespace.
const INSIDE: &str = "HOSTPATH_PROVISIONER_TEST_INSIDE";

/// Runs this test again in a namespace where it may mount. Whether the caller is that run, and goes
/// on.
pub(crate) fn may_mount(test: &str) -> bool {
    is_inside(test, "-rm")
}

/// Runs this test again in namespaces of its own. Whether the caller is that run, and goes on.
#[expect(clippy::print_stderr, reason = "a test that was skipped must say so")]
fn is_inside(test: &str, namespaces: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let unshare = |program: &OsStr| {
        let mut command = Command::new("unshare");
        command.args([namespaces, "--"]).arg(program);
        command
    };
    if !unshare("true".as_ref()).status().is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: {test}: `unshare {namespaces}` is refused here");
        return false;
    }
    let me = std::env::current_exe().unwrap();
    let again = ["--exact", test, "--nocapture"];
    let done = unshare(me.as_os_str()).args(again).env(INSIDE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    let is_passed = done.status.success() && said.contains("1 passed");
    assert!(is_passed, "{said}{}", String::from_utf8_lossy(&done.stderr));
    false
}

fn run(program: &str, arguments: &[&Path]) {
    let done = Command::new(program).args(arguments).output().unwrap();
    assert!(
        done.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
}

pub(crate) fn bind(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    run("mount", &[Path::new("--bind"), from, to]);
}

fn unmount(at: &Path) {
    run("umount", &[at]);
}

async fn failures(world: &World) -> Vec<String> {
    let api: Api<Event> = Api::namespaced(world.server.client(), "default");
    let events = api.list(&Default::default()).await.unwrap().items.into_iter();
    events
        .filter(|event| event.reason.as_deref() == Some("VolumeFailedDelete"))
        .filter_map(|event| event.note)
        .collect()
}

/// P2: whatever a mount shows is not the volume's, on the same file system or another.
#[tokio::test(start_paused = true)]
async fn what_is_mounted_in_a_directory_is_not_removed_and_is_named() {
    if !may_mount("mounts::what_is_mounted_in_a_directory_is_not_removed_and_is_named") {
        return;
    }
    let other = tempfile::tempdir().unwrap();
    for depth in ["data", "a/b/c", ""] {
        fs::write(other.path().join("precious"), "x").unwrap();
        fs::create_dir_all(other.path().join("folder/deeper")).unwrap();
        let world = World::new().await;
        // Given up soon, one whose rest is in the trash goes all the same.
        let attempts = if depth.is_empty() { "15" } else { "2" };
        let flags = ["--sweep-interval", "30s", "--delete-threshold", attempts];
        let _replica = world.start("one", &flags);
        let uid = world.claim("data").await;
        world.until_bound("data").await;
        let at = world.directory(&uid).join(depth);
        bind(other.path(), &at);
        world.delete_claim("data").await;
        let named = if depth.is_empty() { volume_name(&uid) } else { format!("/{depth}: ") };
        until("the mount is named", async || {
            failures(&world)
                .await
                .iter()
                .any(|note| note.contains(&named) && note.contains("unmount it"))
        })
        .await;
        pass(Duration::from_secs(90)).await;
        assert!(
            other.path().join("precious").exists() && other.path().join("folder/deeper").exists()
        );
        assert!(world.volume(&uid).await.is_some(), "the volume stays");
        // It is tried again by itself.
        let moved = world
            .root()
            .join(STATE_FOLDER)
            .join(TRASH_FOLDER)
            .join(format!("gone-{uid}"))
            .join(depth);
        unmount(if moved.exists() { &moved } else { &at });
        world.until_gone(&uid).await;
        assert!(world.in_root().is_empty() && other.path().join("precious").exists());
    }
}

/// P3: one entry that cannot be removed is passed over; the orphan behind it is found, and the
/// entry goes when it can.
#[tokio::test(start_paused = true)]
async fn one_stuck_entry_in_the_trash_does_not_stop_the_sweep() {
    if !may_mount("mounts::one_stuck_entry_in_the_trash_does_not_stop_the_sweep") {
        return;
    }
    let other = tempfile::tempdir().unwrap();
    let world = World::new().await;
    let replica = world.start("one", &["--sweep-interval", "10s"]);
    let uid = world.claim("data").await;
    world.until_bound("data").await;
    // An orphan, as a dead leader leaves it: a directory with its marker, without claim and volume.
    let mut marker = world.marker(&uid);
    marker.claim_uid = "00000000-0000-4000-8000-000000000000".to_owned();
    marker.claim_name = "gone".to_owned();
    let orphan = world.directory(&marker.claim_uid);
    let trash = world.root().join(STATE_FOLDER).join(TRASH_FOLDER);
    let stuck = trash.join("aaa/stuck");
    bind(other.path(), &stuck);
    fs::create_dir(trash.join("zzz")).unwrap();
    fs::create_dir(&orphan).unwrap();
    fs::write(orphan.join(hostpath_provisioner::MARKER_FILE), marker.to_bytes()).unwrap();
    until("the orphan is gone", async || !orphan.exists()).await;
    until("the other leftover is gone", async || !trash.join("zzz").exists()).await;
    assert!(stuck.exists());
    until("it is counted", async || replica.metric("hostpath_provisioner_leftovers_stuck") == 1.0)
        .await;
    unmount(&stuck);
    until("it is gone when it can be", async || !trash.join("aaa").exists()).await;
    until("it is not counted any more", async || {
        replica.metric("hostpath_provisioner_leftovers_stuck") == 0.0
    })
    .await;
}

/// P3, the same kind: a folder of the root that cannot be looked into hides only what is in it.
#[tokio::test(start_paused = true)]
async fn a_mount_in_the_root_hides_only_what_is_behind_it() {
    if !may_mount("mounts::a_mount_in_the_root_hides_only_what_is_behind_it") {
        return;
    }
    let other = tempfile::tempdir().unwrap();
    let world = World::new().await;
    let _replica = world.start("one", &["--sweep-interval", "10s"]);
    let uid = world.claim("data").await;
    world.until_bound("data").await;
    bind(other.path(), &world.root().join("disk"));
    let mut marker = world.marker(&uid);
    for (uid, folder) in
        [("u-here", world.root().to_path_buf()), ("u-behind", other.path().to_path_buf())]
    {
        marker.claim_uid = uid.to_owned();
        marker.claim_name = "gone".to_owned();
        let orphan = folder.join(volume_name(uid));
        fs::create_dir(&orphan).unwrap();
        fs::write(orphan.join(hostpath_provisioner::MARKER_FILE), marker.to_bytes()).unwrap();
    }
    until("the orphan on the root's mount is gone", async || {
        !world.root().join(volume_name("u-here")).exists()
    })
    .await;
    pass(Duration::from_secs(60)).await;
    assert!(other.path().join(volume_name("u-behind")).exists());
    assert!(world.root().join(STATE_FOLDER).join(RETAINED_FOLDER).exists());
}

/// P6: in a user namespace in which this process has no capabilities over files.
#[tokio::test(start_paused = true)]
async fn what_may_not_be_removed_is_named_with_the_remedy() {
    if !is_inside("mounts::what_may_not_be_removed_is_named_with_the_remedy", "-U") {
        return;
    }
    let world = World::new().await;
    let _replica = world.start("one", &[]);
    let uid = world.claim("data").await;
    world.until_bound("data").await;
    let closed = world.directory(&uid).join("var/closed");
    fs::create_dir_all(&closed).unwrap();
    fs::write(closed.join("file"), "x").unwrap();
    let set_mode =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set_mode(&closed, 0o555);
    world.delete_claim("data").await;
    let words = ["/var/closed/file: ", "Permission denied", "remove it by hand", "DAC_OVERRIDE"];
    until("it is named", async || {
        let told = failures(&world).await;
        told.iter().any(|note| words.iter().all(|word| note.contains(word)))
    })
    .await;
    let trash = world.root().join(STATE_FOLDER).join(TRASH_FOLDER);
    set_mode(&trash.join(format!("gone-{uid}/var/closed")), 0o755);
    world.until_gone(&uid).await;
    until("nothing is left", async || world.in_root().is_empty() && world.half_done().is_empty())
        .await;
}
