#!/usr/bin/env bash
# install-redis.sh MODULE PREFIX SYSCONFDIR: installs the module for Redis and Valkey, a sample
# configuration, and drop-ins for the systemd units redis-server and valkey-server. A configuration
# that exists is kept. DESTDIR is put in front of all paths.
set -eu
module=$1 prefix=$2 sysconfdir=$3
root=${DESTDIR-}
source=$(cd "$(dirname "$0")/../redis" && pwd)
libdir=$prefix/lib/besom

# fill TEMPLATE FILE: writes the file with the paths of this installation.
fill() {
  mkdir -p "$(dirname "$root$2")"
  sed -e "s|@LIBDIR@|$libdir|g; s|@SYSCONFDIR@|$sysconfdir|g" "$source/$1" >"$root$2"
  chmod 644 "$root$2"
  echo "installed $root$2"
}

# Redis 7 loads only files with execute permission.
install -D -m 755 "$module" "$root$libdir/besom-redis.so"
echo "installed $root$libdir/besom-redis.so"
if [[ -e $root$sysconfdir/redis/besom.conf ]]; then
  echo "kept      $root$sysconfdir/redis/besom.conf"
else
  fill besom.conf.in "$sysconfdir/redis/besom.conf"
fi
for unit in redis-server valkey-server; do
  fill besom-systemd.conf.in "$sysconfdir/systemd/system/$unit.service.d/besom.conf"
done
echo "Now add this line to redis.conf, and run: systemctl daemon-reload; systemctl restart redis-server"
echo "include $sysconfdir/redis/besom.conf"
