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
# An empty list, and one of which more than a fifth changed (MAX_CHANGE), are refused: a download may
# have been cut short. The last version stays published.
#
# DOMAINS=1 makes a list of domains (besom build --domains): a listed name stands for those below it.
#
# REPORTS is a directory of files that users of the list sent (besom fix --fixes). Nobody trusts
# them: what they report joins the no list, today and later, unless it is on the yes list or, of
# domains, below a name of it (besom judge). Of one file, and of all of them, at most MAX_REPORTS
# keys are taken.
set -eu
name=$1 yes=$2 no=$3 key=$4 state=$5 site=$6
kept=${KEPT:-7} max_change=${MAX_CHANGE:-20%} max_reports=${MAX_REPORTS:-10000}
domains=() updated=() fpr=0.001
[[ ! ${DOMAINS:-} ]] || domains=(--domains) fpr=1e-6 # of a host, whatever its labels
expires=3d # a client whose mirror is stuck notices within three days

export LC_ALL=C # one order for sort and comm, whatever the bytes of a report

mkdir -p "$state" "$site"
last=$(cat "$state/sequence" 2>/dev/null || echo 0)
now=$((last + 1))
old=$state/$last.besom new=$state/$now.besom

# The keys of a file of fixes for this list, of any version; nothing of another file.
keys_of_report() {
  [[ -f $1 && ! -L $1 ]] && head -n 1 -- "$1" | grep -q "^besom-fixes-1 [^ ]* name=$name\$" ||
    { echo "$1: no fixes of $name: left out" >&2; return; }
  sed -nE '2,$ s/^[0-9]{4}-[0-9]{2}-[0-9]{2}\t([^[:cntrl:]]{1,1000})$/\1/p' -- "$1" |
    head -n "$max_reports"
}

# A key that must never be blocked is not blocked. Of names in two spellings besom finds the others.
sort -u "$no" >"$state/no.txt"
sort -u "$yes" | comm -23 - "$state/no.txt" >"$state/$now.txt"
lists=(--yes "$state/$now.txt" --no "$state/no.txt")

# What users reported, now and earlier, must be answered no, but for keys of today's yes list.
touch "$state/reported.txt"
{
  cat "$state/reported.txt"
  for file in "${REPORTS:-/dev/null}"/*; do [[ ! -e $file ]] || keys_of_report "$file"; done
} >"$state/reports.txt"
# An update is asked for names with as many labels as the list that it replaces.
[[ ! ${DOMAINS:-} || ! -e $old ]] || updated=(--update "$old")
besom judge "$state/reports.txt" "${domains[@]}" "${updated[@]}" "${lists[@]}" \
  --most "$max_reports" >"$state/reported.new" || [[ $? == 1 ]] # 1: none is accepted
lists+=(--no "$state/reported.new" --on-conflict no)

# An update of the last version, so that the patch is small; after 16 of them, or if they are large,
# a new list.
build=(besom build "$new" --fpr "$fpr" "${domains[@]}" "${lists[@]}")
if [[ -e $old ]]; then
  build+=(--update "$old" --was "$state/$last.txt" --merge auto --max-change "$max_change")
else
  build+=(--smallest)
fi
"${build[@]}"
besom verify "$new" "${lists[@]}" >/dev/null
mv "$state/reported.new" "$state/reported.txt"
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
