#compdef besom
# Zsh completion for besom. "besom --verbs" lists the verbs and their options.
local -a verbs
verbs=("${(@f)$(besom --verbs 2>/dev/null)}")
if (( CURRENT == 2 )); then
  compadd -- help ${verbs%% *}
elif (( CURRENT == 3 )) && [[ $words[2] == help ]]; then
  compadd -- ${verbs%% *}
elif (( CURRENT == 3 )) && [[ $words[2] == db ]]; then
  compadd -- load get put del scan stats check
elif (( CURRENT == 3 )) && [[ $words[2] == redis ]]; then
  compadd -- load has report shard save import
elif [[ $words[CURRENT] == -* ]]; then
  compadd -- --help ${=${(M)verbs:#$words[2] *}#* }
elif [[ $words[CURRENT-1] == --options ]]; then
  local kind=${words[${words[(i)--kind]}+1]:-aqf}
  local -a options
  options=(${(M)${(f)"$(besom kinds --options --json)"}:#\{\"kind\":(\"$kind\"|null)*})
  compadd -S = -- ${${options#*\"option\":\"}%%\"*}
elif [[ $words[CURRENT-1] == --kind ]]; then
  compadd -- ${${(f)"$(besom kinds --json)"}//(#b)\{\"kind\":\"([^\"]#)*/$match[1]}
else
  _files
fi
