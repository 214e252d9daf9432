#!/bin/sh
# inside.sh clean|install|purge: the parts of run.sh that run in the root; /packages has the
# packages, /old the same ones with an older version.
set -eu
fail() {
  echo "inside.sh: $1" >&2
  exit 1
}
names=$(for file in /packages/*.deb; do dpkg-deb -f "$file" Package; done)
dpkg_quiet() { dpkg --force-unsafe-io "$@" >/tmp/dpkg.log 2>&1 || { cat /tmp/dpkg.log; fail "dpkg $1"; }; }
state() { dpkg-query -W -f '${db:Status-Status} ${Version}' "$1"; }

# Nothing of besom is here, even if the machine has the packages.
clean() {
  for name in $names; do
    if dpkg-query -W "$name" >/dev/null 2>&1; then dpkg_quiet -P --force-depends "$name"; fi
  done
  if command -v besom || pkg-config --exists besom || /usr/bin/python3 -c 'import besom' 2>/dev/null; then
    fail "the root is not clean: besom is installed, but not as a package"
  fi
  echo "ok: a clean root"
}

check_all() {
  for name in $names; do
    wanted="installed $1"
    [ "$(state "$name")" = "$wanted" ] || fail "$name is '$(state "$name")', not '$wanted'"
  done
  # shellcheck disable=SC2086 # words
  changed=$(dpkg -V $names) || true
  [ "$changed" = "${2-}" ] || fail "these files are not those of the packages: $changed"
}

install() {
  dpkg_quiet -i /old/*.deb
  check_all 0.0.1
  echo "ok: install"
  version=$(dpkg-deb -f "$(ls /packages/besom_*.deb)" Version)
  dpkg_quiet -i /packages/*.deb
  check_all "$version"
  echo "ok: upgrade"
  /packages/first-steps
  if [ -e /etc/redis/besom.conf ]; then
    echo '# changed' >>/etc/redis/besom.conf
    dpkg_quiet -i /packages/*.deb
    check_all "$version" "??5?????? c /etc/redis/besom.conf"
    tail -1 /etc/redis/besom.conf | grep -q '# changed' || fail "the configuration was not kept"
  fi
  echo "ok: install again; a changed configuration is kept"
}

purge() {
  # shellcheck disable=SC2086 # words
  dpkg_quiet -r $names
  # shellcheck disable=SC2086 # words
  dpkg_quiet -P $names
  for name in $names; do
    if dpkg-query -W "$name" >/dev/null 2>&1; then fail "$name is still known"; fi
  done
  if command -v besom || /usr/bin/python3 -c 'import besom' 2>/dev/null; then fail "besom is still here"; fi
  echo "ok: remove and purge"
}

case ${1-} in
clean | install | purge) "$1" ;;
*) fail "usage: inside.sh clean|install|purge" ;;
esac
