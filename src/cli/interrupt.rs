//! Ctrl-C and its kin: the first asks for a clean end, the second ends at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};

use super::failure::{Exit, Failure};

/// A flag that is set by the first signal to end.
pub fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // Asked first, when the flag is not yet set by the same signal.
        register_conditional_shutdown(signal, Exit::Failed.code().into(), Arc::clone(&flag))?;
        register(signal, Arc::clone(&flag))?;
    }
    Ok(flag)
}
