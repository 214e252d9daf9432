//! What C calls. A panic ends the work of C, and goes on when C has returned.
use besom_sys as sys;
use std::any::Any;
use std::ffi::c_void;
use std::io::{self, Write};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

/// The first failure of a callback.
#[derive(Default)]
pub(crate) struct Caught {
    panic: Option<Box<dyn Any + Send>>,
    error: Option<io::Error>,
}

impl Caught {
    fn call<T>(&mut self, otherwise: T, work: impl FnOnce(&mut Self) -> T) -> T {
        match catch_unwind(AssertUnwindSafe(|| work(self))) {
            Ok(result) => result,
            Err(panic) => {
                self.panic = Some(panic);
                otherwise
            }
        }
    }

    /// Goes on with a panic, and returns the cause of a failure.
    pub(crate) fn end(self) -> Option<io::Error> {
        if let Some(panic) = self.panic {
            resume_unwind(panic);
        }
        self.error
    }
}

/// Keys for C. The iterator is cloned to start again.
pub(crate) struct Source<I: Iterator> {
    start: I,
    keys: I,
    key: Option<I::Item>,
    pub(crate) caught: Caught,
}

impl<I> Source<I>
where
    I: Iterator + Clone,
    I::Item: AsRef<[u8]>,
{
    pub(crate) fn new(keys: I) -> Source<I> {
        Source { start: keys.clone(), keys, key: None, caught: Caught::default() }
    }

    /// The struct of C. It is valid as long as `self` is not moved.
    pub(crate) fn for_c(&mut self) -> sys::besom_source {
        let size_hint = match self.start.size_hint() {
            (least, Some(most)) if least == most => least as u64,
            _ => 0,
        };
        let ctx = (self as *mut Self).cast();
        sys::besom_source { next: Some(next::<I>), rewind: Some(rewind::<I>), size_hint, ctx }
    }
}

unsafe extern "C" fn next<I>(
    ctx: *mut c_void, to: *mut sys::besom_bytes, _weight: *mut u64,
) -> sys::besom_status
where
    I: Iterator + Clone,
    I::Item: AsRef<[u8]>,
{
    let source = &mut *ctx.cast::<Source<I>>();
    let Source { keys, key, caught, .. } = source;
    caught.call(sys::BESOM_CANCELLED, |_| {
        *key = keys.next();
        match key {
            Some(key) => {
                *to = bytes(key.as_ref());
                sys::BESOM_OK
            }
            None => sys::BESOM_END,
        }
    })
}

unsafe extern "C" fn rewind<I>(ctx: *mut c_void) -> sys::besom_status
where
    I: Iterator + Clone,
    I::Item: AsRef<[u8]>,
{
    let source = &mut *ctx.cast::<Source<I>>();
    let Source { start, keys, caught, .. } = source;
    caught.call(sys::BESOM_CANCELLED, |_| {
        *keys = start.clone();
        sys::BESOM_OK
    })
}

pub(crate) fn bytes(key: &[u8]) -> sys::besom_bytes {
    sys::besom_bytes { data: key.as_ptr().cast(), len: key.len() }
}

/// A writer for C.
pub(crate) struct Sink<'a> {
    to: &'a mut dyn Write,
    pub(crate) caught: Caught,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(to: &'a mut dyn Write) -> Sink<'a> {
        Sink { to, caught: Caught::default() }
    }

    pub(crate) fn for_c(&mut self) -> sys::besom_sink {
        sys::besom_sink { write: Some(write), ctx: (self as *mut Self).cast() }
    }
}

unsafe extern "C" fn write(
    ctx: *mut c_void, data: *const c_void, len: usize,
) -> sys::besom_status {
    if len == 0 {
        return sys::BESOM_OK;
    }
    let Sink { to, caught } = &mut *ctx.cast::<Sink<'_>>();
    caught.call(sys::BESOM_CANCELLED, |caught| {
        match to.write_all(std::slice::from_raw_parts(data.cast(), len)) {
            Ok(()) => sys::BESOM_OK,
            Err(error) => {
                caught.error = Some(error);
                sys::BESOM_IO
            }
        }
    })
}

/// A function that is told how far the work is.
pub(crate) struct Progress<'a> {
    tell: &'a mut dyn FnMut(u64, u64) -> bool,
    pub(crate) caught: Caught,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(tell: &'a mut dyn FnMut(u64, u64) -> bool) -> Progress<'a> {
        Progress { tell, caught: Caught::default() }
    }

    pub(crate) fn for_c(&mut self) -> sys::besom_progress {
        sys::besom_progress { tick: Some(tick), ctx: (self as *mut Self).cast() }
    }
}

unsafe extern "C" fn tick(ctx: *mut c_void, done: u64, total: u64) -> bool {
    let Progress { tell, caught } = &mut *ctx.cast::<Progress<'_>>();
    caught.call(false, |_| tell(done, total))
}
