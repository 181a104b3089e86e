//! `anyOf`, `oneOf`, `allOf` and `not`.

use serde_json::Value;

use super::{Checker, Found, plain};
use crate::old::Old;
use crate::path::Path;
use crate::schema::Schema;

impl Checker<'_> {
    pub(super) fn alternatives(
        &self,
        schema: &Schema,
        value: &Value,
        old: Old<'_>,
        path: &Path<'_>,
        found: &mut Found,
    ) {
        let place = || format!("{:?}", plain(path));
        if !schema.any_of.is_empty() {
            let mut best: Option<Found> = None;
            let mut valid = None;
            for one in &schema.any_of {
                let result = self.value(one, value, old, path);
                if result.is_valid() {
                    valid = Some(result);
                    break;
                }
                if best.as_ref().is_none_or(|best| result.passed > best.passed) {
                    best = Some(result);
                }
            }
            if valid.is_none() {
                found.add(
                    self.loose(format!("{} must validate at least one schema (anyOf)", place())),
                );
            }
            valid.or(best).into_iter().for_each(|result| found.merge(result));
        }
        if !schema.one_of.is_empty() {
            let mut best: Option<Found> = None;
            let mut first_valid = None;
            let mut valid = 0_u32;
            for one in &schema.one_of {
                let result = self.value(one, value, old, path);
                if result.is_valid() {
                    valid += 1;
                    best = None;
                    first_valid.get_or_insert(result);
                } else if valid == 0 && best.as_ref().is_none_or(|best| result.passed > best.passed)
                {
                    best = Some(result);
                }
            }
            if valid == 1 {
                first_valid.into_iter().for_each(|result| found.merge(result));
            } else {
                let why = match valid {
                    0 => "Found none valid".to_owned(),
                    several => format!("Found {several} valid alternatives"),
                };
                found.add(self.loose(format!(
                    "{} must validate one and only one schema (oneOf). {why}",
                    place()
                )));
                best.into_iter().for_each(|result| found.merge(result));
            }
        }
        if !schema.all_of.is_empty() {
            let mut valid = 0;
            for one in &schema.all_of {
                let result = self.value(one, value, old, path);
                valid += usize::from(result.is_valid());
                found.merge(result);
            }
            if valid != schema.all_of.len() {
                let none = if valid == 0 { ". None validated" } else { "" };
                found.add(
                    self.loose(format!("{} must validate all the schemas (allOf){none}", place())),
                );
            }
        }
        if let Some(not) = &schema.not
            && self.value(not, value, old, path).is_valid()
        {
            found.add(self.loose(format!("{} must not validate the schema (not)", place())));
        }
        found.pass();
    }
}
