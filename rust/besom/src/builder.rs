use crate::callback::{Caught, Progress, Source};
use crate::{ConcurrentFilter, Error, Filter, Map, Status};
use besom_sys as sys;
use std::ffi::{CStr, CString};
use std::mem::size_of;
use std::ptr::{null, null_mut};

/// What filter to make: `besom_config` of the header. What is not set has its default.
///
/// ```
/// # fn main() -> Result<(), besom::Error> {
/// let words = ["one", "two", "three"];
/// let f = besom::Filter::builder("fuse").fpr(0.001).build(&words)?;
/// assert!(f.contains("two"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    kind: String,
    options: String,
    hash: String,
    seed: Option<[u8; 16]>,
    capacity: u64,
    max_capacity: u64,
    fpr: f64,
    bits_per_key: f64,
    value_bits: u32,
    reserve: f64,
    no_capacity: u64,
    build_memory: u64,
    threads: u32,
    repeated: f64,
    copies: u64,
    flags: u32,
}

/// The config of C, and the strings that it points to.
struct ForC {
    config: sys::besom_config,
    _strings: Vec<CString>,
}

impl Builder {
    pub(crate) fn new(kind: &str) -> Builder {
        Builder {
            kind: kind.into(), options: String::new(), hash: String::new(), seed: None,
            capacity: 0, max_capacity: 0, fpr: 0.0, bits_per_key: 0.0, value_bits: 0, reserve: 0.0,
            no_capacity: 0, build_memory: 0, threads: 0, repeated: 0.0, copies: 0, flags: 0,
        }
    }

    /// Keys that the filter must hold.
    pub fn capacity(mut self, keys: u64) -> Self {
        self.capacity = keys;
        self
    }

    /// Keys that it can be resized to at the target rate.
    pub fn max_capacity(mut self, keys: u64) -> Self {
        self.max_capacity = keys;
        self
    }

    /// The target false-positive rate of the full filter; 1/256 by default.
    pub fn fpr(mut self, rate: f64) -> Self {
        self.fpr = rate;
        self
    }

    /// Bits per key, instead of a rate.
    pub fn bits_per_key(mut self, bits: f64) -> Self {
        self.bits_per_key = bits;
        self
    }

    /// An option of the kind (docs/kinds.md).
    pub fn option(mut self, name: &str, value: &str) -> Self {
        if !self.options.is_empty() {
            self.options.push(',');
        }
        self.options.extend([name, "=", value]);
        self
    }

    /// `xxh3`, the default, or `sip`.
    pub fn hash(mut self, name: &str) -> Self {
        self.hash = name.into();
        self
    }

    /// The seed of the hash; random by default.
    pub fn seed(mut self, seed: [u8; 16]) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Bits of a value per key.
    pub fn value_bits(mut self, bits: u32) -> Self {
        self.value_bits = bits;
        self
    }

    /// The share of the slots for reports.
    pub fn reserve(mut self, share: f64) -> Self {
        self.reserve = share;
        self
    }

    /// Room for keys of the no list.
    pub fn no_capacity(mut self, keys: u64) -> Self {
        self.no_capacity = keys;
        self
    }

    /// Bytes that `build` may use besides the filter.
    pub fn build_memory(mut self, bytes: u64) -> Self {
        self.build_memory = bytes;
        self
    }

    /// Threads of `build`.
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = threads;
        self
    }

    /// The share of the keys that are inserted more than once, and how often at most.
    pub fn repeated(mut self, share: f64, copies: u64) -> Self {
        self.repeated = share;
        self.copies = copies;
        self
    }

    /// A set: keeps each key once, and has no `remove`.
    pub fn set(mut self) -> Self {
        self.flags |= sys::BESOM_SET;
        self
    }

    /// `build` inserts a repeated key once.
    pub fn distinct(mut self) -> Self {
        self.flags |= sys::BESOM_DISTINCT;
        self
    }

    /// With room to grow, and for reports without end.
    pub(crate) fn for_guard(&self) -> Builder {
        let max = if self.max_capacity == 0 { 16 * self.capacity } else { self.max_capacity };
        let roomy = self.clone().max_capacity(max);
        // Old reports, if there are more than `reserve` allows.
        if self.options.is_empty() { roomy.option("forget", "yes") } else { roomy }
    }

    fn for_c(&self) -> Result<ForC, Error> {
        let mut strings = Vec::new();
        let mut text = |s: &str| {
            if s.is_empty() {
                return Ok(null());
            }
            let s = CString::new(s)
                .map_err(|_| Error::with_detail(Status::Invalid, "a name has a zero byte"))?;
            strings.push(s);
            Ok(strings[strings.len() - 1].as_ptr())
        };
        let config = sys::besom_config {
            kind: text(&self.kind)?,
            options: text(&self.options)?,
            hash: text(&self.hash)?,
            seed: self.seed.as_ref().map_or(null(), |seed| seed.as_ptr()),
            capacity: self.capacity,
            max_capacity: self.max_capacity,
            fpr: self.fpr,
            bits_per_key: self.bits_per_key,
            slots: 0,
            width: 0,
            value_bits: self.value_bits,
            reserve: self.reserve,
            no_capacity: self.no_capacity,
            build_memory: self.build_memory,
            flags: self.flags,
            allocator: null(),
            threads: self.threads,
            repeated: self.repeated,
            copies: self.copies,
            grouping: null(),
        };
        Ok(ForC { config, _strings: strings })
    }

    /// Makes an empty filter. Kinds that are made of a whole set are [`Status::Unsupported`].
    pub fn create(&self) -> Result<Filter, Error> {
        let c = self.for_c()?;
        let mut out = null_mut();
        let status = unsafe {
            sys::besom_create_sized(&c.config, size_of::<sys::besom_config>(), &mut out)
        };
        if status != sys::BESOM_OK {
            return Err(c.explain(status));
        }
        Ok(unsafe { Filter::owning(out) })
    }

    /// Makes an empty filter that several threads may change (aqf).
    pub fn create_concurrent(&self) -> Result<ConcurrentFilter, Error> {
        self.create()?.share()
    }

    /// Makes an empty map (aqf, scaling). `value_bits` must be set.
    pub fn create_map(&self) -> Result<Map, Error> {
        Map::of(self.clone().option("maplet", "yes").create()?)
    }

    /// Makes a filter of all keys. The capacity is their number, unless it is set. Iterators are
    /// cloned to read keys again.
    pub fn build<I>(&self, yes: I) -> Result<Filter, Error>
    where
        I: IntoIterator,
        I::IntoIter: Clone,
        I::Item: AsRef<[u8]>,
    {
        self.build_with(yes, std::iter::empty::<&[u8]>(), |_, _| true)
    }

    /// Makes a filter that answers yes to all keys of one list and no to all of another one, with
    /// the kinds that can: cascade, grouped, yesno. Others take the other list as a sample of
    /// queries. `progress` gets the work that is done and the whole; if it returns false, the work
    /// ends with [`Status::Cancelled`].
    pub fn build_with<I, J>(
        &self, yes: I, no: J, mut progress: impl FnMut(u64, u64) -> bool,
    ) -> Result<Filter, Error>
    where
        I: IntoIterator,
        I::IntoIter: Clone,
        I::Item: AsRef<[u8]>,
        J: IntoIterator,
        J::IntoIter: Clone,
        J::Item: AsRef<[u8]>,
    {
        let c = self.for_c()?;
        build(Some(&c), null(), yes.into_iter(), no.into_iter(), &mut progress)
    }
}

/// Makes a filter like another one, so that the difference of both is small.
pub(crate) fn build_like<I>(like: &Filter, yes: I) -> Result<Filter, Error>
where
    I: Iterator + Clone,
    I::Item: AsRef<[u8]>,
{
    build(None, like.ptr(), yes, std::iter::empty::<&[u8]>(), &mut |_, _| true)
}

fn build<I, J>(
    c: Option<&ForC>, like: *const sys::besom_filter, yes: I, no: J,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Filter, Error>
where
    I: Iterator + Clone,
    I::Item: AsRef<[u8]>,
    J: Iterator + Clone,
    J::Item: AsRef<[u8]>,
{
    let has_no = no.size_hint() != (0, Some(0));
    let (mut yes, mut no) = (Source::new(yes), Source::new(no));
    let mut progress = Progress::new(progress);
    let (yes_c, no_c, progress_c) = (yes.for_c(), no.for_c(), progress.for_c());
    let input = sys::besom_input {
        yes: &yes_c,
        no: if has_no { &no_c } else { null() },
        digests: null(),
        like,
        progress: &progress_c,
        update: null(),
        was: null(),
        merge_updates: 0,
        pairs: null(),
        was_digests: null(),
        parts: null(),
        n_parts: 0,
        keys: null(),
        keys_u64: null(),
        n_keys: 0,
    };
    let mut out = null_mut();
    let status = unsafe {
        sys::besom_build_sized(
            c.map_or(null(), |c| &c.config), size_of::<sys::besom_config>(), &input,
            size_of::<sys::besom_input>(), &mut out,
        )
    };
    for caught in [yes.caught, no.caught, progress.caught] {
        Caught::end(caught);
    }
    match (status, c) {
        (sys::BESOM_OK, _) => Ok(unsafe { Filter::owning(out) }),
        (_, Some(c)) => Err(c.explain(status)),
        (_, None) => Err(Error::new(Status::of(status))),
    }
}

impl ForC {
    /// Says which member is wrong.
    fn explain(&self, number: sys::besom_status) -> Error {
        let status = Status::of(number);
        if !matches!(status, Status::Invalid | Status::BadOption | Status::UnknownKind) {
            return Error::new(status);
        }
        let mut text = [0u8; 256];
        unsafe {
            sys::besom_config_check_sized(
                &self.config, size_of::<sys::besom_config>(), text.as_mut_ptr().cast(), text.len(),
            );
            Error::with_detail(status, CStr::from_ptr(text.as_ptr().cast()).to_string_lossy())
        }
    }
}
