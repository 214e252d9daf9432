use crate::{Builder, ConcurrentFilter, Error, Status};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard};

/// A filter in front of a slow function. It answers most queries for absent keys itself, and a false
/// positive that the function has answered does not come back. Threads may share it.
///
/// ```
/// # fn main() -> Result<(), besom::Error> {
/// let slow = |name: &[u8]| Ok::<_, ()>((name == b"ann").then(|| "Bonn"));
/// let aqf = besom::Filter::builder("aqf").capacity(1000);
/// let city = besom::Guard::wrap(&aqf, ["ann"], slow)?;
/// assert_eq!(city.get("ann"), Ok(Some("Bonn")));
/// assert_eq!(city.get("eve"), Ok(None)); // without a call of slow
/// assert_eq!(city.stats().avoided, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Guard<F> {
    lookup: F,
    f: ConcurrentFilter,
    changing: Mutex<()>,
    begun: AtomicU64, // changes
    ended: AtomicU64, // of these
    asked: AtomicU64,
    avoided: AtomicU64,
    wrong: AtomicU64,
    reported: AtomicU64,
}

/// What a guard counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GuardStats {
    /// Queries.
    pub asked: u64,
    /// Answered no without the function.
    pub avoided: u64,
    /// The function said no.
    pub false_positives: u64,
    /// Of these, reported to the filter.
    pub reported: u64,
}

/// Counts a change as ended, also if it panics.
struct Change<'a>(&'a AtomicU64);

impl Drop for Change<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl<F> Guard<F> {
    /// Puts a filter of these keys in front of the function. `keys` must be all that it knows. The
    /// builder is of a kind with a concurrent form: aqf. A full filter is doubled, up to
    /// `max_capacity` (16 times the capacity, if it is not set) at its false-positive rate.
    pub fn wrap<V, E, I>(builder: &Builder, keys: I, lookup: F) -> Result<Self, Error>
    where
        F: Fn(&[u8]) -> Result<Option<V>, E>,
        I: IntoIterator,
        I::Item: AsRef<[u8]>,
    {
        let zero = || AtomicU64::new(0);
        let guard = Guard {
            lookup, f: builder.for_guard().create_concurrent()?, changing: Mutex::new(()), begun: zero(),
            ended: zero(), asked: zero(), avoided: zero(), wrong: zero(), reported: zero(),
        };
        for key in keys {
            guard.add(key.as_ref())?;
        }
        Ok(guard)
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Grows the filter if it is full.
    fn add(&self, key: &[u8]) -> Result<(), Error> {
        let _locked = self.lock();
        match self.f.insert(key) {
            Err(error) if error.status() == Status::Full => {
                match self.f.resize(2 * self.f.stats().slots) {
                    Err(limit) if limit.status() == Status::Invalid => return Err(error),
                    grown => grown?,
                }
                self.f.insert(key)
            }
            result => result,
        }
    }

    /// Asks the function, unless the filter is certain that there is no such key.
    pub fn get<V, E>(&self, key: impl AsRef<[u8]>) -> Result<Option<V>, E>
    where
        F: Fn(&[u8]) -> Result<Option<V>, E>,
    {
        let key = key.as_ref();
        self.asked.fetch_add(1, SeqCst);
        let ended = self.ended.load(SeqCst);
        if !self.f.contains(key) {
            self.avoided.fetch_add(1, SeqCst);
            return Ok(None);
        }
        let value = (self.lookup)(key)?;
        if value.is_none() {
            self.wrong.fetch_add(1, SeqCst);
            self.report(key, ended);
        }
        Ok(value)
    }

    /// Reports only if no `put` ran since the function was asked: the key may be a member now.
    fn report(&self, key: &[u8], ended: u64) {
        let _locked = self.lock();
        if self.begun.load(SeqCst) == ended && self.f.report(key).is_ok() {
            self.reported.fetch_add(1, SeqCst);
        }
    }

    /// Adds a key: first to the filter, then by `write` to the store, so that no query misses it. If
    /// `write` fails, the key may be in the filter; that costs a call of the function.
    pub fn put<T>(&self, key: impl AsRef<[u8]>, write: impl FnOnce() -> T) -> Result<T, Error> {
        self.begun.fetch_add(1, SeqCst);
        let _change = Change(&self.ended);
        self.add(key.as_ref())?;
        Ok(write())
    }

    /// The counters.
    pub fn stats(&self) -> GuardStats {
        GuardStats {
            asked: self.asked.load(SeqCst),
            avoided: self.avoided.load(SeqCst),
            false_positives: self.wrong.load(SeqCst),
            reported: self.reported.load(SeqCst),
        }
    }

    /// The filter, for statistics.
    pub fn filter(&self) -> &ConcurrentFilter {
        &self.f
    }
}
