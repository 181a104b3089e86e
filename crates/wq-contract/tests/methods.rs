//! How many public methods each queue has: a reader must be able to know them all.

use std::fs;
use std::path::Path;

/// Crate, type, how many at most.
const QUEUES: [(&str, &str, usize); 3] = [
    ("wq-core", "WorkQueue", 28),
    ("wq-delay", "DelayingQueue", 36),
    ("wq-ratelimit", "RateLimitingQueue", 39),
];

#[test]
fn no_queue_grows_another_method_unseen() {
    for (name, queue, most) in QUEUES {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
        let mut methods = Vec::new();
        for entry in fs::read_dir(source).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                methods.extend(methods_of(queue, &fs::read_to_string(path).unwrap()));
            }
        }
        assert!(
            methods.len() <= most,
            "{queue} has {} methods, at most {most}: {methods:?}",
            methods.len()
        );
        assert!(methods.iter().any(|method| method == "shutdown_now"), "{queue}: {methods:?}");
    }
}

/// The public methods in the `impl` blocks of a type, as rustfmt writes them.
fn methods_of(queue: &str, text: &str) -> Vec<String> {
    let mut methods = Vec::new();
    let mut header = String::new();
    for line in text.lines() {
        if line.starts_with("impl") || line.starts_with('}') {
            header.clear();
        }
        if !header.ends_with('{') {
            header.push_str(line);
        }
        let is_inside = header.starts_with("impl")
            && !header.contains(" for ")
            && header.contains(&format!(" {queue}<"));
        let public = line.strip_prefix("    pub ").map(|rest| rest.trim_start_matches("const "));
        if is_inside && let Some(name) = public.and_then(|rest| rest.strip_prefix("fn ")) {
            methods.extend(name.split(['<', '(']).next().map(str::to_owned));
        }
    }
    methods
}
