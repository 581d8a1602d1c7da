# fish completion for lease. Install as vendor_completions.d/lease.fish.

function __lease_after_dashes
    contains -- -- (commandline -opc)
end

function __lease_complete
    set -l words (commandline -opc)
    set -e words[1]
    lease __complete $words (string unescape -- (commandline -ct)) 2>/dev/null
end

# After -- stands another command: its own completion does the rest.
function __lease_complete_command
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words)
    set -e words[1..$at]
    complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))
end

complete -c lease -n 'not __lease_after_dashes' -f -a '(__lease_complete)'
complete -c lease -n __lease_after_dashes -f -a '(__lease_complete_command)'
