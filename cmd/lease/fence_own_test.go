package main_test

import (
	"strings"
	"testing"
)

// A command that asks for what it runs under is refused at once: it would wait for its own end.
func TestOwnFenceIsNeverWaitedFor(t *testing.T) {
	for name, script := range map[string]string{
		"transfer":           `lease transfer a --token 1 --to-pid $$`,
		"released, acquire":  `lease release a --token 1; lease acquire --pid $$ a`,
		"released, run":      `lease release a --token 1; lease run a -- true`,
		"released, below":    `lease release a --token 1; lease run a/x -- true`,
		"broken, acquire":    `lease break a --reason test 2>/dev/null; lease acquire --pid $$ a`,
		"released, wait":     `lease release a --token 1; lease wait a`,
		"descriptors closed": `lease release a --token 1; python3 -c 'import os,subprocess; os.closerange(3, 4096); raise SystemExit(subprocess.call(["lease", "run", "a", "--", "true"]))'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			r := l.Run("run", "--ttl", "1h", "a", "--", "sh", "-c", script+`; echo "code $?" >code`)
			if got := l.File("code"); !strings.Contains(got, "code 75") {
				t.Errorf("it ended with %q\n%s", got, r)
			}
			r.Says(t, "wait for itself")
		})
	}
}
