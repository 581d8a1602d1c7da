# fish completion for lease. Install as vendor_completions.d/lease.fish.

function __lease_after_dashes
    contains -- -- (commandline -opc)
end

function __lease_complete
    set -l words (commandline -opc)
    lease __complete $words[2..] (commandline -ct) 2>/dev/null
end

# After -- stands another command: its own completion does the rest.
function __lease_complete_command
    set -l words (commandline -opc) (commandline -ct)
    set -l at (contains -i -- -- $words)
    complete -C (string join ' ' -- (string escape -- $words[(math $at + 1)..]))
end

complete -c lease -n 'not __lease_after_dashes' -f -a '(__lease_complete)'
complete -c lease -n __lease_after_dashes -f -a '(__lease_complete_command)'
