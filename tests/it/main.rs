//! One test binary for everything that crosses a module.

mod tidy;
