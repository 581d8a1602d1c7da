package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fslease/cmd/internal/githook"
	"fslease/fslease"
)

func TestHookLines(t *testing.T) {
	since := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	ticket := func(id string, status fslease.Status, key fslease.Key, changes ...githook.Change) githook.Refusal {
		lease := fslease.Record{Key: key, AcquiredAt: since, Holder: fslease.Holder{Kind: fslease.KindTicket, Ticket: id}}
		return githook.Refusal{Reservation: githook.Reservation{Lease: lease, Status: status}, Changes: changes}
	}
	process := githook.Refusal{Changes: []githook.Change{{Path: "b c/x", Commit: strings.Repeat("ab", 20)}}}
	process.Lease = fslease.Record{Key: "repo/b c", AcquiredAt: since, Holder: fslease.Holder{Kind: fslease.KindProcess, User: "ann", Host: "build-3", PID: 7, Command: []string{"make", "deploy"}}}
	var many []githook.Change
	for i := range 23 {
		many = append(many, githook.Change{Path: fmt.Sprintf("web/%02d", i)})
	}
	result := githook.Result{Hook: githook.PrePush, Answer: githook.Refuse, Ticket: "9", Err: errors.New("leases/x.json is damaged"), Refusals: []githook.Refusal{
		ticket("42", fslease.Review, "repo/api", githook.Change{Path: "api/\xff\n"}),
		process,
		ticket("42", fslease.Review, "repo/docs", githook.Change{Path: "docs"}),
		ticket("7", fslease.Blocked, "repo/web", many...),
		{Outside: true, Changes: []githook.Change{{Path: "else", Key: "repo/else"}}},
	}}
	want := `resource scope reserved by 42: repo/api, repo/docs
resource scope reserved by 7: repo/web
repo/api is reserved by ticket 42 (REVIEW) since 2026-11-29T10:00:00.000Z:
  api/\xff\x0a
repo/b c is held by ann@build-3 pid 7 running make deploy since 2026-11-29T10:00:00.000Z:
  b c/x in commit abababababab
repo/docs is reserved by ticket 42 (REVIEW) since 2026-11-29T10:00:00.000Z:
  docs
repo/web is reserved by ticket 7 (BLOCKED) since 2026-11-29T10:00:00.000Z:
`
	for _, c := range many[:20] {
		want += "  " + c.Path + "\n"
	}
	want += `  and 3 more
the scope of your ticket 9 does not have:
  else (repo/else)
pre-push cannot tell whether this may pass
leases/x.json is damaged`
	if got := strings.Join(hookLines(result), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestHookHint(t *testing.T) {
	held := func(key fslease.Key, h fslease.Holder) githook.Result {
		return githook.Result{Hook: githook.PrePush, Answer: githook.Refuse, Refusals: []githook.Refusal{{Reservation: githook.Reservation{Lease: fslease.Record{Key: key, Holder: h}}}}}
	}
	outside := githook.Result{Hook: githook.PreCommit, Answer: githook.Refuse, Refusals: []githook.Refusal{{Outside: true}}}
	mine := outside
	mine.Ticket = "a b"
	for want, result := range map[string]githook.Result{
		"lease wait 'repo/b c' waits until it is free; if you have its token: lease fenced 'repo/b c' --token TOKEN -- git push; git push --no-verify goes past this check": held("repo/b c", fslease.Holder{Kind: fslease.KindProcess}),
		"lease wait repo waits until it is free; if the ticket is yours, set LEASE_TICKET='$x' and LEASE_TOKEN; git push --no-verify goes past this check":                  held("repo", fslease.Holder{Kind: fslease.KindTicket, Ticket: "$x"}),
		"the hook is strict: start a ticket that declares it, and set LEASE_TICKET and LEASE_TOKEN; git commit --no-verify goes past this check":                            outside,
		"lease ticket show 'a b' lists the scope; git commit --no-verify goes past this check":                                                                              mine,
		"lease doctor says what is wrong; git config lease.onError allow lets pass what cannot be told; git commit --no-verify goes past this check":                        {Hook: githook.PreCommit, Answer: githook.CannotTell},
	} {
		if got := hookHint(result); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
