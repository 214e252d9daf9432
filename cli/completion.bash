# Bash completion for besom. "besom --verbs" lists the verbs and their options.
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
  elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == --kind ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(besom kinds --json | sed 's/{"kind":"\([^"]*\).*/\1/')" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -o filenames -F _besom besom
