//! Progress of long work, on a terminal only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::context::Context;

/// A bar that counts `total` steps of `what`; silent unless a person is watching, and for the first half second.
pub fn bar(context: &Context, what: &'static str, total: u64) -> ProgressBar {
    styled(context, what, total, "{msg:12} [{bar:30}] {human_pos}/{human_len} {per_sec} {eta}")
}

/// As [`bar`], counting bytes.
pub fn bytes(context: &Context, what: &'static str, total: u64) -> ProgressBar {
    styled(context, what, total, "{msg:12} [{bar:30}] {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {eta}")
}

fn styled(context: &Context, what: &'static str, total: u64, template: &'static str) -> ProgressBar {
    let target =
        if context.shows_progress() { ProgressDrawTarget::stderr_with_hz(10) } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template(template);
    let bar = ProgressBar::with_draw_target(Some(total), target).with_message(what);
    let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}
