//! The program: command line in, exit status out.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use hostpath_provisioner::{Asked, Cli, InputError, LogFormat, RunArgs, RunError};
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let args = match Cli::read(std::env::args_os()) {
        Ok(Asked::Run(args)) => args,
        Ok(Asked::Print(text)) => {
            // Whoever asked and closed the pipe does not want to know.
            let _ = io::stdout().write_all(text.as_bytes());
            return ExitCode::SUCCESS;
        }
        Err(error) => return ended(&RunError::Input(error)),
    };
    match start(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => ended(&error),
    }
}

fn start(args: &RunArgs) -> Result<(), RunError> {
    let filter = EnvFilter::try_new(&args.log_level).map_err(|error| {
        InputError::new(
            "--log-level",
            error,
            "write it as in info or hostpath_provisioner=debug,warn",
        )
    })?;
    let failed = |error: io::Error| RunError::Failed(error.to_string());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed)?;
    let ran = runtime.block_on(async {
        let stop = reconciler::shutdown_signal().map_err(failed)?;
        // The log begins after the checks: what is wrong with the input is one line, without what
        // libraries say about it.
        hostpath_provisioner::run(args, stop, || log(args.log_format, filter)).await
    });
    // Blocking work that outlasted its grace is left to the next leader, as after a crash.
    runtime.shutdown_background();
    ran.map(drop)
}

fn log(format: LogFormat, filter: EnvFilter) {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        // It would tell on stderr that stderr is closed, and panic: who does not read the log any
        // more does not stop the work.
        .log_internal_errors(false);
    match format {
        LogFormat::Text => builder.with_ansi(io::stderr().is_terminal()).init(),
        LogFormat::Json => builder.json().init(),
    }
}

fn ended(error: &RunError) -> ExitCode {
    let _ = writeln!(io::stderr(), "hostpath-provisioner: {error}");
    match error {
        RunError::Input(_) => ExitCode::from(2),
        RunError::Failed(_) => ExitCode::from(1),
    }
}
