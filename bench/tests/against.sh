#!/usr/bin/env bash
# against.sh BENCH DRIVER: besom-bench micro --against with the driver of the examples, and with
# drivers that fail. Checks the shape of the output, never a time.
set -eu -o pipefail
bench=$1 driver=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

die() {
  echo "against.sh: $1" >&2
  cat "$place"/* >&2
  exit 1
}

micro() {
  "$bench" micro --slots 1024 --kinds qf --seed c0ffee "$@"
}

# count ROWS PATTERN: so many lines of the output.
count() {
  [[ $(grep -cE "$2" "$place/out") == "$1" ]] || die "not $1 lines of $2"
}

# Three peers: besom's own qf with the same keys, one that is only built, one without removes. A
# ratio is in a row if kind and peer have the operation.
micro --rounds 3 --csv --against "twin='$driver' qf" --against "built='$driver' fuse" \
  --against "few.1='$driver' bloom" >"$place/out"
time='[0-9]+\.[0-9]+' ratio='[0-9]+\.[0-9]{2}'
count 1 '^kind,op,ns,ratio,value,spread,besom/twin,besom/built,besom/few\.1$'
count 2 ',probe,.*,,,$'
count 1 "^qf,insert,$time,$time,,$time,$ratio,,$ratio\$"
count 1 "^qf,negative_batch,$time,$time,,$time,$ratio,$ratio,$ratio\$"
count 1 "^qf,build,$time,$time,,$time,$ratio,$ratio,$ratio\$"
count 1 "^qf,remove,$time,$time,,$time,$ratio,,\$"
count 1 "^qf,merge,$time,$time,,$time,,,\$"
count 10 "^twin,[a-z_]+,$time,$time,,$time,,,\$"
count 5 "^built,(build|negative|positive)(_batch)?,$time,$time,,$time,,,\$"
count 9 "^few.1,[a-z_]+,$time,$time,,$time,,,\$"
count 4 '^(qf|twin|built|few\.1),bits_per_key,,,[0-9.]+,,,,$'
count 4 '^(qf|twin|built|few\.1),fpr,,,0\.00[0-9]+,,,,$'

# JSON names the ratios likewise; the table says what they are.
micro --rounds 1 --json --against "bloom1='$driver'" >"$place/out"
count 1 '"kind": "qf", "op": "insert", .*"besom/bloom1": [0-9]'
micro --rounds 1 --p99 --against "bloom1='$driver'" >"$place/out"
count 1 'p99 +besom/bloom1$'
count 1 '^besom/NAME: speed of the kind'

# slow_from ROUND: a driver whose calls take no time, or, from that round on, years. The ratio is the
# median of the rounds, and grows with the speed of besom. A round has three questions 'keys'.
slow_from() {
  cat <<END
n=0; while read -r q; do case \$q in
  keys*) n=\$((n + 1)); ns=1; [ \$n -le $((3 * $1 - 3)) ] || ns=1000000000000000000; echo OK;;
  insert*|build) echo OK \$ns;; negative*) echo OK \$ns 0;; positive*) echo OK \$ns 65536;; *) echo NO;;
esac; done
END
}
micro --rounds 3 --csv --against "early=$(slow_from 2)" --against "late=$(slow_from 3)" >"$place/out"
count 9 '^qf,.*,[0-9]{9,}\.[0-9]{2},0\.00$'

# fails CODE MESSAGE OPTIONS: no results, one message.
fails() {
  local code=0
  micro --rounds 1 "${@:3}" >"$place/out" 2>"$place/err" || code=$?
  [[ $code == "$1" && ! -s $place/out ]] || die "exit code $code instead of $1 of ${*:3}"
  grep -qF -- "$2" "$place/err" || die "no message '$2' of ${*:3}"
}

# The answers of a driver: to keys, insert, insert (the last ones), negative, positive.
answers() {
  printf 'x=while read -r q; do case $q in'
  printf ' keys*) echo "%s";; insert*) echo "%s";; negative*) echo "%s";; positive*) echo "%s";;' "$@"
  printf ' *) echo NO;; esac; done'
}

echo '# drivers that end' >"$place/what"
fails 3 "the driver of x ended before it answered 'keys 921 " --against 'x=exit 7'
fails 3 "the driver of x ended before it answered 'keys 921 " --against 'x=/nonexistent/driver'
fails 3 "the driver of x ended before it answered 'insert 0 870'" --against 'x=read -r q; echo OK'
fails 3 "the driver of x ended before it answered 'keys 921 " --against 'x=printf OK'
echo '# drivers that do not answer: the limit ends the wait, and the driver' >"$place/what"
fails 3 "the driver of x did not answer 'keys 921 " --answer-within 1 \
  --against "x=echo \$\$ >'$place/pid'; cat >/dev/null; sleep 1000000"
! kill -0 "$(cat "$place/pid")" 2>/dev/null || die "the driver still runs"
echo '# wrong answers' >"$place/what"
fails 3 "with 'YES' instead of OK" --against "$(answers YES 5 5 5)"
fails 3 "answered 'keys' with NO" --against "$(answers NO 5 5 5)"
fails 3 "with 'OK 1' instead of OK" --against "$(answers 'OK 1' 5 5 5)"
fails 3 "with 'OK' instead of OK and a number" --against "$(answers OK OK 5 5)"
fails 3 "with 'OK -5' instead of OK and a number" --against "$(answers OK 'OK -5' 5 5)"
fails 3 "with 'OK 99999999999999999999' instead" --against "$(answers OK 'OK 99999999999999999999' 5 5)"
fails 3 "with 'OK 1.5' instead of OK and a number" --against "$(answers OK 'OK 1.5' 5 5)"
fails 3 "with 'ERROR no memory' instead" --against "$(answers OK 'ERROR no memory' 5 5)"
fails 3 "measured 0 nanoseconds for 921 keys of insert" --against "$(answers OK 'OK 0' 5 5)"
fails 3 "answered 'insert' and 'build' with NO" --against "$(answers OK NO 5 5)"
fails 3 "with 'OK 5' instead of OK and two numbers" --against "$(answers OK 'OK 5' 'OK 5' 5)"
fails 3 "says yes to 65535 of 65536 queries for members" \
  --against "$(answers OK 'OK 5' 'OK 5 0' 'OK 5 65535')"
fails 3 "with more than one line" --against 'x=read -r q; printf "OK\nOK\n"; cat'
fails 3 "with a line of more than 255 bytes" --against 'x=read -r q; printf %0300d 0; cat'
echo '# wrong command lines' >"$place/what"
fails 2 "'cat' is not NAME=COMMAND" --against cat
fails 2 "'=cat' is not NAME=COMMAND" --against =cat
fails 2 "'x=' is not NAME=COMMAND" --against x=
fails 2 "'a,b=cat' is not NAME=COMMAND" --against a,b=cat
fails 2 "qf is the name of a kind" --against qf=cat
fails 2 "there are two drivers of x" --against x=cat --against x=cat
fails 2 "--answer-within" --against x=cat --answer-within 0
