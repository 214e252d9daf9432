//! Asks the files of tests/vectors (BESOM_VECTORS) what every language asks.
use besom::{Filter, Map, Status};
use std::{env, fs, path::PathBuf};

const GOLDEN: u64 = 0x9e3779b97f4a7c15;
const QUERIES: u64 = 1 << 20;

fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d049bb133111eb);
    x ^ x >> 31
}

enum Key {
    Integer(u64),
    Bytes(Vec<u8>),
}

/// Key number n of tests/vectors/vectors.h.
fn key(n: u64) -> Key {
    let r = mix((n + 1).wrapping_mul(GOLDEN));
    if r % 4 == 0 {
        return Key::Integer(mix(r));
    }
    let len = ((r >> 8) % 301) as usize;
    let word = |k: u64| mix(r.wrapping_add(k.wrapping_mul(GOLDEN))).to_le_bytes();
    Key::Bytes((1..).flat_map(word).take(len).collect())
}

fn query(i: u64) -> u64 {
    let s = mix(i ^ 0x76656374);
    if s % 2 == 1 { s / 2 % 3000 } else { 3000 + i }
}

fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(!0, |crc: u32, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ ((crc & 1) * 0xedb88320))
    })
}

fn vectors() -> Option<PathBuf> {
    let directory = env::var_os("BESOM_VECTORS").map(PathBuf::from);
    if directory.is_none() {
        eprintln!("BESOM_VECTORS is not set: nothing tested");
    }
    directory
}

#[test]
fn answers_are_those_of_every_language() {
    let directory = match vectors() {
        Some(directory) => directory,
        None => return,
    };
    let text = fs::read_to_string(directory.join("expected.txt")).unwrap();
    let mut files = Vec::new();
    for line in text.lines() {
        let columns: Vec<&str> = line.split_whitespace().collect();
        match Filter::open(directory.join(columns[0])) {
            Err(error) if error.status() == Status::UnknownKind => continue,
            f => files.push((columns, f.unwrap(), vec![0u8; QUERIES as usize / 8])),
        }
    }
    assert!(files.len() > 30);
    for i in 0..QUERIES {
        let key = key(query(i));
        for (_, f, answers) in &mut files {
            let yes = match &key {
                Key::Integer(k) => f.contains_u64(*k),
                Key::Bytes(k) => f.contains(k),
            };
            answers[i as usize / 8] |= u8::from(yes) << (i % 8);
        }
    }
    for (columns, _, answers) in &files {
        let yes: u32 = answers.iter().map(|byte| byte.count_ones()).sum();
        let found = (format!("{:08x}", crc32(answers)), yes.to_string());
        assert_eq!((found.0.as_str(), found.1.as_str()), (columns[3], columns[4]), "{}", columns[0]);
    }
}

#[test]
fn candidates_are_those_of_every_language() {
    let directory = match vectors() {
        Some(directory) => directory,
        None => return,
    };
    let text = fs::read_to_string(directory.join("maps.txt")).unwrap();
    assert!(text.lines().count() >= 4);
    for line in text.lines() {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let map = Map::of(Filter::open(directory.join(columns[0])).unwrap()).unwrap();
        let (mut answers, mut candidates) = (Vec::new(), 0);
        for i in 0..QUERIES {
            let values = match key(query(i)) {
                Key::Integer(k) => map.get(k.to_le_bytes()),
                Key::Bytes(k) => map.get(k),
            };
            candidates += values.len();
            answers.push(values.len() as u8);
            answers.extend(values.iter().flat_map(|value| (*value as u16).to_le_bytes()));
        }
        let found = (format!("{:08x}", crc32(&answers)), candidates.to_string());
        assert_eq!((found.0.as_str(), found.1.as_str()), (columns[3], columns[4]), "{}", columns[0]);
    }
}
