//! Declarations of besom.h. The reference is the header; the crate `besom` is the safe form.
//!
//! Structs may be shorter than those of the header: their size is passed to the calls whose names
//! end with `_sized`, and missing members are 0.
#![allow(non_camel_case_types)]

use std::ffi::c_void;
use std::os::raw::{c_char, c_int, c_uint};

#[repr(C)]
pub struct besom_filter {
    _private: [u8; 0],
}

pub type besom_status = c_int;

pub const BESOM_OK: besom_status = 0;
pub const BESOM_END: besom_status = 1;
pub const BESOM_IO: besom_status = 12;
pub const BESOM_CANCELLED: besom_status = 14;
pub const BESOM_EVICTED: besom_status = 22;

pub const BESOM_CONCURRENT: u32 = 1;
pub const BESOM_DISTINCT: u32 = 2;
pub const BESOM_SET: u32 = 4;
pub const BESOM_OPEN_MMAP: c_uint = 1;
pub const BESOM_IS_MAPLET: c_uint = 1 << 20;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct besom_bytes {
    pub data: *const c_void,
    pub len: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct besom_config {
    pub kind: *const c_char,
    pub options: *const c_char,
    pub hash: *const c_char,
    pub seed: *const u8,
    pub capacity: u64,
    pub max_capacity: u64,
    pub fpr: f64,
    pub bits_per_key: f64,
    pub slots: u64,
    pub width: u32,
    pub value_bits: u32,
    pub reserve: f64,
    pub no_capacity: u64,
    pub build_memory: u64,
    pub flags: u32,
    pub allocator: *const c_void,
    pub threads: u32,
    pub repeated: f64,
    pub copies: u64,
    pub grouping: *const c_void,
}

#[repr(C)]
pub struct besom_source {
    pub next: Option<
        unsafe extern "C" fn(*mut c_void, *mut besom_bytes, *mut u64) -> besom_status,
    >,
    pub rewind: Option<unsafe extern "C" fn(*mut c_void) -> besom_status>,
    pub size_hint: u64,
    pub ctx: *mut c_void,
}

#[repr(C)]
pub struct besom_progress {
    pub tick: Option<unsafe extern "C" fn(*mut c_void, u64, u64) -> bool>,
    pub ctx: *mut c_void,
}

#[repr(C)]
pub struct besom_input {
    pub yes: *const besom_source,
    pub no: *const besom_source,
    pub digests: *const c_void,
    pub like: *const besom_filter,
    pub progress: *const besom_progress,
    pub update: *const besom_filter,
    pub was: *const besom_source,
    pub merge_updates: u64,
    pub pairs: *const c_void,
    pub was_digests: *const c_void,
    pub parts: *const besom_source,
    pub n_parts: usize,
    pub keys: *const besom_bytes,
    pub keys_u64: *const u64,
    pub n_keys: usize,
}

#[repr(C)]
pub struct besom_sink {
    pub write: Option<unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> besom_status>,
    pub ctx: *mut c_void,
}

#[repr(C)]
pub struct besom_open_options {
    pub flags: c_uint,
    pub allocator: *const c_void,
    pub fault: *mut c_void,
}

#[repr(C)]
pub struct besom_statistics {
    pub kind: *const c_char,
    pub hash: *const c_char,
    pub isa: *const c_char,
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

#[repr(C)]
pub struct besom_kind_info {
    pub name: *const c_char,
    pub summary: *const c_char,
    pub abilities: c_uint,
    pub max_copies: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct besom_counter {
    pub name: *const c_char,
    pub value: u64,
}

extern "C" {
    pub fn besom_strerror(status: besom_status) -> *const c_char;
    pub fn besom_version() -> *const c_char;
    pub fn besom_kinds(i: usize) -> *const besom_kind_info;
    pub fn besom_abilities(f: *const besom_filter) -> c_uint;
    pub fn besom_config_check_sized(
        config: *const besom_config, config_size: usize, text: *mut c_char, size: usize,
    ) -> besom_status;
    pub fn besom_create_sized(
        config: *const besom_config, config_size: usize, out: *mut *mut besom_filter,
    ) -> besom_status;
    pub fn besom_create_like(f: *const besom_filter, out: *mut *mut besom_filter) -> besom_status;
    pub fn besom_build_sized(
        config: *const besom_config, config_size: usize, input: *const besom_input,
        input_size: usize, out: *mut *mut besom_filter,
    ) -> besom_status;
    pub fn besom_share(f: *mut besom_filter) -> besom_status;
    pub fn besom_free(f: *mut besom_filter);
    pub fn besom_contains(f: *const besom_filter, key: *const c_void, len: usize) -> bool;
    pub fn besom_contains_u64(f: *const besom_filter, key: u64) -> bool;
    pub fn besom_contains_many(
        f: *const besom_filter, keys: *const besom_bytes, n: usize, bitmap: *mut u64,
    ) -> besom_status;
    pub fn besom_contains_many_u64(
        f: *const besom_filter, keys: *const u64, n: usize, bitmap: *mut u64,
    ) -> besom_status;
    pub fn besom_insert(f: *mut besom_filter, key: *const c_void, len: usize) -> besom_status;
    pub fn besom_insert_u64(f: *mut besom_filter, key: u64) -> besom_status;
    pub fn besom_insert_many(
        f: *mut besom_filter, keys: *const besom_bytes, n: usize, done: *mut usize,
    ) -> besom_status;
    pub fn besom_insert_many_u64(
        f: *mut besom_filter, keys: *const u64, n: usize, done: *mut usize,
    ) -> besom_status;
    pub fn besom_remove(f: *mut besom_filter, key: *const c_void, len: usize) -> besom_status;
    pub fn besom_count(
        f: *const besom_filter, key: *const c_void, len: usize, n: *mut u64,
    ) -> besom_status;
    pub fn besom_adapt(f: *mut besom_filter, key: *const c_void, len: usize) -> besom_status;
    pub fn besom_no_add(f: *mut besom_filter, key: *const c_void, len: usize) -> besom_status;
    pub fn besom_no_remove(f: *mut besom_filter, key: *const c_void, len: usize) -> besom_status;
    pub fn besom_set_reserve(f: *mut besom_filter, reports: u64, forget: bool) -> besom_status;
    pub fn besom_merge(
        a: *const besom_filter, b: *const besom_filter, out: *mut *mut besom_filter,
    ) -> besom_status;
    pub fn besom_resize(f: *mut besom_filter, slots: u64, task: *mut *mut c_void) -> besom_status;
    pub fn besom_rekey(
        f: *mut besom_filter, yes: *const besom_source, no: *const besom_source, seed: *const u8,
        task: *mut *mut c_void,
    ) -> besom_status;
    pub fn besom_stats_sized(
        f: *const besom_filter, stats: *mut besom_statistics, size: usize,
    ) -> besom_status;
    pub fn besom_counters(f: *const besom_filter, out: *mut besom_counter, cap: usize) -> usize;
    pub fn besom_validate(f: *const besom_filter, reason: *mut *const c_char) -> besom_status;
    pub fn besom_save(f: *const besom_filter, sink: *const besom_sink) -> besom_status;
    pub fn besom_save_file(f: *const besom_filter, path: *const c_char) -> besom_status;
    pub fn besom_load(
        data: *const c_void, len: usize, allocator: *const c_void, out: *mut *mut besom_filter,
    ) -> besom_status;
    pub fn besom_open_sized(
        path: *const c_char, options: *const besom_open_options, options_size: usize,
        out: *mut *mut besom_filter,
    ) -> besom_status;
    pub fn besom_diff(
        old: *const besom_filter, fresh: *const besom_filter, sink: *const besom_sink,
    ) -> besom_status;
    pub fn besom_patch(
        old: *const besom_filter, patch: *const c_void, len: usize, out: *mut *mut besom_filter,
    ) -> besom_status;
    pub fn besom_domain_contains(
        f: *const besom_filter, name: *const c_void, len: usize, entry: *mut besom_bytes,
    ) -> bool;
    pub fn besom_insert_value(
        f: *mut besom_filter, key: *const c_void, len: usize, value: u64,
    ) -> besom_status;
    pub fn besom_remove_value(
        f: *mut besom_filter, key: *const c_void, len: usize, value: u64,
    ) -> besom_status;
    pub fn besom_adapt_value(
        f: *mut besom_filter, key: *const c_void, len: usize, value: u64,
    ) -> besom_status;
    pub fn besom_get_values(
        f: *const besom_filter, key: *const c_void, len: usize, out: *mut u64, room: usize,
        n: *mut usize,
    ) -> besom_status;

    #[doc(hidden)]
    pub fn besom_sys_layout(i: usize) -> usize;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::size_of;

    // offset_of! is in newer compilers only.
    macro_rules! at {
        ($type:ty, $member:ident) => {{
            let x = std::mem::MaybeUninit::<$type>::uninit();
            let start = x.as_ptr();
            unsafe { std::ptr::addr_of!((*start).$member) as usize - start as usize }
        }};
    }

    #[test]
    fn structs_are_those_of_the_header() {
        let grows = [0, 6, 9, 12]; // these may have more members at the end
        let ours = [
            size_of::<besom_config>(), at!(besom_config, capacity), at!(besom_config, fpr),
            at!(besom_config, flags), at!(besom_config, threads), at!(besom_config, grouping),
            size_of::<besom_input>(), at!(besom_input, like), at!(besom_input, merge_updates),
            size_of::<besom_statistics>(), at!(besom_statistics, width),
            at!(besom_statistics, reserve_used), size_of::<besom_open_options>(),
            size_of::<besom_bytes>(), size_of::<besom_source>(), size_of::<besom_progress>(),
            size_of::<besom_sink>(), size_of::<besom_counter>(), size_of::<besom_kind_info>(), 16,
        ];
        for (i, &our) in ours.iter().enumerate() {
            let theirs = unsafe { besom_sys_layout(i) };
            assert!(our == theirs || (our < theirs && grows.contains(&i)), "number {}", i);
        }
        assert_eq!(unsafe { besom_sys_layout(ours.len()) }, 0);
    }
}
