//! A replica dies between any two of its requests and steps on the disk, all of them in turn, and
//! the next one ends in the same state as if it had lived.

use std::fs;
use std::time::Duration;

use hostpath_provisioner::volume_name;
use kube::api::DeleteParams;
use serde_json::json;

use crate::fate::Fate;
use crate::phases::say_phase;
use crate::world::{World, until};

/// What else happens at the moment of death.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    Nothing,
    /// The claim is deleted before the next replica starts.
    ClaimDeleted,
}

/// Lets a first replica die at every point of `story` in turn, and a second one take over. Returns
/// how many points there were.
async fn die_everywhere(
    class: serde_json::Value,
    then: Then,
    story: impl AsyncFn(&World),
    end: impl AsyncFn(&World, &str),
) -> usize {
    for point in 0.. {
        let world = World::with_class(class.clone()).await;
        let fate = Fate::dies_at(point);
        let first = world.start_mortal("first", &["--sweep-interval", "30s"], &fate);
        let mut told = Box::pin(story(&world));
        let died = tokio::select! {
            biased;
            () = fate.died() => true,
            () = &mut told => false,
        };
        if !died {
            end(&world, "without a death").await;
            first.stop().await;
            return point;
        }
        first.kill().await;
        if then == Then::ClaimDeleted {
            world.delete_claim("data").await;
        }
        let second = world.start("second", &["--sweep-interval", "30s"]);
        if then == Then::Nothing {
            told.await;
        }
        end(&world, &format!("died at point {point}: {}", fate.last_point())).await;
        second.stop().await;
    }
    unreachable!("the loop ends by its own")
}

async fn nothing_is_left(world: &World, what: &str) {
    until(&format!("nothing is left: {what}"), async || {
        let volumes = world.volumes().list(&Default::default()).await.unwrap().items;
        let claims = world.claims().list(&Default::default()).await.unwrap().items;
        volumes.is_empty()
            && claims.is_empty()
            && world.in_root().is_empty()
            && world.half_done().is_empty()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_deleted_while_nobody_leads_leaves_nothing() {
    let points = die_everywhere(
        json!({}),
        Then::ClaimDeleted,
        async |world: &World| {
            world.claim("data").await;
            world.until_bound("data").await;
        },
        async |world: &World, what: &str| {
            if what.starts_with("died") {
                nothing_is_left(world, what).await;
            }
        },
    )
    .await;
    assert!(points > 20, "{points}");
}

/// The claim is deleted at every point of its provisioning, while the replica lives on.
#[tokio::test(start_paused = true)]
async fn a_claim_that_is_deleted_in_the_middle_leaves_nothing() {
    for point in 0.. {
        let world = World::new().await;
        // The "death" is only the signal here: nothing is stopped.
        let moment = Fate::signals_at(point);
        let replica = world.start_mortal("one", &[], &moment);
        world.claim("data").await;
        let bound = async {
            world.until_bound("data").await;
        };
        let reached = tokio::select! {
            biased;
            () = moment.died() => true,
            () = bound => false,
        };
        world.delete_claim("data").await;
        nothing_is_left(&world, &format!("deleted at point {point}: {}", moment.last_point()))
            .await;
        replica.stop().await;
        if !reached {
            assert!(point > 20, "{point}");
            return;
        }
    }
}

/// Played by a stage of `--full`: the stage `test` leaves `long` out.
mod long {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_retained_directory_survives_an_interruption_at_any_point() {
        let points = die_everywhere(
            json!({"reclaimPolicy": "Retain"}),
            Then::Nothing,
            async |world: &World| {
                let uid = world.claim("data").await;
                world.until_bound("data").await;
                world.delete_claim("data").await;
                until("it is released and free", async || {
                    let volume = world.volume(&uid).await.unwrap();
                    let phase = volume.status.and_then(|status| status.phase);
                    phase.as_deref() == Some("Released")
                        && volume.metadata.finalizers.unwrap_or_default().len() <= 1
                })
                .await;
                let _ = world.volumes().delete(&volume_name(&uid), &DeleteParams::default()).await;
                world.until_gone(&uid).await;
            },
            async |world: &World, what: &str| {
                // Two sweeps later it is still there, once.
                tokio::time::sleep(Duration::from_secs(70)).await;
                assert_eq!(world.in_root().len(), 1, "{what}");
                assert!(world.half_done().is_empty(), "{what}");
            },
        )
        .await;
        assert!(points > 25, "{points}");
    }

    /// A controller says the wrong phase of a bound volume again and again, and a replica dies at
    /// any point of its reaction.
    #[tokio::test(start_paused = true)]
    async fn a_wrong_phase_loses_nothing_wherever_a_replica_dies() {
        let points = die_everywhere(
            json!({}),
            Then::Nothing,
            async |world: &World| {
                let uid = world.claim("data").await;
                world.until_bound("data").await;
                let precious = world.directory(&uid).join("precious");
                fs::write(&precious, "x").unwrap();
                for _ in 0..2 {
                    say_phase(world, &uid, "Released").await;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                tokio::time::sleep(Duration::from_secs(20)).await;
                assert!(precious.exists());
                let volume = world.volume(&uid).await.unwrap();
                assert_eq!(volume.status.unwrap().phase.as_deref(), Some("Bound"));
                world.delete_claim("data").await;
                world.until_gone(&uid).await;
            },
            nothing_is_left,
        )
        .await;
        assert!(points > 40, "{points}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_life_interrupted_at_any_point_ends_with_nothing_left() {
        let points = die_everywhere(
            json!({"parameters": {"subdir": "${namespace}"}}),
            Then::Nothing,
            async |world: &World| {
                let uid = world.claim("data").await;
                world.until_bound("data").await;
                assert_eq!(world.volumes().list(&Default::default()).await.unwrap().items.len(), 1);
                world.delete_claim("data").await;
                world.until_gone(&uid).await;
                until("the folders are gone", async || world.in_root().is_empty()).await;
            },
            nothing_is_left,
        )
        .await;
        // Creation and removal of a directory, three writes and a look, twice each: or the points
        // are not counted any more.
        assert!(points > 40, "{points}");
    }
}
