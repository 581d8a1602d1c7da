package steps

import "fslease/fslease"

// reserve makes a lease of k that nobody's end gives up, of generation 1.
const reserve = "lease acquire --ttl 1h k\n"

// holds are the one-shot commands on leases.
var holds = []Row{
	{Command: "acquire", Prepare: used, Args: []string{"acquire", "--ttl", "1h", "k"}, Keys: one, Answer: "k", Takes: true, Done: held("k")},
	{Command: "acquire", Case: "there is no ledger", Args: []string{"acquire", "--ttl", "1h", "k"}, Keys: one, Answer: "k", Done: held("k")},
	{
		Command: "acquire", Case: "--pid", Prepare: used + dead, Args: []string{"acquire", "--pid", "$PID", "k"},
		Keys: one, Answer: "k", Done: held("k"),
	},
	{
		Command: "acquire", Case: "several keys", Prepare: used, Args: []string{"acquire", "--ttl", "1h", "k", "l/m"},
		Keys: []fslease.Key{"k", "l/m"}, Takes: true, Done: both(held("k"), held("l/m")),
	},
	{Command: "renew", Prepare: reserve, Args: []string{"renew", "k", "--token", "1"}, Keys: one, Done: renewed("k")},
	{Command: "release", Prepare: reserve, Args: []string{"release", "k", "--token", "1"}, Keys: one, Done: free("k"), Again: []int{76}},
	{
		Command: "release", Case: "a key with a tombstone", Prepare: used + reserve, Args: []string{"release", "k", "--token", "2"},
		Keys: one, Done: free("k"), Again: []int{76},
	},
	{
		Command: "transfer", Prepare: reserve, Args: []string{"transfer", "k", "--token", "1", "--to-pid", "$PID"},
		Keys: one, Answer: "k", Done: held("k"), Again: []int{76},
	},
	{Command: "break", Prepare: reserve, Args: []string{"break", "k", "--reason", "torture"}, Keys: one, Done: free("k"), Again: []int{1}},
	{
		Command: "break", Case: "--if-silent", Prepare: reserve, Args: []string{"break", "k", "--reason", "torture", "--if-silent", "20ms"},
		Keys: one, Done: free("k"), Again: []int{1},
	},
	{
		Command: "break", Case: "a ticket's session", Prepare: started, Args: []string{"break", "ticket:t", "--reason", "torture"},
		Keys: []fslease.Key{"s/a", "s/b"}, Done: status(fslease.Blocked), Again: []int{1},
	},
}
