# bash completion for lease. Install as share/bash-completion/completions/lease, or source it.

_lease() {
    COMPREPLY=()
    local line=${COMP_LINE:0:COMP_POINT} rest gap word i
    local -a words=()

    # Bash takes a line apart at : and = too. What stands in it without a space is one word to lease.
    rest=$line
    for ((i = 0; i <= COMP_CWORD; i++)); do
        gap=${rest%%[![:space:]]*}
        rest=${rest#"$gap"}
        word=${COMP_WORDS[i]}
        ((i < COMP_CWORD)) || word=$rest
        rest=${rest#"$word"}
        if ((i > 0)) && [[ -z $gap ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
        # After -- stands another command: its own completion does the rest.
        if [[ $word == -- ]] && ((i < COMP_CWORD)); then
            if declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
            elif ((COMP_CWORD == i + 1)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$2")
            else
                compopt -o filenames
                mapfile -t COMPREPLY < <(compgen -f -- "$2")
            fi
            return
        fi
    done

    # A key may contain what means something to the shell. A word with quotes or expansions in it is left as it is, and what
    # is proposed is quoted with backslashes; nothing is ever evaluated.
    word=${words[${#words[@]} - 1]}
    [[ ${word//\\?/} == *[\'\"\`\$]* ]] && return
    word=${word//\\/}
    words[${#words[@]} - 1]=$word
    local head=
    [[ $word == *[:=]* ]] && head=${word%"${word##*[:=]}"}
    while IFS= read -r word; do
        printf -v word %q "${word#"$head"}"
        COMPREPLY+=("$word")
    done < <(lease __complete "${words[@]:1}" 2>/dev/null)
}
complete -F _lease lease
