#compdef lease
# zsh completion for lease. Install as _lease in a directory of $fpath.

_lease() {
    local dash=${words[(i)--]}
    if ((dash < CURRENT)); then
        # After -- stands another command: its own completion does the rest.
        shift $dash words
        ((CURRENT -= dash))
        _normal
        return
    fi
    local -a found
    found=("${(@f)$(lease __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    compadd -- ${found:#}
}
compdef _lease lease
