use crate::callback::{bytes, Source};
use crate::error::check;
use crate::{Builder, ConcurrentFilter, Error, Status};
use besom_sys as sys;
use std::ffi::CStr;
use std::fmt;
use std::mem::{size_of, zeroed};
use std::os::raw::c_char;
use std::ptr::{null, null_mut, NonNull};

/// A static string of C.
pub(crate) unsafe fn text(s: *const c_char) -> &'static str {
    CStr::from_ptr(s).to_str().unwrap_or("?")
}

const BATCH: usize = 256;

/// A set of keys that answers with false positives, but never with a false no.
///
/// Queries take `&self`, so any number of threads may ask at once.
pub struct Filter {
    c: NonNull<sys::besom_filter>,
}

// The library has no global or thread-local state. Calls on a const filter may run beside each other.
unsafe impl Send for Filter {}
unsafe impl Sync for Filter {}

impl Drop for Filter {
    fn drop(&mut self) {
        unsafe { sys::besom_free(self.c.as_ptr()) }
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stats().fmt(to)
    }
}

/// What every kind can tell: `besom_statistics` of the header.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub struct Stats {
    pub kind: &'static str,
    pub hash: &'static str,
    pub isa: &'static str,
    pub keys: u64,
    pub capacity: u64,
    pub slots: u64,
    pub width: u32,
    pub bytes: u64,
    pub bits_per_key: f64,
    pub load_factor: f64,
    pub expected_fpr: f64,
    pub fpr_at_capacity: f64,
    pub workload_fpr: f64,
    pub reserve_used: f64,
}

impl Filter {
    /// Begins to make a filter of this kind ([`crate::kinds`], docs/kinds.md).
    pub fn builder(kind: &str) -> Builder {
        Builder::new(kind)
    }

    pub(crate) unsafe fn owning(c: *mut sys::besom_filter) -> Filter {
        Filter { c: NonNull::new_unchecked(c) }
    }

    pub(crate) fn ptr(&self) -> *const sys::besom_filter {
        self.c.as_ptr()
    }

    pub(crate) fn ptr_mut(&mut self) -> *mut sys::besom_filter {
        self.c.as_ptr()
    }

    /// For filters that several threads may change.
    pub(crate) fn ptr_shared(&self) -> *mut sys::besom_filter {
        self.c.as_ptr()
    }

    /// Makes an empty filter of the same kind, geometry, hash and seed: the two can be merged.
    pub fn empty(&self) -> Result<Filter, Error> {
        let mut out = null_mut();
        check(unsafe { sys::besom_create_like(self.ptr(), &mut out) })?;
        Ok(unsafe { Filter::owning(out) })
    }

    /// Makes a filter of these keys with the geometry of this one, so that [`Filter::diff`] of both
    /// is small.
    pub fn build_like<I>(&self, yes: I) -> Result<Filter, Error>
    where
        I: IntoIterator,
        I::IntoIter: Clone,
        I::Item: AsRef<[u8]>,
    {
        crate::builder::build_like(self, yes.into_iter())
    }

    /// Makes it a filter that several threads may change (aqf).
    pub fn share(mut self) -> Result<ConcurrentFilter, Error> {
        check(unsafe { sys::besom_share(self.ptr_mut()) })?;
        Ok(ConcurrentFilter::of(self))
    }

    /// May the key be a member? A no is certain.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        let key = bytes(key.as_ref());
        unsafe { sys::besom_contains(self.ptr(), key.data, key.len) }
    }

    /// The same for the 8 little-endian bytes of an integer.
    pub fn contains_u64(&self, key: u64) -> bool {
        unsafe { sys::besom_contains_u64(self.ptr(), key) }
    }

    /// Asks for many keys, which is two to three times as fast if the filter exceeds the cache.
    pub fn contains_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Vec<bool> {
        let mut answers = Vec::with_capacity(keys.len());
        for batch in keys.chunks(BATCH) {
            let mut given = [sys::besom_bytes { data: null(), len: 0 }; BATCH];
            for (to, key) in given.iter_mut().zip(batch) {
                *to = bytes(key.as_ref());
            }
            let mut bitmap = [0u64; BATCH / 64];
            unsafe {
                sys::besom_contains_many(
                    self.ptr(), given.as_ptr(), batch.len(), bitmap.as_mut_ptr(),
                );
            }
            answers.extend((0..batch.len()).map(|i| bitmap[i / 64] >> (i % 64) & 1 != 0));
        }
        answers
    }

    /// The same for integers.
    pub fn contains_many_u64(&self, keys: &[u64]) -> Vec<bool> {
        let mut bitmap = vec![0u64; keys.len() / 64 + 1];
        unsafe {
            sys::besom_contains_many_u64(
                self.ptr(), keys.as_ptr(), keys.len(), bitmap.as_mut_ptr(),
            );
        }
        (0..keys.len()).map(|i| bitmap[i / 64] >> (i % 64) & 1 != 0).collect()
    }

    /// Asks a list of domains (docs/lists.md) for the name and its parents.
    pub fn contains_domain(&self, name: &str) -> bool {
        let name = bytes(name.as_bytes());
        unsafe { sys::besom_domain_contains(self.ptr(), name.data, name.len, null_mut()) }
    }

    /// Adds a key. [`Status::Full`]: there is no room; [`Filter::resize`] makes some.
    pub fn insert(&mut self, key: impl AsRef<[u8]>) -> Result<(), Error> {
        let key = bytes(key.as_ref());
        check(unsafe { sys::besom_insert(self.ptr_mut(), key.data, key.len) })
    }

    /// The same for the 8 little-endian bytes of an integer.
    pub fn insert_u64(&mut self, key: u64) -> Result<(), Error> {
        check(unsafe { sys::besom_insert_u64(self.ptr_mut(), key) })
    }

    /// Adds keys in order, and stops at the first failure: [`Error::done`] keys were added.
    pub fn insert_many<K: AsRef<[u8]>>(&mut self, keys: &[K]) -> Result<(), Error> {
        for (i, batch) in keys.chunks(BATCH).enumerate() {
            let mut given = [sys::besom_bytes { data: null(), len: 0 }; BATCH];
            for (to, key) in given.iter_mut().zip(batch) {
                *to = bytes(key.as_ref());
            }
            let (c, n, mut done) = (self.ptr_mut(), batch.len(), 0);
            check(unsafe { sys::besom_insert_many(c, given.as_ptr(), n, &mut done) })
                .map_err(|error| error.after(i * BATCH + done))?;
        }
        Ok(())
    }

    /// The same for integers.
    pub fn insert_many_u64(&mut self, keys: &[u64]) -> Result<(), Error> {
        let (c, n, mut done) = (self.ptr_mut(), keys.len(), 0);
        check(unsafe { sys::besom_insert_many_u64(c, keys.as_ptr(), n, &mut done) })
            .map_err(|error| error.after(done))
    }

    /// Takes out one copy of a member. Only what was inserted: else it may take out another key.
    pub fn remove(&mut self, key: impl AsRef<[u8]>) -> Result<(), Error> {
        let key = bytes(key.as_ref());
        check(unsafe { sys::besom_remove(self.ptr_mut(), key.data, key.len) })
    }

    /// The same for the 8 little-endian bytes of an integer.
    pub fn remove_u64(&mut self, key: u64) -> Result<(), Error> {
        self.remove(key.to_le_bytes())
    }

    /// How often the key was inserted, at least; kinds that count.
    pub fn count(&self, key: impl AsRef<[u8]>) -> Result<u64, Error> {
        let (key, mut n) = (bytes(key.as_ref()), 0);
        check(unsafe { sys::besom_count(self.ptr(), key.data, key.len, &mut n) })?;
        Ok(n)
    }

    /// The same for the 8 little-endian bytes of an integer.
    pub fn count_u64(&self, key: u64) -> Result<u64, Error> {
        self.count(key.to_le_bytes())
    }

    /// Reports a false positive: from now on the filter answers no. The caller has made sure that
    /// the key is absent. [`Status::ReserveFull`]: the memory for reports is used up.
    pub fn report(&mut self, key: impl AsRef<[u8]>) -> Result<(), Error> {
        let key = bytes(key.as_ref());
        check(unsafe { sys::besom_adapt(self.ptr_mut(), key.data, key.len) })
    }

    /// The same for the 8 little-endian bytes of an integer.
    pub fn report_u64(&mut self, key: u64) -> Result<(), Error> {
        self.report(key.to_le_bytes())
    }

    /// Puts an absent key on the no list: it is answered no, whatever is inserted later.
    pub fn no_add(&mut self, key: impl AsRef<[u8]>) -> Result<(), Error> {
        let key = bytes(key.as_ref());
        check(unsafe { sys::besom_no_add(self.ptr_mut(), key.data, key.len) })
    }

    /// Takes a key off the no list.
    pub fn no_remove(&mut self, key: impl AsRef<[u8]>) -> Result<(), Error> {
        let key = bytes(key.as_ref());
        check(unsafe { sys::besom_no_remove(self.ptr_mut(), key.data, key.len) })
    }

    /// Sets how many reports the filter holds, and whether it forgets old ones at that limit.
    pub fn set_reserve(&mut self, reports: u64, forget: bool) -> Result<(), Error> {
        check(unsafe { sys::besom_set_reserve(self.ptr_mut(), reports, forget) })
    }

    /// Makes a filter that has the keys of both, which must be of one geometry and seed.
    pub fn merge(&self, other: &Filter) -> Result<Filter, Error> {
        let mut out = null_mut();
        check(unsafe { sys::besom_merge(self.ptr(), other.ptr(), &mut out) })?;
        Ok(unsafe { Filter::owning(out) })
    }

    /// Changes the number of slots by a power of two. No answer changes.
    pub fn resize(&mut self, slots: u64) -> Result<(), Error> {
        check(unsafe { sys::besom_resize(self.ptr_mut(), slots, null_mut()) })
    }

    /// Rebuilds the filter under a new random seed. `yes` gives all members. Reports are dropped.
    pub fn rekey<I>(&mut self, yes: I) -> Result<(), Error>
    where
        I: IntoIterator,
        I::IntoIter: Clone,
        I::Item: AsRef<[u8]>,
    {
        let mut source = Source::new(yes.into_iter());
        let yes = source.for_c();
        let status = unsafe {
            sys::besom_rekey(self.ptr_mut(), &yes, null(), null(), null_mut())
        };
        source.caught.end();
        check(status)
    }

    /// Describes the filter.
    pub fn stats(&self) -> Stats {
        unsafe {
            let mut s: sys::besom_statistics = zeroed();
            sys::besom_stats_sized(self.ptr(), &mut s, size_of::<sys::besom_statistics>());
            Stats {
                kind: text(s.kind), hash: text(s.hash), isa: text(s.isa), keys: s.keys,
                capacity: s.capacity, slots: s.slots, width: s.width, bytes: s.bytes,
                bits_per_key: s.bits_per_key, load_factor: s.load_factor,
                expected_fpr: s.expected_fpr, fpr_at_capacity: s.fpr_at_capacity,
                workload_fpr: s.workload_fpr, reserve_used: s.reserve_used,
            }
        }
    }

    /// What only some kinds count, with its name (docs/kinds.md).
    pub fn counters(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let mut counters = [sys::besom_counter { name: null(), value: 0 }; 64];
        let n = unsafe { sys::besom_counters(self.ptr(), counters.as_mut_ptr(), counters.len()) };
        counters.into_iter().take(n).map(|c| (unsafe { text(c.name) }, c.value))
    }

    /// Checks every invariant of the filter.
    pub fn validate(&self) -> Result<(), Error> {
        let mut reason = null();
        match unsafe { sys::besom_validate(self.ptr(), &mut reason) } {
            sys::BESOM_OK => Ok(()),
            number if reason.is_null() => Err(Error::new(Status::of(number))),
            number => Err(Error::with_detail(Status::of(number), unsafe { text(reason) })),
        }
    }
}
