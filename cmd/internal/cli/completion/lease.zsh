#compdef lease
# zsh completion for lease. Install as _lease in a directory of $fpath, or source it after compinit.

_lease() {
    local dash=${words[(ie)--]}
    if ((dash < CURRENT)); then
        # After -- stands another command: its own completion does the rest.
        shift $dash words
        ((CURRENT -= dash))
        _normal
        return
    fi
    local -a found
    found=("${(@f)$(lease __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    compadd -- ${found:#}
}

# In $fpath this file is the function itself, and called at once.
if [[ ${funcstack[1]} == _lease ]]; then
    _lease "$@"
else
    compdef _lease lease
fi
