//! Filters, maps and guards as their users see them.
use besom::{Error, Filter, Guard, Map, Status};
use std::cell::Cell;
use std::io::{self, Read, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Mutex;

fn status<T>(result: Result<T, Error>) -> Status {
    result.err().expect("the call succeeded").status()
}

fn keys(n: usize) -> Vec<String> {
    (0..n).map(|i| format!("key {}", i)).collect()
}

fn false_positive(f: &Filter) -> String {
    (0..).map(|i| format!("absent {}", i)).find(|key| f.contains(key)).unwrap()
}

/// None for published systems that work in front of a store only.
fn filter(kind: &str, keys: &[String]) -> Option<Filter> {
    let builder = Filter::builder(kind).capacity(keys.len() as u64 + 100).fpr(0.01).seed([7; 16]);
    match builder.create() {
        Ok(mut f) => {
            match f.insert_many(keys) {
                Err(error) if error.status() == Status::NeedsStore => None,
                result => result.map(|_| Some(f)).unwrap(),
            }
        }
        Err(error) if error.status() == Status::Unsupported => {
            let exact = ["cascade", "grouped", "updated", "yesno", "learned", "stacked"];
            let no: &[&str] = if exact.contains(&kind) { &["no 1", "no 2"] } else { &[] };
            Some(builder.build_with(keys, no, |_, _| true).unwrap())
        }
        Err(error) => panic!("{}: {}", kind, error),
    }
}

#[test]
fn every_kind_keeps_its_keys_and_takes_reports() {
    let keys = keys(1000);
    for kind in besom::kinds() {
        let mut f = match filter(kind, &keys) {
            Some(f) => f,
            None => continue,
        };
        assert!(keys.iter().all(|key| f.contains(key)), "{}", kind);
        assert!(f.contains_many(&keys).into_iter().all(|yes| yes), "{}", kind);
        let wrong = false_positive(&f);
        f.report(&wrong).unwrap_or_else(|error| panic!("{}: {}", kind, error));
        assert!(!f.contains(&wrong), "{}", kind);
        f.validate().unwrap();
        let mut data = Vec::new();
        f.save_to(&mut data).unwrap();
        let again = Filter::load(&data).unwrap();
        assert!(!again.contains(&wrong) && again.contains(&keys[0]), "{}", kind);
    }
}

#[test]
fn keys_are_bytes_also_empty_ones_and_integers() {
    let mut f = Filter::builder("aqf").capacity(1000).fpr(1e-4).create().unwrap();
    f.insert("").unwrap();
    f.insert_u64(0x0807060504030201).unwrap();
    assert!(f.contains(b"") && f.contains([1, 2, 3, 4, 5, 6, 7, 8]));
    f.insert("pear").unwrap();
    f.insert("pear").unwrap();
    assert_eq!(f.count(b"pear").unwrap(), 2);
    f.remove(vec![b'p', b'e', b'a', b'r']).unwrap();
    f.remove("pear").unwrap();
    assert_eq!(status(f.remove("pear")), Status::NotFound);
    f.insert_many_u64(&(0..500).collect::<Vec<_>>()).unwrap();
    let asked: Vec<u64> = (0..900).collect();
    for (key, yes) in asked.iter().zip(f.contains_many_u64(&asked)) {
        assert_eq!(yes, f.contains_u64(*key));
    }
    assert!(f.contains_many::<&str>(&[]).is_empty() && f.contains_many_u64(&[]).is_empty());
    assert_eq!(f.stats().keys, 502);
    assert!(f.counters().any(|(name, _)| name == "exceptions"), "{:?}", f);
}

#[test]
fn failures_are_statuses() {
    assert_eq!(status(Filter::builder("bloo").capacity(1).create()), Status::UnknownKind);
    let error = Filter::builder("aqf").capacity(1).fpr(2.0).create().unwrap_err();
    assert_eq!(error.status(), Status::Invalid);
    assert!(error.to_string().contains("fpr"), "{}", error);
    assert_eq!(status(Filter::builder("a\0").create()), Status::Invalid);
    assert_eq!(status(Filter::builder("fuse").capacity(1).create()), Status::Unsupported);
    let odd = Filter::builder("aqf").capacity(1).option("color", "red").create();
    assert_eq!(status(odd), Status::BadOption);
    assert_eq!(status(Filter::load(b"no filter")), Status::Corrupt);
    assert_eq!(status(Filter::load(b"")), Status::Corrupt);
    let none = Filter::open("/none/such").unwrap_err();
    assert_eq!(none.status(), Status::Io);
    assert_eq!(io::Error::from(none).kind(), io::ErrorKind::NotFound);
    let mut small = Filter::builder("qf").capacity(64).create().unwrap();
    let full = (0..).find_map(|key| small.insert_u64(key).err()).unwrap();
    assert_eq!(full.status(), Status::Full);
    small.resize(2 * small.stats().slots).unwrap();
    small.insert_u64(1 << 40).unwrap();
    let other = Filter::builder("qf").capacity(64).create().unwrap();
    assert_eq!(status(small.merge(&other)), Status::Incompatible);
}

#[test]
fn a_batch_that_fails_tells_how_many_keys_it_has_added() {
    let small = || Filter::builder("qf").capacity(600).fpr(1e-6).create().unwrap();
    let (mut f, mut g) = (small(), small());
    let named = keys(2000);
    let error = f.insert_many(&named).unwrap_err();
    assert_eq!(error.status(), Status::Full);
    assert!(error.done() >= 600 && error.done() as u64 == f.stats().keys, "{}", error.done());
    let error = g.insert_many_u64(&(0..2000).collect::<Vec<_>>()).unwrap_err();
    assert!(error.done() >= 600 && error.done() as u64 == g.stats().keys, "{}", error.done());
    // The rest goes in after a growth: nothing is left out, nothing is there twice.
    let mut left = &named[..];
    let mut f = small();
    while let Err(error) = f.insert_many(left) {
        left = &left[error.done()..];
        f.resize(2 * f.stats().slots).unwrap();
    }
    assert_eq!(f.stats().keys, 2000);
    assert!(named.iter().all(|key| f.contains(key)));
    assert_eq!(f.insert("x").and(f.remove("none such")).unwrap_err().done(), 0);
}

#[test]
fn files_are_read_copied_and_mapped() {
    let keys = keys(1000);
    let f = filter("aqf", &keys).unwrap();
    let path = std::env::temp_dir().join(format!("besom-rust-{}.besom", std::process::id()));
    f.save(&path).unwrap();
    let mut copied = Filter::open(&path).unwrap();
    let mut mapped = unsafe { Filter::open_mapped(&path) }.unwrap();
    std::fs::remove_file(&path).unwrap();
    for g in [&mut copied, &mut mapped] {
        assert!(keys.iter().all(|key| g.contains(key)));
        let wrong = false_positive(g);
        g.report(&wrong).unwrap();
        assert!(!g.contains(&wrong));
    }
    copied.insert("new").unwrap();
    assert_eq!(status(mapped.insert("new")), Status::ReadOnly);

    let mut data = Vec::new();
    f.save_to(&mut data).unwrap();
    assert!(Filter::load_from(&mut data.as_slice()).unwrap().contains(&keys[7]));
    struct Broken;
    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }
    let error = f.save_to(&mut Broken).unwrap_err();
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::BrokenPipe);
    assert_eq!(status(Filter::load_from(&mut Broken)), Status::Io);
}

#[test]
fn builds_read_iterators_again() {
    let long = "long ".repeat(50_000);
    let mut all = keys(5000);
    all.extend([String::new(), long]);
    for kind in ["fuse", "ribbon", "aqf"] {
        let f = Filter::builder(kind).build(&all).unwrap();
        assert!(all.iter().all(|key| f.contains(key)), "{}", kind);
        // An iterator that does not know its length.
        let some = all.iter().filter(|key| key.len() > 3);
        let f = Filter::builder(kind).build(some).unwrap();
        assert!(all.iter().filter(|key| key.len() > 3).all(|key| f.contains(key)), "{}", kind);
    }
    let (yes, no) = (["evil", "worse"], ["good", "fine", "nice"]);
    let f = Filter::builder("cascade").build_with(yes, no, |_, _| true).unwrap();
    assert!(yes.iter().all(|key| f.contains(key)) && !no.iter().any(|key| f.contains(key)));
    let mut f = Filter::builder("aqf").build(&all).unwrap();
    f.rekey(&all).unwrap();
    assert!(all.iter().all(|key| f.contains(key)));
}

#[test]
fn panics_of_callbacks_pass_through() {
    let caught = |work: &mut dyn FnMut()| {
        let panic = catch_unwind(AssertUnwindSafe(work)).unwrap_err();
        *panic.downcast::<&str>().unwrap()
    };
    struct Panics;
    impl Write for Panics {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            panic!("write")
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let f = Filter::builder("aqf").capacity(10).create().unwrap();
    assert_eq!(caught(&mut || drop(f.save_to(&mut Panics))), "write");
    let bad = (0..10).map(|i| if i < 5 { "a" } else { panic!("next") });
    assert_eq!(caught(&mut || drop(Filter::builder("fuse").build(bad.clone()))), "next");
    let many = keys(100_000);
    let none: [&str; 0] = [];
    let told = || Filter::builder("fuse").build_with(&many, none, |_, _| panic!("tell"));
    assert_eq!(caught(&mut || drop(told())), "tell");
    let ended = Filter::builder("fuse").build_with(&many, none, |_, _| false);
    assert_eq!(status(ended), Status::Cancelled);
}

#[test]
fn merges_and_patches() {
    let mut a = Filter::builder("aqf").capacity(100).create().unwrap();
    let mut b = a.empty().unwrap();
    a.insert("a").unwrap();
    b.insert("b").unwrap();
    let both = a.merge(&b).unwrap();
    assert!(both.contains("a") && both.contains("b"));
    let fresh = a.build_like(["a", "c"]).unwrap();
    let mut patch = Vec::new();
    a.diff(&fresh, &mut patch).unwrap();
    let made = a.patch(&patch).unwrap();
    assert!(made.contains("c"));
    assert_eq!(status(made.patch(&patch)), Status::Incompatible);
    assert_eq!(status(made.patch(b"")), Status::Corrupt);
}

#[test]
fn maps_keep_every_value() {
    let mut m = Filter::builder("aqf").capacity(1000).value_bits(16).create_map().unwrap();
    for value in 0..20 {
        m.insert("key", value).unwrap();
    }
    m.remove("key", 3).unwrap();
    m.report("key", 5).unwrap();
    let values = m.get("key");
    assert_eq!(values.len(), 18);
    assert!(!values.contains(&3) && !values.contains(&5));
    assert_eq!(status(m.insert("key", 1 << 16)), Status::Invalid);
    let mut data = Vec::new();
    m.filter().save_to(&mut data).unwrap();
    assert_eq!(Map::of(Filter::load(&data).unwrap()).unwrap().get("key"), values);
    let plain = Filter::builder("aqf").capacity(10).create().unwrap();
    assert_eq!(status(Map::of(plain)), Status::Unsupported);
}

#[test]
fn guards_ask_once_for_an_absent_key() {
    let members = keys(1000);
    let calls = Cell::new(0);
    let lookup = |key: &[u8]| {
        calls.set(calls.get() + 1);
        Ok::<_, ()>(members.iter().position(|m| m.as_bytes() == key))
    };
    let aqf = Filter::builder("aqf").capacity(1000).max_capacity(1000).fpr(0.01).seed([7; 16]);
    let guard = Guard::wrap(&aqf, &members, lookup).unwrap();
    for round in 0..3 {
        calls.set(0);
        for i in 0..5000 {
            let found = guard.get(format!("key {}", i)).unwrap();
            assert_eq!(found, (i < 1000).then(|| i));
        }
        assert_eq!(calls.get() > 1000, round == 0);
    }
    let s = guard.stats();
    assert!(s.asked == 15000 && s.reported == s.false_positives && s.reported > 0, "{:?}", s);
    assert!(matches!(Guard::wrap(&aqf, ["a"], |_: &[u8]| Err::<Option<()>, _>("down")).unwrap().get("a"),
                     Err("down")));
    let bloom = Filter::builder("bloom").capacity(10);
    assert_eq!(status(Guard::wrap(&bloom, ["a"], |_: &[u8]| Ok::<_, ()>(Some(1)))), Status::Unsupported);
}

/// While keys are put, reports of the same keys must not deny them. The filter grows, too.
#[test]
fn guards_do_not_deny_what_is_put_meanwhile() {
    const KEYS: u64 = 4000;
    let store = Mutex::new(std::collections::HashSet::new());
    let lookup = |key: &[u8]| Ok::<_, ()>(store.lock().unwrap().contains(key).then(|| ()));
    let aqf = Filter::builder("aqf").capacity(1000).fpr(0.1);
    let guard = Guard::wrap(&aqf, std::iter::empty::<&[u8]>(), lookup).unwrap();
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                for key in (0..KEYS).cycle().take(20_000) {
                    guard.get(key.to_le_bytes()).unwrap();
                }
            });
        }
        for key in 0..KEYS {
            let bytes = key.to_le_bytes();
            guard.put(bytes, || store.lock().unwrap().insert(bytes.to_vec())).unwrap();
            assert_eq!(guard.get(bytes), Ok(Some(())));
        }
    });
    assert!((0..KEYS).all(|key| guard.get(key.to_le_bytes()) == Ok(Some(()))));
}

#[test]
fn filters_go_to_other_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    let f = Filter::builder("blocked-bloom").capacity(1000).create().unwrap();
    shared(&f);
    let mut f = std::thread::spawn(move || f).join().unwrap();
    f.insert("a").unwrap();
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| assert!(f.contains("a")));
        }
    });
    assert_eq!(status(f.share()), Status::Unsupported);
}

#[test]
fn integers_are_their_little_endian_bytes() {
    let mut f = Filter::builder("aqf").capacity(1000).fpr(1.0 / 16.0).seed([7; 16]).create().unwrap();
    f.insert_u64(5).unwrap();
    f.insert(5u64.to_le_bytes()).unwrap();
    assert_eq!(f.count_u64(5).unwrap(), 2);
    f.remove_u64(5).unwrap();
    assert_eq!((f.count(5u64.to_le_bytes()).unwrap(), f.contains_u64(5)), (1, true));
    (1000..1900).for_each(|i| f.insert_u64(i).unwrap());
    let wrong = (2000..).find(|i| f.contains_u64(*i)).unwrap();
    f.report_u64(wrong).unwrap();
    assert!(!f.contains(wrong.to_le_bytes()));
    let shared = f.share().unwrap();
    let wrong = (3000..).find(|i| shared.contains_u64(*i)).unwrap();
    shared.report_u64(wrong).unwrap();
    shared.remove_u64(5).unwrap();
    assert!(!shared.contains_u64(wrong) && !shared.contains_u64(5));
}
