#!/usr/bin/env bash
# run.sh PACKAGES [--update]: installs the Debian packages of a directory into a clean root, upgrades
# and reinstalls them, runs the first steps of the README there (debian/tests/first-steps), and
# removes them: nothing may be left. The files of the packages are those of contents.txt; --update
# writes that list.
#
# The root is this machine's file system below a layer in memory (overlayfs, in a mount namespace of
# its own): what the packages depend on is there, every change is in the layer, and disappears with
# it. The sources, /usr/local and all home directories are hidden. Needs root.
set -eu
packages=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../../.." && pwd)

fail() {
  echo "run.sh: $1" >&2
  exit 1
}

# The names of the packages and of their files, without the documents, the version and the machine.
contents() {
  local file
  for file in "${files[@]}"; do
    dpkg-deb --fsys-tarfile "$file" | tar -tf - | grep -v '/$' | grep -v '/share/doc/' |
      sed "s|^\.||; s|^|$(dpkg-deb -f "$file" Package) |"
  done | sed -E "s/$(dpkg-architecture -qDEB_HOST_MULTIARCH)/TRIPLET/
    s/\.so\.$version\$/.so.VERSION/; s/besom-$version\./besom-VERSION./
    s/\.so\.$soversion\$/.so.SOVERSION/; s/^(libbesom[a-z-]*)$soversion /\1SOVERSION /" | LC_ALL=C sort
}

shopt -s nullglob
files=()
for file in "$packages"/*.deb; do
  case $file in *-dbgsym_*) ;; *) files+=("$file") ;; esac
done
[[ ${#files[@]} -gt 0 ]] || fail "$packages has no packages: run make deb"
version=$(dpkg-deb -f "${files[0]}" Version)
soversion=$(sed -nE 's/^Package: libbesom([0-9][0-9.]*)$/\1/p' "$source/debian/control")
if [[ ${2-} == --update ]]; then
  contents >"$here/contents.txt"
  exit 0
fi

[[ $(id -u) -eq 0 ]] || fail "needs root: dpkg installs packages in a root directory of its own"
if [[ -z ${BESOM_IN_NAMESPACE-} ]]; then
  BESOM_IN_NAMESPACE=yes exec unshare --mount --pid --fork --kill-child "$0" "$@"
fi

if ! diff "$here/contents.txt" <(contents); then
  fail "the files of the packages (>) differ from contents.txt (<); if that is intended: $0 $1 --update"
fi
echo "ok: the files of the packages"

work=$(mktemp -d)
trap 'umount --recursive --lazy "$work" && rmdir "$work"' EXIT # the mounts are in this namespace only
mount -t tmpfs tmpfs "$work"
mkdir -p "$work"/{upper,work,root,packages,old}
cp "${files[@]}" "$work/packages/"
cp "$source/debian/tests/first-steps" "$here/inside.sh" "$work/packages/"

# The same packages with an older version, to upgrade from.
for file in "${files[@]}"; do
  rm -rf "$work/unpacked"
  dpkg-deb -R "$file" "$work/unpacked"
  sed -i -E "/^(Version|Depends|Pre-Depends):/s/$version\b/0.0.1/g" "$work/unpacked/DEBIAN/control"
  dpkg-deb -Znone -b "$work/unpacked" "$work/old" >"$work/log" || fail "$(cat "$work/log")"
done
rm -rf "$work/unpacked"

mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$work/root" ||
  fail "overlayfs cannot be mounted here"
root=$work/root
mkdir -p "$root/packages" "$root/old"
mount --bind "$work/packages" "$root/packages"
mount --bind "$work/old" "$root/old"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
# The sources are hidden by the highest directory above them.
top=/$(cut -d/ -f2 <<<"$source")
for directory in /tmp /usr/local /root /home "$top"; do
  case $directory in
  /usr) directory=$source ;;
  esac
  mkdir -p "$root$directory"
  mount -t tmpfs -o mode=1777 tmpfs "$root$directory"
done

inside() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    chroot "$root" /packages/inside.sh "$@"
}
inside clean
inside install
inside purge

# Whatever is in the layer but not below it was left by the packages.
not_below() {
  while IFS= read -r path; do
    if [[ ! -e $path && ! -L $path ]]; then echo "$path"; fi
  done
}
left=$(find "$work/upper" -mindepth 1 | sed "s|^$work/upper||" | not_below |
  { grep -vE '^/(packages|old|var/lib/dpkg|var/log|var/cache/man|var/cache/ldconfig)(/|$)' || true; })
[[ -z $left ]] || fail "purge has left: $left"
echo "ok: purge leaves nothing"
