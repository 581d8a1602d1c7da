package steps

import "fslease/fslease"

var scope = []fslease.Key{"s/a", "s/b"}

// tickets are the commands on tickets. t is one of status IN_PROGRESS in most of them, and its token is 1.
var tickets = []Row{
	{Command: "ticket add", Prepare: used, Args: []string{"ticket", "add", "t", "--title", "torture", "--scope", "s/a"}, Keys: scope, Done: status(fslease.Proposed), Again: []int{1}},
	{Command: "ticket add", Case: "there is no ledger", Args: []string{"ticket", "add", "t", "--scope", "s/a"}, Keys: scope, Done: status(fslease.Proposed), Again: []int{1}},
	{Command: "ticket approve", Prepare: "lease ticket add t --scope s/a\n", Args: []string{"ticket", "approve", "t"}, Keys: scope, Done: status(fslease.Ready), Again: []int{1}},
	{
		Command: "ticket start", Prepare: "lease ticket add t --scope s/a --scope s/b\nlease ticket approve t\n", Args: []string{"ticket", "start", "t"},
		Keys: scope, Answer: "ticket:t", Done: both(status(fslease.InProgress), reserved("s/a", "s/b")), Again: []int{1, 75},
	},
	{
		Command: "ticket start", Case: "a BLOCKED ticket", Prepare: started + "lease ticket block t --token 1\n", Args: []string{"ticket", "start", "t"},
		Keys: scope, Answer: "ticket:t", Done: both(status(fslease.InProgress), reserved("s/a", "s/b")), Again: []int{1, 75},
	},
	{
		Command: "ticket start", Case: "--pid", Prepare: "lease ticket add t --scope k\nlease ticket approve t\n" + dead,
		Args: []string{"ticket", "start", "t", "--pid", "$PID"}, Keys: one, Answer: "ticket:t", Done: both(status(fslease.InProgress), reserved("k")), Again: []int{1, 75},
	},
	{Command: "ticket checkpoint", Prepare: started, Args: []string{"ticket", "checkpoint", "t", "--token", "1"}, Keys: scope, Done: both(status(fslease.InProgress), checkpointed)},
	{Command: "ticket review", Prepare: started, Args: []string{"ticket", "review", "t", "--token", "1"}, Keys: scope, Done: both(status(fslease.Review), reserved("s/a", "s/b")), Again: []int{76}},
	{Command: "ticket block", Prepare: started, Args: []string{"ticket", "block", "t", "--token", "1"}, Keys: scope, Done: both(status(fslease.Blocked), reserved("s/a", "s/b")), Again: []int{76}},
	{Command: "ticket done", Prepare: started, Args: []string{"ticket", "done", "t", "--token", "1"}, Keys: scope, Done: both(status(fslease.Done), free(scope...)), Again: []int{76}},
	{
		Command: "ticket done", Case: "a BLOCKED ticket", Prepare: started + "lease ticket block t --token 1\n", Args: []string{"ticket", "done", "t"},
		Keys: scope, Done: both(status(fslease.Done), free(scope...)), Again: []int{1},
	},
	{
		Command: "ticket reopen", Prepare: started + "lease ticket review t --token 1\n", Args: []string{"ticket", "reopen", "t"},
		Keys: scope, Done: both(status(fslease.Ready), free(scope...)), Again: []int{1},
	},
	{
		Command: "ticket cancel", Prepare: started, Args: []string{"ticket", "cancel", "t", "--force", "--reason", "torture"},
		Keys: scope, Done: both(status(fslease.Cancelled), free(scope...)), Again: []int{1},
	},
	{
		Command: "reconcile", Prepare: "lease ticket add t --scope s/a\nlease ticket approve t\nlease ticket start t --lease 1ms\nsleep 0.01\n",
		Args: []string{"reconcile"}, Keys: scope, Done: both(status(fslease.Blocked), reserved("s/a")),
	},
	{
		Command: "reconcile", Case: "the session's process is dead", Prepare: "lease ticket add t --scope s/a\nlease ticket approve t\nlease run --ticket t -- sh -c 'kill -9 $PPID'\n",
		Args: []string{"reconcile"}, Keys: scope, Done: both(status(fslease.Blocked), reserved("s/a")),
	},
}
