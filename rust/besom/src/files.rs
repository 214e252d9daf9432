use crate::callback::{bytes, Sink};
use crate::error::check;
use crate::{Error, Filter, Status};
use besom_sys as sys;
use std::ffi::CString;
use std::io::{Read, Write};
use std::mem::size_of;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};

fn path_for_c(path: &Path) -> Result<CString, Error> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::with_detail(Status::Invalid, "the path has a zero byte"))
}

fn written(status: sys::besom_status, sink: Sink<'_>) -> Result<(), Error> {
    match sink.caught.end() {
        Some(cause) => Err(Error::with_cause(Status::Io, cause)),
        None => check(status),
    }
}

impl Filter {
    /// Writes a file: a crash leaves the old file or the new one.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path_for_c(path.as_ref())?;
        match unsafe { sys::besom_save_file(self.ptr(), path.as_ptr()) } {
            sys::BESOM_OK => Ok(()),
            number => Err(Error::of_file(number)),
        }
    }

    /// Writes the bytes of that file.
    pub fn save_to(&self, to: &mut impl Write) -> Result<(), Error> {
        let mut sink = Sink::new(to);
        let for_c = sink.for_c();
        let status = unsafe { sys::besom_save(self.ptr(), &for_c) };
        written(status, sink)
    }

    /// Reads a saved filter into memory, after it has checked every invariant of the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Filter, Error> {
        open(path.as_ref(), 0)
    }

    /// Uses a saved filter in place: read-only, processes share its pages. Reports are kept in
    /// memory.
    ///
    /// # Safety
    ///
    /// Nobody may truncate or change the file while the filter lives. Replacing it by a rename, as
    /// [`Filter::save`] does, is safe.
    pub unsafe fn open_mapped(path: impl AsRef<Path>) -> Result<Filter, Error> {
        open(path.as_ref(), sys::BESOM_OPEN_MMAP)
    }

    /// Reads a saved filter, up to the end of the reader.
    pub fn load_from(from: &mut impl Read) -> Result<Filter, Error> {
        let mut data = Vec::new();
        from.read_to_end(&mut data).map_err(|cause| Error::with_cause(Status::Io, cause))?;
        Filter::load(&data)
    }

    /// Makes a filter of saved bytes.
    pub fn load(data: &[u8]) -> Result<Filter, Error> {
        let data = bytes(data);
        let mut out = null_mut();
        check(unsafe { sys::besom_load(data.data, data.len, null(), &mut out) })?;
        Ok(unsafe { Filter::owning(out) })
    }

    /// Writes the difference to a newer version, for shipping updates of a list (docs/lists.md).
    pub fn diff(&self, newer: &Filter, to: &mut impl Write) -> Result<(), Error> {
        let mut sink = Sink::new(to);
        let for_c = sink.for_c();
        let status = unsafe { sys::besom_diff(self.ptr(), newer.ptr(), &for_c) };
        written(status, sink)
    }

    /// Makes the newer version. [`Status::Incompatible`]: the patch is for another filter.
    pub fn patch(&self, patch: &[u8]) -> Result<Filter, Error> {
        let patch = bytes(patch);
        let mut out = null_mut();
        check(unsafe { sys::besom_patch(self.ptr(), patch.data, patch.len, &mut out) })?;
        Ok(unsafe { Filter::owning(out) })
    }
}

fn open(path: &Path, flags: std::os::raw::c_uint) -> Result<Filter, Error> {
    let path = path_for_c(path)?;
    let options = sys::besom_open_options { flags, allocator: null(), fault: null_mut() };
    let mut out = null_mut();
    let size = size_of::<sys::besom_open_options>();
    match unsafe { sys::besom_open_sized(path.as_ptr(), &options, size, &mut out) } {
        sys::BESOM_OK => Ok(unsafe { Filter::owning(out) }),
        number => Err(Error::of_file(number)),
    }
}
