//! Numbers: bounds, multiples, and whether they are of the schema's type and format.

use k8s_value::FieldError;
use k8s_value::go_value::{float_text, shown};
use serde_json::Value;

use super::{Checker, Found, Problem, plain};
use crate::numbers::is_whole;
use crate::path::Path;
use crate::schema::Schema;
use crate::types::Type;

impl Checker<'_> {
    pub(super) fn number(
        &self,
        schema: &Schema,
        value: &Value,
        path: &Path<'_>,
        found: &mut Found,
    ) {
        let limits = &schema.limits;
        let float = value.as_f64().unwrap_or_default();
        let native = value.as_i64();
        if let Some(problem) = self.range(schema, native, float, "Checked", path) {
            found.add(problem);
        }
        if let Some(factor) = limits.multiple_of {
            let unfit = self.range(schema, None, factor, "MultipleOf", path);
            let of_integers = native.filter(|_| unfit.is_none());
            unfit.into_iter().for_each(|problem| found.add(problem));
            if let Some(problem) = self.multiple(value, of_integers, float, factor, path) {
                found.add(problem);
            }
        }
        let bounds = [
            (limits.minimum, limits.exclusive_minimum, "Minimum", "greater", false),
            (limits.maximum, limits.exclusive_maximum, "Maximum", "less", true),
        ];
        for (bound, exclusive, name, word, above) in bounds {
            let Some(bound) = bound else { continue };
            let unfit = self.range(schema, None, bound, &format!("{name} boundary"), path);
            let of_integers = native.filter(|_| unfit.is_none());
            unfit.into_iter().for_each(|problem| found.add(problem));
            let (order, text) = match of_integers {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "as Go's int64(bound): an integer meets a bound cut to one"
                )]
                Some(integer) => (integer.cmp(&(bound as i64)), (bound as i64).to_string()),
                None => (float.total_cmp(&bound), float_text(bound)),
            };
            let beyond = if above { order.is_gt() } else { order.is_lt() };
            if beyond || (exclusive && order.is_eq()) {
                let or_equal = if exclusive { "" } else { " or equal to" };
                let what = format!("should be {word} than{or_equal} {text}");
                found.add(self.wrong(path, &shown(value), &what));
            }
        }
    }

    /// Whether a number, or a bound of it, is one of the schema's type and format at all.
    fn range(
        &self,
        schema: &Schema,
        native: Option<i64>,
        float: f64,
        what: &str,
        path: &Path<'_>,
    ) -> Option<Problem> {
        let format = schema.format.map_or("", |format| format.name());
        let fits = match (schema.types, format) {
            (Type::Integer, "int32") => match native {
                Some(integer) => i32::try_from(integer).is_ok(),
                None => float.fract() == 0.0 && float.abs() <= f64::from(i32::MAX),
            },
            (Type::Integer, _) => native.is_some() || (float.fract() == 0.0 && float.abs() < 1e19),
            (Type::Number, "float") => float.abs() <= f64::from(f32::MAX),
            _ => true,
        };
        (!fits).then(|| {
            let with = if format.is_empty() {
                "(default format)".to_owned()
            } else {
                format!("with format {format}")
            };
            self.loose(format!(
                "{what} value must be of type {} {with} in {}",
                schema.types.name(),
                plain(path)
            ))
        })
    }

    fn multiple(
        &self,
        value: &Value,
        native: Option<i64>,
        float: f64,
        factor: f64,
        path: &Path<'_>,
    ) -> Option<Problem> {
        #[expect(clippy::cast_possible_truncation, reason = "as Go's int64(multipleOf)")]
        let (positive, multiple, text) = match native {
            Some(integer) => {
                let factor = factor as i64;
                (factor > 0, integer.checked_rem(factor) == Some(0), factor.to_string())
            }
            None => {
                let times = if factor < 1.0 { 1.0 / factor * float } else { float / factor };
                (factor > 0.0, is_whole(times), float_text(factor))
            }
        };
        if !positive {
            let path = plain(path);
            let message = format!("factor MultipleOf declared for {path} must be positive: {text}");
            return Some(self.problem(&path, FieldError::invalid_shown, &text, message));
        }
        (!multiple)
            .then(|| self.wrong(path, &shown(value), &format!("should be a multiple of {text}")))
    }
}
