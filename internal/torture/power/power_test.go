package power

import (
	"slices"
	"strings"
	"testing"

	"fslease/internal/torture/kit"
)

func TestPowerCutsOfCommands(t *testing.T) {
	t.Parallel()
	kit.Test(t, Part, 0.005)
}

func TestFaultsOfPower(t *testing.T) { kit.TestFaults(t, Part) }

func TestCallsAreReadFromATrace(t *testing.T) {
	trace := `12 mkdirat(3<\x2f\x6c>, "\x61\x2c\x62", 0700) = 0
13 write(4<\x2f\x6c\x2f\x23\x37>(deleted), "\x29\x22", 2 <unfinished ...>
12 --- SIGURG {si_signo=SIGURG, si_code=SI_TKILL} ---
13 <... write resumed>) = 2
12 openat2(3<\x2f\x6c>, "\x78", {flags=O_RDWR, mode=0600}, 24) = -1 ENOENT (No such file or directory)
12 +++ exited with 0 +++
`
	var got []string
	err := calls(strings.NewReader(trace), func(c call) error {
		path, unnamed := target(c.args[0])
		word, _ := text(c.args[1])
		got = append(got, strings.Join([]string{c.pid, c.name, path, word, c.result}, " "))
		if (c.name == "write") != unnamed || (c.name == "openat2") == c.ok() || len(c.args) < 3 {
			t.Errorf("%+v", c)
		}
		return nil
	})
	want := []string{"12 mkdirat /l a,b 0", "13 write /l/#7 )\" 2", "12 openat2 /l x -1 ENOENT (No such file or directory)"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}
