package main_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// README's question to the tickets, as it is pasted, asked of a ledger in which some have been in REVIEW for long.
func TestReadmeFindsForgottenReviews(t *testing.T) {
	t.Parallel()
	needs(t, "jq")
	script := ""
	for _, s := range snippets(t, abs(t, filepath.Join("..", "..", "README.md"))) {
		if strings.Contains(s.script, `"REVIEW"`) {
			script += s.script
		}
	}
	l := NewLedger(t)
	l.Dir = filepath.Join(l.Work, ".lease")
	l = l.Env("LEASE_LEDGER=")
	l.Run("init").Want(t, 0)
	age := func(id string, d time.Duration) {
		l.Edit("tickets/"+id+".json", func(r Record) { r["updated_at"] = time.Now().Add(-d).UTC().Format("2006-01-02T15:04:05.000Z07:00") })
	}
	l.Bring("41", "REVIEW", "old/a", "old/b")
	age("41", 25*time.Hour)
	l.Bring("42", "REVIEW", "new")
	age("42", 23*time.Hour)
	l.Bring("43", "BLOCKED", "blocked")
	age("43", 25*time.Hour)
	l.Bring("44", "DONE", "done")
	age("44", 25*time.Hour)
	r := l.Sh(script).Want(t, 0)
	if want := "41\told/a\n41\told/b\n"; r.Stdout != want {
		t.Errorf("it prints %q, want %q\n%s", r.Stdout, want, script)
	}
}
