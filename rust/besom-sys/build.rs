//! Compiles c/besom.c, which `make rust` puts there (or the one in the directory BESOM_C_DIR), with
//! the command CC or cc.
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn run(command: &mut Command) {
    let status = command.status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{:?}: {}", command, status),
        Err(error) => panic!("{:?}: {}", command, error),
    }
}

fn main() {
    let home = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let c = env::var_os("BESOM_C_DIR").map_or(home.join("c"), PathBuf::from);
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    if !c.join("besom.c").exists() {
        panic!("{} is missing: run `make rust` in the source tree of besom", c.join("besom.c").display());
    }
    let compile = |source: &Path, object: &Path| {
        let mut cc = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
        cc.args(["-std=c11", "-O2", "-fPIC"]).arg("-I").arg(&c);
        if env::var_os("CARGO_FEATURE_PAPERS").is_none() {
            cc.arg("-DBESOM_WITHOUT_PAPERS");
        }
        run(cc.arg("-c").arg(source).arg("-o").arg(object));
    };
    compile(&c.join("besom.c"), &out.join("besom.o"));
    compile(&home.join("layout.c"), &out.join("layout.o"));
    let archive = out.join("libbesom.a");
    let _ = std::fs::remove_file(&archive);
    run(Command::new(env::var_os("AR").unwrap_or_else(|| "ar".into()))
        .arg("crs")
        .arg(&archive)
        .arg(out.join("besom.o"))
        .arg(out.join("layout.o")));
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=besom");
    println!("cargo:rustc-link-lib=m");
    println!("cargo:rustc-link-lib=pthread");
    println!("cargo:rerun-if-changed={}", c.join("besom.c").display());
    println!("cargo:rerun-if-changed={}", home.join("layout.c").display());
    println!("cargo:rerun-if-env-changed=BESOM_C_DIR");
    println!("cargo:rerun-if-env-changed=CC");
}
