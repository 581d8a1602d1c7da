package main_test

import "testing"

// The clock of another time namespace, a day ahead, expires no session and revives none: on its own clock a session's
// deadline counts, and elsewhere when it ends.
func TestSessionInATimeNamespace(t *testing.T) {
	t.Parallel()
	needs(t, "root", "unshare")
	for _, c := range []struct{ name, from, to string }{
		{"started here, looked at a day ahead", "0", "100000"},
		{"started a day ahead, looked at here", "100000", "0"},
		{"started a day ahead, looked at two days ahead", "100000", "200000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			in := func(ahead string) *Ledger {
				if ahead == "0" {
					return l
				}
				return l.In("unshare", "--time", "--fork", "--monotonic", ahead, "--boottime", ahead)
			}
			from, to := in(c.from), in(c.to)
			l.Approved("1", "a")
			l.Approved("2", "b")
			from.Begin("1", "--lease", "1h")
			to.Run("check", "a", "--token", "1").Want(t, 0)
			to.Run("run", "-n", "other", "--", "true").Want(t, 0)
			if status := l.Ticket("1").Str("status"); status != "IN_PROGRESS" {
				t.Fatalf("a session of an hour was ended at once: %s", status)
			}
			to.IsReserved(t, "a", "1", "a")
			to.Run("ticket", "checkpoint", "1", "--token", "1").Want(t, 0)
			from.Run("run", "-n", "other", "--", "true").Want(t, 0)
			from.Run("ticket", "checkpoint", "1", "--token", "1").Want(t, 0)

			from.Begin("2", "--lease", "500ms")
			l.Lapsed("2")
			to.Run("run", "-n", "other", "--", "true").Want(t, 0)
			l.IsBlocked(t, "2", "lease_expired", "1")
			from.Run("ticket", "checkpoint", "2", "--token", "1").Want(t, 76)
		})
	}
}
