use besom_sys as sys;
use std::{fmt, io};

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $number:expr,)*) => {
        /// The cause of a failure: `besom_status` of the header.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Status {
            $($(#[$doc])* $name,)*
            /// A status of a later version.
            Other(i32),
        }

        impl Status {
            pub(crate) fn of(number: sys::besom_status) -> Status {
                match number {
                    $($number => Status::$name,)*
                    other => Status::Other(other),
                }
            }

            fn number(self) -> sys::besom_status {
                match self {
                    $(Status::$name => $number,)*
                    Status::Other(number) => number,
                }
            }
        }
    };
}

statuses! {
    /// An argument is out of range.
    Invalid = 2,
    /// There is no kind of that name in this build.
    UnknownKind = 3,
    /// An option or a hash has an unknown name or a bad value.
    BadOption = 4,
    /// This filter does not have that operation.
    Unsupported = 5,
    /// There is not enough memory.
    NoMemory = 6,
    /// The filter has no room for another key.
    Full = 7,
    /// There is no such key.
    NotFound = 8,
    /// The filters differ in kind, hash, seed or geometry.
    Incompatible = 9,
    /// These are not bytes that besom has written, or they are damaged.
    Corrupt = 10,
    /// Saved by a later version, or of a kind that this build lacks.
    NewerVersion = 11,
    /// A file could not be read or written.
    Io = 12,
    /// The filter is mapped from a file.
    ReadOnly = 13,
    /// A callback ended the work.
    Cancelled = 14,
    /// The filter must be bound to its stored keys for that.
    NeedsStore = 15,
    /// Several fingerprints match.
    Ambiguous = 16,
    /// The reported key is a member.
    IsMember = 17,
    /// A task runs on the filter.
    Busy = 18,
    /// The memory for reports is used up.
    ReserveFull = 20,
    /// The disk has no room.
    DiskFull = 21,
}

impl fmt::Display for Status {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(unsafe { crate::filter::text(sys::besom_strerror(self.number())) })
    }
}

/// A call that failed. The filter is as it was before the call, and has [`Error::done`] keys more.
#[derive(Debug)]
pub struct Error {
    status: Status,
    detail: String,
    cause: Option<io::Error>,
    done: usize,
}

impl Error {
    pub(crate) fn new(status: Status) -> Error {
        Error { status, detail: String::new(), cause: None, done: 0 }
    }

    pub(crate) fn with_detail(status: Status, detail: impl Into<String>) -> Error {
        Error { status, detail: detail.into(), cause: None, done: 0 }
    }

    pub(crate) fn with_cause(status: Status, cause: io::Error) -> Error {
        Error { status, detail: String::new(), cause: Some(cause), done: 0 }
    }

    /// What `errno` says, if a file is the cause.
    pub(crate) fn of_file(number: sys::besom_status) -> Error {
        let cause = io::Error::last_os_error();
        match Status::of(number) {
            status @ (Status::Io | Status::DiskFull) => Error::with_cause(status, cause),
            status => Error::new(status),
        }
    }

    pub(crate) fn after(self, done: usize) -> Error {
        Error { done, ..self }
    }

    /// Why it failed.
    pub fn status(&self) -> Status {
        self.status
    }

    /// How many keys [`crate::Filter::insert_many`] and [`crate::Filter::insert_many_u64`] have
    /// added: the key of this index is the one that failed. 0 for every other call.
    pub fn done(&self) -> usize {
        self.done
    }
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}", self.status)?;
        if !self.detail.is_empty() {
            write!(to, ": {}", self.detail)?;
        }
        match &self.cause {
            Some(cause) => write!(to, ": {}", cause),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as _)
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        let kind = match (&error.cause, error.status) {
            (Some(cause), _) => cause.kind(),
            (None, Status::Corrupt | Status::NewerVersion) => io::ErrorKind::InvalidData,
            (None, Status::NoMemory) => io::ErrorKind::OutOfMemory,
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}

/// OK, and EVICTED, are successes.
pub(crate) fn check(number: sys::besom_status) -> Result<(), Error> {
    match number {
        sys::BESOM_OK | sys::BESOM_EVICTED => Ok(()),
        _ => Err(Error::new(Status::of(number))),
    }
}
