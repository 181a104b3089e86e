//! Records beyond the bound are counted, and fail the assertions.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::access::attributes::Attributes;
use crate::{EmbeddedApiServer, User};

fn asked(name: String) -> Attributes<'static> {
    Attributes::Resource {
        verb: "get".into(),
        group: "".into(),
        resource: "pods".into(),
        subresource: "".into(),
        namespace: "default".into(),
        name: name.into(),
    }
}

#[test]
fn what_is_not_kept_is_counted_and_nothing_is_asserted_of_it() {
    let server = EmbeddedApiServer::builder().rbac(true).build();
    let (stranger, bob) = (User::new("stranger"), User::new("bob"));
    let note = |user: &User, number: usize| {
        server.core().api().access.note_refused(user, &asked(number.to_string()));
    };
    (0..MOST).for_each(|number| note(&stranger, number));
    let access = server.access();
    assert_eq!((access.refused().len(), access.not_kept()), (MOST, 0));
    access.by("bob").assert_nothing_refused();
    // A known record is still counted.
    note(&stranger, 7);
    assert_eq!(access.not_kept(), 0);
    note(&bob, 0);
    assert_eq!((access.by("bob").refused().len(), access.not_kept()), (0, 1));
    let asserted =
        catch_unwind(AssertUnwindSafe(|| drop(access.by("bob").assert_nothing_refused().clone())));
    let why = asserted.expect_err("bob was refused something");
    let why = why.downcast_ref::<String>().expect("a message");
    assert!(why.contains("1 notes, of this or of other users, were not kept"), "{why}");
    access.forget();
    assert_eq!(access.not_kept(), 0);
    access.by("bob").assert_nothing_refused();
}
