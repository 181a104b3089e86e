//! Liveness tests: the cases of client-go's `healthzadaptor_test.go`, with 60 s leases, 20 s of
//! tolerance, and now two hours after the origin.

use super::*;

#[derive(Debug)]
struct At(Moment);

impl Clock for At {
    fn now(&self) -> Moment {
        self.0
    }
    fn wall(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }
    fn sleep_until(&self, _: Moment) -> crate::Sleep {
        Box::pin(std::future::pending())
    }
}

const NOW: Moment = Moment::from_origin(Duration::from_secs(7200));

fn check(renewed: Option<Moment>) -> Result<(), NotLive> {
    let work = Arc::new(WorkLease::default());
    work.set(renewed.map(|at| at.after(Duration::from_secs(60))));
    Liveness {
        lease: "ns/lease".into(),
        work,
        clock: Arc::new(At(NOW)),
        tolerance: Duration::from_secs(20),
    }
    .check()
}

fn ago(seconds: u64) -> Moment {
    NOW.before(Duration::from_secs(seconds))
}

#[test]
fn without_work_all_is_well() {
    // client-go's first and third case: no elector attached; held by another.
    assert_eq!(check(None), Ok(()));
}

#[test]
fn work_that_goes_on_an_hour_after_its_lease_is_an_error_that_names_the_lease() {
    let error = check(Some(ago(3660))).unwrap_err();
    assert_eq!(error.overdue, Duration::from_secs(3600));
    assert!(error.to_string().contains("ns/lease"));
}

#[test]
fn a_lease_that_has_not_run_out_is_fine() {
    assert_eq!(check(Some(ago(1))), Ok(()));
    assert_eq!(check(Some(ago(60))), Ok(()));
}

#[test]
fn one_that_ran_out_within_the_tolerance_is_fine() {
    assert_eq!(check(Some(ago(61))), Ok(()));
    assert_eq!(check(Some(ago(80))), Ok(()));
    assert!(check(Some(ago(81))).is_err());
}
