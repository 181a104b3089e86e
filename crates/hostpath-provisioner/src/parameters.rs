//! The parameters of a StorageClass, parsed: `mode` and `subdir`.

use std::collections::BTreeMap;
use std::fmt;

use crate::location::{InvalidLocation, Location, SUBDIR_MAX_DEPTH, is_plain_name};

/// The only variable of a `subdir` template.
const NAMESPACE: &str = "${namespace}";
/// Stands in for the variable while a template is checked.
const NAMESPACE_SAMPLE: &str = "namespace";

/// What a class asks of its directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Permission bits of each directory, set whatever the process' umask is.
    pub mode: u32,
    subdir: Vec<String>,
}

/// Why a class' parameters cannot be used. Names the parameter, its value and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidParameters(String);

impl fmt::Display for InvalidParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidParameters {}

impl Default for Parameters {
    /// Mode 0777, since pods run as any user; directly below the root.
    fn default() -> Self {
        Self { mode: 0o777, subdir: Vec::new() }
    }
}

impl Parameters {
    /// Reads the `parameters` of a StorageClass.
    ///
    /// # Errors
    /// On an unknown parameter, a mode that is not octal between 0700 and 7777 with the owner's
    /// rights set, and a subdir that could leave the root.
    pub fn parse(parameters: Option<&BTreeMap<String, String>>) -> Result<Self, InvalidParameters> {
        let mut parsed = Self::default();
        for (name, value) in parameters.into_iter().flatten() {
            match name.as_str() {
                "mode" => parsed.mode = parse_mode(value)?,
                "subdir" => parsed.subdir = parse_subdir(value)?,
                _ => {
                    return Err(InvalidParameters(format!(
                        "the class parameter {name:?} is unknown: only mode and subdir exist"
                    )));
                }
            }
        }
        Ok(parsed)
    }

    /// Where the directory of a claim belongs.
    ///
    /// # Errors
    /// When the claim's namespace or UID cannot be part of a path.
    pub fn locate(&self, namespace: &str, claim_uid: &str) -> Result<Location, InvalidLocation> {
        let subdir =
            self.subdir.iter().map(|component| component.replace(NAMESPACE, namespace)).collect();
        Location::new(subdir, claim_uid)
    }
}

fn parse_mode(value: &str) -> Result<u32, InvalidParameters> {
    let octal =
        (3..=5).contains(&value.len()) && value.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    octal
        .then(|| u32::from_str_radix(value, 8).ok())
        .flatten()
        .filter(|mode| *mode <= 0o7777 && mode & 0o700 == 0o700)
        .ok_or_else(|| {
            InvalidParameters(format!(
                "the class parameter mode is {value:?}: it must be octal, from 0700 to 7777, and give the owner all \
                 rights (7 in the hundreds), or the directory could not be taken back"
            ))
        })
}

fn parse_subdir(value: &str) -> Result<Vec<String>, InvalidParameters> {
    if value.is_empty() {
        return Ok(Vec::new());
    }
    let components: Vec<String> = value.split('/').map(str::to_owned).collect();
    let plain = components
        .iter()
        .all(|component| is_plain_name(&component.replace(NAMESPACE, NAMESPACE_SAMPLE)));
    if plain && components.len() <= SUBDIR_MAX_DEPTH {
        return Ok(components);
    }
    Err(InvalidParameters(format!(
        "the class parameter subdir is {value:?}: it must be at most {SUBDIR_MAX_DEPTH} plain folder names joined by \
         '/', in which {NAMESPACE} may stand; no \"..\", no leading dot or slash, no name that begins with \"pvc-\""
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<Parameters, InvalidParameters> {
        Parameters::parse(Some(
            &pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        ))
    }

    #[test]
    fn the_default_is_open_and_flat() {
        let parameters = Parameters::parse(None).unwrap();
        assert_eq!(parameters.mode, 0o777);
        assert_eq!(parameters.locate("shop", "u").unwrap().to_string(), "pvc-u");
    }

    #[test]
    fn the_namespace_is_put_into_the_subdir() {
        let parameters =
            parse(&[("subdir", "tenants/${namespace}-data"), ("mode", "2770")]).unwrap();
        assert_eq!(parameters.mode, 0o2770);
        assert_eq!(parameters.locate("shop", "u").unwrap().to_string(), "tenants/shop-data/pvc-u");
        assert!(parameters.locate("../up", "u").is_err());
    }

    #[test]
    fn wrong_parameters_name_themselves_and_the_value() {
        for mode in ["", "777x", "888", "77", "0o777", "-777", "+777", "0070", "17777", "000000777"]
        {
            let message = parse(&[("mode", mode)]).unwrap_err().to_string();
            assert!(
                message.contains("mode") && message.contains(&format!("{mode:?}")),
                "{message}"
            );
        }
        for subdir in [
            "/",
            "/a",
            "a/",
            "a//b",
            "..",
            "a/../b",
            ".",
            "${name}",
            "~",
            "a b",
            "pvc-a",
            ".hostpath-provisioner",
        ] {
            let message = parse(&[("subdir", subdir)]).unwrap_err().to_string();
            assert!(
                message.contains("subdir") && message.contains(&format!("{subdir:?}")),
                "{message}"
            );
        }
        assert!(parse(&[("modes", "777")]).unwrap_err().to_string().contains("modes"));
    }
}
