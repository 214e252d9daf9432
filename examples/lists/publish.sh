#!/usr/bin/env bash
# The publisher's part of a nightly blocklist with signed patches.
#
#   publish.sh NAME YES NO KEY STATE SITE
#
# YES and NO are today's whole lists: keys to block, and keys that must never be blocked. KEY is a
# secret key of minisign. STATE is the publisher's own directory; SITE is what mirrors copy:
#   NAME.besom, NAME.besom.minisig             the newest list
#   NAME.from-N.patch, NAME.from-N.patch.minisig  from version N to the newest, for the last
#                                              7 versions (KEPT)
set -eu
name=$1 yes=$2 no=$3 key=$4 state=$5 site=$6
kept=${KEPT:-7} expires=3d # a client whose mirror is stuck notices within three days

mkdir -p "$state" "$site"
last=$(cat "$state/sequence" 2>/dev/null || echo 0)
now=$((last + 1))
old=$state/$last.besom new=$state/$now.besom

# A key that must never be blocked is not blocked.
sort -u "$no" >"$state/no.txt"
sort -u "$yes" | comm -23 - "$state/no.txt" >"$state/$now.txt"

# An update of the last version, so that the patch is small; after 16 of them a new list.
if ! { [[ -e $old ]] && besom build "$new" --update "$old" --yes "$state/$now.txt" \
  --no "$state/no.txt" --was "$state/$last.txt"; }; then
  besom build "$new" --smallest --fpr 0.001 --yes "$state/$now.txt" --no "$state/no.txt"
fi
besom verify "$new" --yes "$state/$now.txt" --no "$state/no.txt" >/dev/null
besom sign "$new" --key "$key" --name "$name" --sequence "$now" --expires "$expires"

# The new patches and the new list replace the old ones at the end, the list last.
fresh=$(mktemp -d -p "$site")
trap 'rm -rf "$fresh"' EXIT
for ((n = now > kept ? now - kept : 1; n < now; n++)); do
  besom diff "$state/$n.besom" "$new" "$fresh/$name.from-$n.patch" --sign "$key"
done
cp "$new" "$fresh/$name.besom"
cp "$new.minisig" "$fresh/$name.besom.minisig"
chmod a+r "$fresh"/*
echo "$now" >"$state/sequence" # first: no number is used twice, even after a crash
find "$site" -maxdepth 1 -name "$name.from-*.patch*" -delete
for file in "$fresh/$name".from-*; do [[ ! -e $file ]] || mv "$file" "$site"; done
mv "$fresh/$name.besom" "$site"
mv "$fresh/$name.besom.minisig" "$site"
find "$state" -maxdepth 1 -name "$((now - kept)).*" -delete
