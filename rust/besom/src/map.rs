use crate::callback::bytes;
use crate::error::check;
use crate::{Error, Filter, Status};
use besom_sys as sys;

/// Leads from a key to a small set of values that has every value of a member. A wrong candidate
/// that is reported does not come back.
///
/// ```
/// # fn main() -> Result<(), besom::Error> {
/// let mut files = besom::Filter::builder("aqf").capacity(1000).value_bits(16).create_map()?;
/// files.insert("key", 7)?; // the key is in file 7
/// assert_eq!(files.get("key"), [7]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Map {
    f: Filter,
}

impl Map {
    /// A filter that was loaded, as a map. [`Status::Unsupported`]: it is none.
    pub fn of(f: Filter) -> Result<Map, Error> {
        if unsafe { sys::besom_abilities(f.ptr()) } & sys::BESOM_IS_MAPLET == 0 {
            return Err(Error::new(Status::Unsupported));
        }
        Ok(Map { f })
    }

    /// The filter of the map: saving, statistics and so on.
    pub fn filter(&self) -> &Filter {
        &self.f
    }

    /// Adds a pair. A key may have several values.
    pub fn insert(&mut self, key: impl AsRef<[u8]>, value: u64) -> Result<(), Error> {
        let key = bytes(key.as_ref());
        check(unsafe { sys::besom_insert_value(self.f.ptr_mut(), key.data, key.len, value) })
    }

    /// The candidates of a key: distinct and ascending.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Vec<u64> {
        let key = bytes(key.as_ref());
        let mut values = vec![0; 8];
        loop {
            let mut n = 0;
            unsafe {
                let (to, room) = (values.as_mut_ptr(), values.len());
                sys::besom_get_values(self.f.ptr(), key.data, key.len, to, room, &mut n);
            }
            let fits = n <= values.len();
            values.resize(n, 0);
            if fits {
                return values;
            }
        }
    }

    /// Takes out one copy of a pair. Only pairs that were inserted.
    pub fn remove(&mut self, key: impl AsRef<[u8]>, value: u64) -> Result<(), Error> {
        let key = bytes(key.as_ref());
        check(unsafe { sys::besom_remove_value(self.f.ptr_mut(), key.data, key.len, value) })
    }

    /// Reports that the value is no value of the key.
    pub fn report(&mut self, key: impl AsRef<[u8]>, value: u64) -> Result<(), Error> {
        let key = bytes(key.as_ref());
        check(unsafe { sys::besom_adapt_value(self.f.ptr_mut(), key.data, key.len, value) })
    }
}
