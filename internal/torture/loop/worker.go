package loop

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

const workers = 8

// prelude lets a worker note before and after each command what it does and what came of it, outside of the file system
// that is shut down. It ends at the first command that the file system does not carry any more.
const prelude = `log=$1
do_() {
  echo "begin $*" >>"$log"
  out=$(lease "$@" 2>>"$log.err")
  code=$?
  echo "end $code $out" >>"$log"
  case $code in 74 | 125) exit 1 ;; esac
}
`

// work is the script of a worker: random work on keys of its own, keys of all, and tickets of its own.
func work(r *rand.Rand, round, worker int) string {
	var b strings.Builder
	b.WriteString(prelude)
	key := func() string { return fmt.Sprintf("w%d/%c", worker, 'a'+r.IntN(3)) }
	tickets := 0
	for range 60 {
		switch r.IntN(8) {
		case 0, 1:
			k := key()
			fmt.Fprintf(&b, "do_ acquire -n --ttl 1h %[1]s; t=$out\ndo_ renew %[1]s --token $t\ndo_ release %[1]s --token $t\n", k)
		case 2:
			k := key()
			fmt.Fprintf(&b, "do_ acquire -n --ttl 1h %[1]s\ndo_ break %[1]s --reason why\n", k)
		case 3, 4:
			fmt.Fprintf(&b, "do_ run -n %[1]s -- sh -c 'echo told %[1]s $LEASE_TOKEN >>\"$0\"' \"$log\"\n", key())
		case 5:
			fmt.Fprintf(&b, "do_ run -n all/%[1]d -- sh -c 'echo told all/%[1]d $LEASE_TOKEN >>\"$0\"' \"$log\"\n", r.IntN(3))
		case 6:
			tickets++
			id := fmt.Sprintf("t%d-%d-%d", round, worker, tickets)
			fmt.Fprintf(&b, "do_ ticket add %[1]s --scope w%[2]d/scope\ndo_ ticket approve %[1]s\ndo_ ticket start %[1]s; t=$out\ndo_ ticket checkpoint %[1]s --token $t\n", id, worker)
			if r.IntN(2) == 0 {
				fmt.Fprintf(&b, "do_ ticket review %[1]s --token $t\ndo_ ticket start %[1]s; t=$out\n", id)
			}
			fmt.Fprintf(&b, "do_ ticket done %[1]s --token $t\n", id)
		case 7:
			if worker == 0 {
				b.WriteString("do_ gc --older-than 0s\n")
			}
		}
	}
	return b.String()
}
