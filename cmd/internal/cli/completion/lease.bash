# bash completion for lease. Install as share/bash-completion/completions/lease, or source it.

_lease() {
    local line=${COMP_LINE:0:COMP_POINT} cur i
    local -a words
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")

    # After -- stands another command: its own completion does the rest.
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then
            if declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
            elif ((COMP_CWORD == i + 1)); then
                mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
            else
                mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
            fi
            return
        fi
    done

    mapfile -t COMPREPLY < <(lease __complete "${words[@]:1}" 2>/dev/null)

    # bash takes what follows a colon or = for a word of its own.
    cur=${words[${#words[@]} - 1]}
    if [[ $cur == *[:=]* ]]; then
        local head=${cur%"${cur##*[:=]}"}
        COMPREPLY=("${COMPREPLY[@]#"$head"}")
    fi
}
complete -F _lease lease
