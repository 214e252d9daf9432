use crate::callback::bytes;
use crate::error::check;
use crate::{Error, Filter, Stats};
use besom_sys as sys;
use std::ptr::null_mut;

/// A filter that any number of threads may ask and change at once (aqf). Queries wait for nothing.
///
/// ```
/// # fn main() -> Result<(), besom::Error> {
/// let f = besom::Filter::builder("aqf").capacity(10_000).create_concurrent()?;
/// std::thread::scope(|threads| {
///     for t in 0..4u64 {
///         let f = &f;
///         threads.spawn(move || (0..1000).for_each(|i| f.insert_u64(t << 32 | i).unwrap()));
///     }
/// });
/// assert!(f.contains_u64(3 << 32 | 999));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ConcurrentFilter {
    f: Filter,
}

impl ConcurrentFilter {
    pub(crate) fn of(f: Filter) -> ConcurrentFilter {
        ConcurrentFilter { f }
    }

    /// As [`Filter::contains`].
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        self.f.contains(key)
    }

    /// As [`Filter::contains_u64`].
    pub fn contains_u64(&self, key: u64) -> bool {
        self.f.contains_u64(key)
    }

    /// As [`Filter::contains_many`].
    pub fn contains_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Vec<bool> {
        self.f.contains_many(keys)
    }

    /// As [`Filter::insert`].
    pub fn insert(&self, key: impl AsRef<[u8]>) -> Result<(), Error> {
        let key = bytes(key.as_ref());
        check(unsafe { sys::besom_insert(self.f.ptr_shared(), key.data, key.len) })
    }

    /// As [`Filter::insert_u64`].
    pub fn insert_u64(&self, key: u64) -> Result<(), Error> {
        check(unsafe { sys::besom_insert_u64(self.f.ptr_shared(), key) })
    }

    /// As [`Filter::remove`].
    pub fn remove(&self, key: impl AsRef<[u8]>) -> Result<(), Error> {
        let key = bytes(key.as_ref());
        check(unsafe { sys::besom_remove(self.f.ptr_shared(), key.data, key.len) })
    }

    /// As [`Filter::remove_u64`].
    pub fn remove_u64(&self, key: u64) -> Result<(), Error> {
        self.remove(key.to_le_bytes())
    }

    /// As [`Filter::report`].
    pub fn report(&self, key: impl AsRef<[u8]>) -> Result<(), Error> {
        let key = bytes(key.as_ref());
        check(unsafe { sys::besom_adapt(self.f.ptr_shared(), key.data, key.len) })
    }

    /// As [`Filter::report_u64`].
    pub fn report_u64(&self, key: u64) -> Result<(), Error> {
        self.report(key.to_le_bytes())
    }

    /// As [`Filter::resize`]. Queries use the old table meanwhile, writers wait.
    pub fn resize(&self, slots: u64) -> Result<(), Error> {
        check(unsafe { sys::besom_resize(self.f.ptr_shared(), slots, null_mut()) })
    }

    /// As [`Filter::stats`].
    pub fn stats(&self) -> Stats {
        self.f.stats()
    }

    /// As [`Filter::save_to`].
    pub fn save_to(&self, to: &mut impl std::io::Write) -> Result<(), Error> {
        self.f.save_to(to)
    }
}
