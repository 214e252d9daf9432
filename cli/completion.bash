# Bash completion for besom. "besom --verbs" lists the verbs and their options, and "besom kinds
# --options" the options of a kind.

# Names, or after a "=" values, of the options of the kind that the line names.
_besom_options() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} kind=aqf i lines
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i - 1]} == --kind ]]; then kind=${COMP_WORDS[i]}; fi
  done
  lines=$(besom kinds --options --json | grep -E "^\\{\"kind\":(\"$kind\"|null)")
  local names="s/.*\"option\":\"\\([^\"]*\\)\".*/\\1=/p" start=
  if [[ $word == *,* ]]; then
    start=${word%,*},
  elif [[ $word == = || $before == = ]]; then
    local name=${COMP_WORDS[COMP_CWORD - 1]}
    if [[ $before == = ]]; then name=${COMP_WORDS[COMP_CWORD - 2]}; fi
    names="s/.*\"option\":\"${name##*,}\",\"values\":\"\\([a-z0-9-]*\\(, [a-z0-9-]*\\)*\\)\".*/\\1/p"
    word=${word#=}
  fi
  mapfile -t COMPREPLY < <(compgen -P "$start" -W "$(sed -n "$names" <<<"$lines" | tr -d ,)" -- "${word#"$start"}")
  compopt -o nospace 2>/dev/null
}

_besom() {
  local word=${COMP_WORDS[COMP_CWORD]}
  local verbs
  verbs=$(besom --verbs 2>/dev/null) || return
  if [[ $COMP_CWORD -eq 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "help $(sed 's/ .*//' <<<"$verbs")" -- "$word")
  elif [[ $COMP_CWORD -eq 2 && ${COMP_WORDS[1]} == help ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(sed 's/ .*//' <<<"$verbs")" -- "$word")
  elif [[ $COMP_CWORD -eq 2 && ${COMP_WORDS[1]} == db ]]; then
    mapfile -t COMPREPLY < <(compgen -W "load get put del scan stats check" -- "$word")
  elif [[ $COMP_CWORD -eq 2 && ${COMP_WORDS[1]} == redis ]]; then
    mapfile -t COMPREPLY < <(compgen -W "load has report shard save import" -- "$word")
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(sed -n "s/^${COMP_WORDS[1]} //p" <<<"$verbs") --help" -- "$word")
  elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == --options || ${COMP_WORDS[COMP_CWORD - 1]} == = || $word == = ]]; then
    _besom_options
  elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == --kind ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(besom kinds --json | sed 's/{"kind":"\([^"]*\).*/\1/')" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -o filenames -F _besom besom
