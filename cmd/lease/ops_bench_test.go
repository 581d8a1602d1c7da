package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkLsBesideTombstones lists 1,000 held keys, with no tombstones in the ledger and with 100,000, turn by turn. ratio is what the
// tombstones cost, by the medians: it is to stay below 1.2.
func BenchmarkLsBesideTombstones(b *testing.B) {
	var medians []time.Duration
	ledgers := []*Ledger{withTombstones(b, 1000, 0), withTombstones(b, 1000, 100_000)}
	took := make([][]time.Duration, len(ledgers))
	for b.Loop() {
		for i, l := range ledgers {
			start := time.Now()
			r := l.Run("ls").Want(b, 0)
			took[i] = append(took[i], time.Since(start))
			if n := strings.Count(r.Stdout, "\n"); n != 1000 {
				b.Fatalf("%d lines", n)
			}
		}
	}
	for _, all := range took {
		slices.Sort(all)
		medians = append(medians, all[len(all)/2])
	}
	b.ReportMetric(float64(medians[0].Microseconds()), "µs/without")
	b.ReportMetric(float64(medians[1].Microseconds()), "µs/with")
	b.ReportMetric(float64(medians[1])/float64(medians[0]), "ratio")
}

// What was given up costs ls nothing: it lists no folder of tombstones, and opens none of a key that is not held.
func TestLsReadsNoTombstones(t *testing.T) {
	t.Parallel()
	needs(t, "strace")
	l := withTombstones(t, 20, 20)
	l.In("strace", "-f", "-qqq", "-e", "trace=%file", "-o", "trace").Run("ls").Want(t, 0)
	trace := l.File("trace")
	if !strings.Contains(trace, `"leases/work-0/part-0.json"`) || strings.Contains(trace, `"tombstones"`) || strings.Contains(trace, "given-up") {
		t.Errorf("it looks at\n%s", trace)
	}
}

// withTombstones is a ledger of held keys in 50 folders, and so many keys that were given up.
func withTombstones(t testing.TB, held, tombstones int) *Ledger {
	t.Helper()
	l := NewLedger(t)
	keys := make([]string, held)
	for i := range keys {
		keys[i] = fmt.Sprintf("work-%d/part-%d", i%50, i)
	}
	l.Run(append([]string{"acquire", "--ttl", "1h"}, keys...)...).Want(t, 0)
	l.Run("acquire", "--ttl", "1h", "given-up").Want(t, 0)
	l.Run("release", "given-up", "--token", "1").Want(t, 0)
	tombstone := filepath.Join(l.Dir, "tombstones", "given-up.json")
	content, err := os.ReadFile(tombstone)
	if err != nil {
		t.Fatal(err)
	}
	if tombstones == 0 {
		err = os.Remove(tombstone)
	}
	for i := range tombstones {
		key := fmt.Sprintf("given-up-%d", i)
		if err == nil {
			err = os.WriteFile(filepath.Join(l.Dir, "tombstones", key+".json"), []byte(strings.Replace(string(content), `"given-up"`, `"`+key+`"`, 1)), 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}
