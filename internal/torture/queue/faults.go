package queue

import "fslease/internal/torture/kit"

// faults are the mistakes that the queue must show.
var faults = []kit.Fault{
	{
		Name: "a try that barges", Rule: "who does not wait does not pass those who do", Share: 0.02,
		Edits: []kit.Edit{{
			File: "fslease/queue.go",
			Old:  "\tif len(a.under) > 0 {\n",
			New:  "\tif len(a.under) > 0 || a.req.Wait == 0 {\n",
		}},
	},
	{
		Name: "read before subscribe", Rule: "what changes before a waiter watches is seen after it", Share: 0.01,
		Edits: []kit.Edit{
			{
				File: "fslease/await.go",
				Old:  "\twatched := f.interest\n\ta.waker.Watch(watched)\n",
				New:  "\tvar watched Interest\n",
			},
			{
				File: "fslease/await.go",
				Old:  "\t\t\ta.waker.Watch(watched)\n\t\t\tcontinue\n",
				New:  "\t\t\ta.waker.Watch(watched)\n",
			},
		},
	},
}
