package githook

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"fslease/fslease"
)

const benchPaths, benchReservations = 10_000, 1_000

func benchLedger() fakeLedger {
	var ledger fakeLedger
	for i := range benchReservations {
		ledger.Held = append(ledger.Held, fakeReservation{Key: fslease.Key(fmt.Sprintf("repo/service-%d/internal/part", i)), Ticket: fmt.Sprint(i)})
	}
	return ledger
}

func benchPath(i int) string {
	return fmt.Sprintf("service-%d/internal/other/file-%d.go", i%benchReservations, i)
}

// The decision alone: 10,000 staged paths against 1,000 reservations.
func BenchmarkDecide(b *testing.B) {
	changes := make([]Change, benchPaths)
	for i := range changes {
		changes[i].Path = benchPath(i)
	}
	reservations, err := benchLedger().Reservations(b.Context(), DefaultPrefix)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		setKeys(changes, DefaultPrefix)
		if r := Decide(changes, reservations); r.Answer != Allow {
			b.Fatal(r.Refusals)
		}
	}
}

// The whole hook with the git commands that it runs, on an index with 10,000 staged paths.
func BenchmarkPreCommit(b *testing.B) {
	w := newWorld(b)
	w.do(".", "git init -q r; git -C r commit -q --allow-empty -m base")
	for i := range benchPaths {
		w.write(filepath.Join("r", benchPath(i)), "")
	}
	w.do("r", "git add .")
	req := Request{Hook: PreCommit, Repo: w.repo("r")}
	ledger := benchLedger()
	for b.Loop() {
		if r := Run(b.Context(), req, ledger); r.Answer != Allow || r.Err != nil {
			b.Fatal(r.Refusals, r.Err)
		}
	}
}

// The whole hook on a push of 1,000 commits with ten paths each.
func BenchmarkPrePush(b *testing.B) {
	w := newWorld(b)
	w.do(".", `git init -q r; cd r; git commit -q --allow-empty -m base
		for i in $(seq 1000); do
			printf 'commit refs/heads/main\ncommitter Ann <ann@example.org> %d +0000\ndata 1\nm\n' $((1700000000+i))
			if [ $i = 1 ]; then echo 'from refs/heads/main^0'; fi
			for f in 0 1 2 3 4 5 6 7 8 9; do printf 'M 100644 inline service-%d/internal/other/file-%d.go\ndata 1\nx\n' $i $f; done
		done | git fast-import --quiet`)
	head := w.do("r", "git rev-parse HEAD")[:40]
	stdin := "refs/heads/main " + head + " refs/heads/main 0000000000000000000000000000000000000000\n"
	ledger := benchLedger()
	for b.Loop() {
		req := Request{Hook: PrePush, Args: []string{"origin", "nowhere"}, Stdin: strings.NewReader(stdin), Repo: w.repo("r")}
		if r := Run(b.Context(), req, ledger); r.Answer != Allow || r.Err != nil {
			b.Fatal(r.Refusals, r.Err)
		}
	}
}
