package githook

import "strings"

const (
	previousSuffix = ".lease-prev" // of the hook that stood there before ours
	probeStatus    = 3             // how our hook answers a probe; not 0, so that nothing passes by it
	probeArgument  = "--lease-probe"
)

// mark begins the second line of every hook of ours; the hook's name follows.
const mark = "# hook of lease, written by lease hook install, removed by lease hook uninstall:"

// Our hook first calls the hook that stood there before, with what git gave, and then lease. It does nothing
// else, so that it need not be written again when lease changes. $0 is the path that git called.
const hookTemplate = `#!/bin/sh
MARK NAME
if [ "${1-}" = --lease-probe ]; then command -v lease; exit 3; fi
INPUTprevious=$0.lease-prev
if [ -f "$previous" ] && [ -x "$previous" ]; then
	FEED"$previous" "$@" || exit
fi
if ! command -v lease >/dev/null 2>&1; then
MISSINGfi
FEEDlease hook run NAME "$@"LAST
`

// Both readers get what git wrote. A here-document has no limit of length, and its last newline is the one
// that $() took away.
const inputTemplate = `input=$(cat)
feed() {
	if [ -z "$input" ]; then "$@" </dev/null; return; fi
	"$@" <<END
$input
END
}
`

const missingTemplate = `	echo 'lease: NAME: the command lease is not on PATH, so nothing was checked' >&2
	if [ "$(git config --get lease.onError)" = allow ]; then exit 0; fi
	echo 'lease: hint: put lease on PATH; git COMMAND --no-verify goes past this check; git config lease.onError allow lets pass what cannot be checked' >&2
	exit 74
`

// script returns the text of our hook NAME.
func script(name string) string {
	input, feed, missing, last, command := "", "", missingTemplate, "", "commit"
	switch name {
	case PrePush:
		input, feed, command = inputTemplate, "feed ", "push"
	case PrepareCommitMsg: // refuses nothing, whatever becomes of lease
		missing, last = "\texit 0\n", " || exit 0"
	}
	text := strings.NewReplacer("MARK", mark, "INPUT", input, "FEED", feed, "MISSING", missing, "LAST", last).Replace(hookTemplate)
	return strings.NewReplacer("NAME", name, "COMMAND", command).Replace(text)
}

// isOurs reports whether text is a hook of ours, of this version or another.
func isOurs(text string) bool { return strings.HasPrefix(text, "#!/bin/sh\n"+mark) }
