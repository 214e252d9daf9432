//! Membership filters that adapt to their false positives.
//!
//! A filter answers "is this key in the set?" from about ten bits per key. A no is always right. A
//! yes may be wrong; a false positive that is reported does not come back:
//!
//! ```
//! # fn main() -> Result<(), besom::Error> {
//! let mut seen = besom::Filter::builder("aqf").capacity(1_000_000).fpr(0.001).create()?;
//! seen.insert("apple")?;
//! if seen.contains("pear") {
//!     seen.report("pear")?; // your store has no pear: not again
//! }
//! assert!(seen.contains("apple") && !seen.contains("pear"));
//! # Ok(())
//! # }
//! ```
//!
//! Keys are byte strings: what is `AsRef<[u8]>`. The integer `k` is the key of its 8 little-endian
//! bytes, and has calls of its own. A [`Filter`] is shared by readers and changed by one owner; a
//! [`ConcurrentFilter`] is changed by all. [`Guard`] is a filter in front of a slow function,
//! [`Map`] one that leads from keys to values. Files are those of the C library.
#![warn(missing_docs)]

mod builder;
mod callback;
mod concurrent;
mod error;
mod files;
mod filter;
mod guard;
mod map;

pub use builder::Builder;
pub use concurrent::ConcurrentFilter;
pub use error::{Error, Status};
pub use filter::{Filter, Stats};
pub use guard::{Guard, GuardStats};
pub use map::Map;

/// The names of the kinds in this build. The published systems need the feature `papers`.
///
/// ```
/// assert!(besom::kinds().any(|kind| kind == "fuse"));
/// ```
pub fn kinds() -> impl Iterator<Item = &'static str> {
    (0..).map_while(|i| {
        let info = unsafe { besom_sys::besom_kinds(i) };
        if info.is_null() { None } else { Some(unsafe { filter::text((*info).name) }) }
    })
}

/// The version of the library.
pub fn version() -> &'static str {
    unsafe { filter::text(besom_sys::besom_version()) }
}
