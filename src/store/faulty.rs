//! A store that fails on purpose: the N-th write operation, once or from then on.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Exclusive, Name, Store, StoreError};

/// When operations fail. They are counted from 1 over everything that changes the store, and with
/// [`Faulty::with_reads`] over everything that reads it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// None.
    Never,
    /// This one only, before it has any effect.
    Once(u64),
    /// This one and all that follow: the disk is full, or the process is as good as dead.
    From(u64),
    /// This one takes effect and is reported as failed, and all that follow fail: a crash just after it.
    AfterFrom(u64),
}

/// Wraps a store and fails by [`Schedule`].
#[derive(Debug)]
pub struct Faulty<S> {
    inner: S,
    schedule: Schedule,
    reads: bool,
    count: AtomicU64,
}

impl<S: Store> Faulty<S> {
    /// `inner`, failing by `schedule`.
    pub fn new(inner: S, schedule: Schedule) -> Self {
        Self { inner, schedule, reads: false, count: AtomicU64::new(0) }
    }

    /// `inner`, failing by `schedule`, of which reads are a part.
    pub fn with_reads(inner: S, schedule: Schedule) -> Self {
        Self { reads: true, ..Self::new(inner, schedule) }
    }

    fn read<T>(&self, name: &str, operation: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        if self.reads { attempt(&self.count, self.schedule, name, operation) } else { operation() }
    }

    /// How many operations that count were asked for so far.
    pub fn operations(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// The store inside, for looking at what is left.
    pub fn inner(&self) -> &S {
        &self.inner
    }
}

fn attempt<T>(
    count: &AtomicU64,
    schedule: Schedule,
    name: &str,
    operation: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let number = count.fetch_add(1, Ordering::SeqCst) + 1;
    let injected = || StoreError::io("use", name, io::Error::other("injected fault"));
    match schedule {
        Schedule::Once(at) if number == at => Err(injected()),
        Schedule::From(at) if number >= at => Err(injected()),
        Schedule::AfterFrom(at) if number > at => Err(injected()),
        Schedule::AfterFrom(at) if number == at => operation().and_then(|_| Err(injected())),
        _ => operation(),
    }
}

impl<S: Store> Store for Faulty<S> {
    fn put(&self, name: &Name, content: &mut dyn Read) -> Result<(), StoreError> {
        attempt(&self.count, self.schedule, name.as_str(), || self.inner.put(name, content))
    }

    fn promote(&self, from: &Name, to: &Name) -> Result<(), StoreError> {
        attempt(&self.count, self.schedule, from.as_str(), || self.inner.promote(from, to))
    }

    fn publish(&self, name: &Name, content: &[u8]) -> Result<(), StoreError> {
        attempt(&self.count, self.schedule, name.as_str(), || self.inner.publish(name, content))
    }

    fn settle(&self, names: &[Name]) -> Result<(), StoreError> {
        attempt(&self.count, self.schedule, "settle", || self.inner.settle(names))
    }

    fn open(&self, name: &Name) -> Result<Option<Box<dyn Read + Send>>, StoreError> {
        self.read(name.as_str(), || self.inner.open(name))
    }

    fn size(&self, name: &Name) -> Result<Option<u64>, StoreError> {
        self.read(name.as_str(), || self.inner.size(name))
    }

    fn list(&self, folder: &str) -> Result<Vec<Name>, StoreError> {
        self.read(folder, || self.inner.list(folder))
    }

    fn remove(&self, name: &Name) -> Result<(), StoreError> {
        attempt(&self.count, self.schedule, name.as_str(), || self.inner.remove(name))
    }

    fn lock(&self) -> Result<Box<dyn Exclusive + '_>, StoreError> {
        let inner = self.inner.lock()?;
        Ok(Box::new(Held { inner, count: &self.count, schedule: self.schedule }))
    }

    fn cell(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.read("cell", || self.inner.cell())
    }
}

struct Held<'a> {
    inner: Box<dyn Exclusive + 'a>,
    count: &'a AtomicU64,
    schedule: Schedule,
}

impl Exclusive for Held<'_> {
    fn cell(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.cell()
    }

    fn swap(&mut self, expected: Option<&[u8]>, new: &[u8]) -> Result<bool, StoreError> {
        let inner = &mut self.inner;
        attempt(self.count, self.schedule, "cell", || inner.swap(expected, new))
    }
}
