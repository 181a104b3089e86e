//! wq-core beside client-go's work queue, and beside itself: what its gates in `gates.toml` are
//! about.

use anyhow::Result;
use rivals::Bench;

mod alone;
mod ourselves;
mod tasks;
mod threads;

fn main() -> Result<()> {
    let mut bench = Bench::start()?;
    alone::run(&mut bench)?;
    threads::run(&mut bench)?;
    tasks::run(&mut bench)?;
    ourselves::run(&mut bench)?;
    bench.end();
    Ok(())
}
