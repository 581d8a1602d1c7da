package steps

import "fslease/fslease"

// used makes a ledger in which the key k was held before.
const used = "lease run k -- true\n"

// dead makes a lease of k whose holder was killed.
const dead = "lease run k -- sh -c 'kill -9 $PPID'\n"

// started makes a ticket t with the scope s/a and s/b and a session of generation 1.
const started = "lease ticket add t --scope s/a --scope s/b\nlease ticket approve t\nlease ticket start t\n"

var one = []fslease.Key{"k"}

// runs are the situations of run.
var runs = []Row{
	{Command: "run", Prepare: used, Args: []string{"run", "k", "--", "$WORK", "0.02"}, Keys: one, Takes: true, Works: true, Done: worked("k")},
	{Command: "run", Case: "there is no ledger", Args: []string{"run", "k", "--", "$WORK"}, Keys: one, Works: true, Done: worked("k")},
	{
		Command: "run", Case: "a key that was never held", Prepare: used, Args: []string{"run", "x/y/z", "--", "$WORK"},
		Keys: []fslease.Key{"x/y/z"}, Works: true, Done: worked("x/y/z"),
	},
	{
		Command: "run", Case: "several keys", Prepare: "lease run a/b -- true\n", Args: []string{"run", "a/b", "c", "a/d", "--", "$WORK", "0.02"},
		Keys: []fslease.Key{"a/b", "c", "a/d"}, Takes: true, Works: true, Done: worked("a/b", "c", "a/d"),
	},
	{Command: "run", Case: "the holder is dead", Prepare: used + dead, Args: []string{"run", "k", "--", "$WORK"}, Keys: one, Works: true, Done: worked("k")},
	{
		Command: "run", Case: "the holder of the key above is dead", Prepare: dead, Args: []string{"run", "k/sub", "--", "$WORK"},
		Keys: []fslease.Key{"k/sub", "k"}, Works: true, Done: worked("k/sub"),
	},
	{
		Command: "run", Case: "the holders below are dead", Prepare: "lease run k/a k/b -- sh -c 'kill -9 $PPID'\n", Args: []string{"run", "k", "--", "$WORK"},
		Keys: []fslease.Key{"k", "k/a"}, Works: true, Done: worked("k"),
	},
	{
		Command: "run", Case: "renewing", Prepare: used, Args: []string{"run", "--ttl", "30s", "--heartbeat", "4ms", "k", "--", "$WORK", "0.05"},
		Keys: one, Takes: true, Works: true, Done: worked("k"),
	},
	{Command: "run", Case: "--exec", Prepare: used, Args: []string{"run", "--exec", "k", "--", "$WORK"}, Keys: one, Works: true, Execs: true, Done: ran("k")},
	{
		Command: "run", Case: "--reentrant", Prepare: "lease acquire --ttl 1h k\n", Env: []string{"LEASE_KEYS=k=1"},
		Args: []string{"run", "--reentrant", "k", "--", "$WORK"}, Keys: one, Works: true, Done: both(ran("k"), held("k")),
	},
	{
		Command: "run", Case: "--ticket", Prepare: "lease ticket add t --scope s/a --scope s/b\nlease ticket approve t\n",
		Args: []string{"run", "--ticket", "t", "--", "$WORK", "0.02"}, Keys: []fslease.Key{"s/a", "s/b"}, Works: true, Done: both(ran("ticket:t"), status(fslease.Review)),
	},
	{
		Command: "run", Case: "--ticket, renewing", Prepare: "lease ticket add t --scope s\nlease ticket approve t\n",
		Args: []string{"run", "--ticket", "t", "--ttl", "30s", "--heartbeat", "4ms", "--then", "done", "--", "$WORK", "0.05"},
		Keys: []fslease.Key{"s"}, Works: true, Done: both(ran("ticket:t"), status(fslease.Done)), Again: []int{125},
	},
	{
		Command: "run", Case: "in the scope of a ticket", Prepare: started, Env: []string{"LEASE_TICKET=t", "LEASE_KEYS=ticket:t=1"},
		Args: []string{"run", "s/a", "--", "$WORK"}, Keys: []fslease.Key{"s/a", "s/b"}, Works: true, Done: both(ran("s/a"), status(fslease.InProgress)),
	},
	{
		Command: "fenced", Prepare: "lease acquire --ttl 1h k\n", Args: []string{"fenced", "k", "--token", "1", "--", "$WORK"},
		Keys: one, Works: true, Done: both(ran("k"), held("k")),
	},
	{
		Command: "fenced", Case: "a ticket", Prepare: started, Args: []string{"fenced", "ticket:t", "--token", "1", "--", "$WORK"},
		Keys: []fslease.Key{"s/a"}, Works: true, Done: both(ran("ticket:t"), status(fslease.InProgress)),
	},
}
