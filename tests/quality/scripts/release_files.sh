#!/usr/bin/env bash
# release_files.sh DIR: makes a small repository in DIR, and tests what scripts/release.py writes: the
# same archive twice, an SBOM of it, checksums, and a signature if minisign is installed. The exit
# code is 77 (skipped) if there is no git.
set -eu
command -v git >/dev/null || exit 77
release=$(cd "$(dirname "$0")/../../../scripts" && pwd)/release.py
rm -rf "$1"
mkdir -p "$1/tree/include"
cd "$1/tree"
printf '#define BESOM_VERSION_%s\n' 'MAJOR 1' 'MINOR 2' 'PATCH 3' >include/besom.h
git init -q .
git add .
git -c user.name=test -c user.email=test@besom.example commit -q -m first

fails() { # fails TEXT COMMAND...: the command fails and says the text
  local text=$1 said
  shift
  if said=$("$@" 2>&1) || [[ $said != *"$text"* ]]; then
    echo "no error with \"$text\": $said"
    exit 1
  fi
}

echo one >../extra
"$release" ../first --extra ../extra >/dev/null
sleep 0.01
(umask 077 && touch include/besom.h && "$release" ../second --extra ../extra >/dev/null)
cmp ../first/besom-1.2.3.tar.gz ../second/besom-1.2.3.tar.gz
cmp ../first/SHA256SUMS ../second/SHA256SUMS
(cd ../first && sha256sum --quiet -c SHA256SUMS && [[ $(wc -l <SHA256SUMS) -eq 3 ]])
[[ $(tar tzf ../first/besom-1.2.3.tar.gz | grep -v '/$') == besom-1.2.3/include/besom.h ]]
python3 - ../first <<'END'
import hashlib, json, sys
archive = open(sys.argv[1] + "/besom-1.2.3.tar.gz", "rb").read()
sbom = json.load(open(sys.argv[1] + "/besom-1.2.3.spdx.json"))
ours = sbom["packages"][0]
assert ours["checksums"][0]["checksumValue"] == hashlib.sha256(archive).hexdigest()
known = {package["SPDXID"] for package in sbom["packages"]} | {"SPDXRef-DOCUMENT"}
assert len(known) == len(sbom["packages"]) + 1
assert all({r["spdxElementId"], r["relatedSpdxElement"]} <= known for r in sbom["relationships"])
END

fails "does not exist" "$release" ../third --extra ../nothing
[[ ! -e ../third ]]
echo >>include/besom.h
fails "commit your changes first" "$release" ../third
git checkout -q .

command -v minisign >/dev/null || exit 0
minisign -G -W -p ../key.pub -s ../key.secret >/dev/null
"$release" ../signed --key ../key.secret --extra ../extra >/dev/null
minisign -Vqm ../signed/SHA256SUMS -p ../key.pub
echo >>../signed/SHA256SUMS
fails "verification failed" minisign -Vm ../signed/SHA256SUMS -p ../key.pub
