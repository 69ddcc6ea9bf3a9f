//! A ledger in memory: for tests and for runs that must leave nothing behind.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::directory::same_stream;
use super::{Exclusive, Name, Store, StoreError};

/// Names and bytes behind a mutex; cloning shares them.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    files: Arc<Mutex<BTreeMap<Name, Vec<u8>>>>,
    cell: Arc<Mutex<Option<Vec<u8>>>>,
    /// Held by the one writer.
    writer: Arc<Mutex<()>>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A writer that panicked left whole values behind: each change is one assignment.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// A copy of every name and its bytes.
    pub fn files(&self) -> BTreeMap<Name, Vec<u8>> {
        held(&self.files).clone()
    }
}

fn taken(name: &Name, content: &mut dyn Read) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    content.read_to_end(&mut bytes).map_err(|error| StoreError::io("read", name, error))?;
    Ok(bytes)
}

impl Store for Memory {
    fn put(&self, name: &Name, content: &mut dyn Read) -> Result<(), StoreError> {
        let mut files = held(&self.files);
        if let Some(stored) = files.get(name) {
            let same =
                same_stream(&mut stored.as_slice(), content).map_err(|error| StoreError::io("read", name, error));
            return if same? { Ok(()) } else { Err(StoreError::Conflict { name: name.to_string() }) };
        }
        let bytes = taken(name, content)?;
        files.insert(name.clone(), bytes);
        Ok(())
    }

    fn promote(&self, from: &Name, to: &Name) -> Result<(), StoreError> {
        let mut files = held(&self.files);
        let Some(bytes) = files.remove(from) else {
            return Err(StoreError::io("move", from, std::io::ErrorKind::NotFound.into()));
        };
        files.insert(to.clone(), bytes);
        Ok(())
    }

    fn publish(&self, name: &Name, content: &[u8]) -> Result<(), StoreError> {
        held(&self.files).insert(name.clone(), content.to_vec());
        Ok(())
    }

    fn settle(&self, names: &[Name]) -> Result<(), StoreError> {
        let files = held(&self.files);
        match names.iter().find(|name| !files.contains_key(name)) {
            None => Ok(()),
            Some(name) => Err(StoreError::io("sync", name, std::io::ErrorKind::NotFound.into())),
        }
    }

    fn open(&self, name: &Name) -> Result<Option<Box<dyn Read + Send>>, StoreError> {
        Ok(held(&self.files).get(name).map(|bytes| Box::new(Cursor::new(bytes.clone())) as _))
    }

    fn size(&self, name: &Name) -> Result<Option<u64>, StoreError> {
        Ok(held(&self.files).get(name).map(|bytes| bytes.len() as u64))
    }

    fn list(&self, folder: &str) -> Result<Vec<Name>, StoreError> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        Ok(held(&self.files).keys().filter(|name| name.as_str().starts_with(&prefix)).cloned().collect())
    }

    fn remove(&self, name: &Name) -> Result<(), StoreError> {
        held(&self.files).remove(name);
        Ok(())
    }

    fn lock(&self) -> Result<Box<dyn Exclusive + '_>, StoreError> {
        Ok(Box::new(Held { cell: &self.cell, _writer: held(&self.writer) }))
    }

    fn cell(&self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(held(&self.cell).clone())
    }
}

struct Held<'a> {
    cell: &'a Mutex<Option<Vec<u8>>>,
    _writer: MutexGuard<'a, ()>,
}

impl Exclusive for Held<'_> {
    fn cell(&self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(held(self.cell).clone())
    }

    fn swap(&mut self, expected: Option<&[u8]>, new: &[u8]) -> Result<bool, StoreError> {
        let mut cell = held(self.cell);
        let matches = cell.as_deref() == expected;
        if matches {
            *cell = Some(new.to_vec());
        }
        Ok(matches)
    }
}
