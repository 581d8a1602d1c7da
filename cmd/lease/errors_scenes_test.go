package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// allScenes are the situations of testdata/errors.golden, in its order.
func allScenes() []scene {
	return slices.Concat(heldScenes, lostScenes, ticketScenes, ledgerScenes, usageScenes)
}

// holding is a ledger whose key job is held by a command.
func holding(l *Ledger) *Ledger {
	l.Start("run", "--note", "nightly deploy", "job", "--", "sleep", "600")
	l.until("job is held", func() bool { return l.Run("check", "job").Code == 0 })
	return l
}

func sh(script string) func(*Ledger) *Ledger {
	return func(l *Ledger) *Ledger {
		l.Sh(script).Want(l.t, 0)
		return l
	}
}

var heldScenes = []scene{
	{"held by a process", holding, []string{
		`lease run -n job -- true`,
		`lease run job/part -n -- true`,
		`lease run -n -E 9 job -- true`,
		`lease run -q --wait 300ms job -- true`,
		`lease acquire -n --ttl 1h job`,
		`lease wait -n job`,
		`lease --json run -n job -- true 2>&1 | sed 's/,"holder".*/.../'`,
		`lease break job --if-silent 100ms --reason hangs; sleep 0.2; lease check job`,
	}},
	{"held for as long as a process lives that cannot be seen from here", func(l *Ledger) *Ledger {
		l.Run("acquire", "--pid", strconv.Itoa(os.Getpid()), "job").Want(l.t, 0)
		fromElsewhere(l, "job", "pid")
		l.Edit("leases/job.json", func(r Record) { r.Sub("holder")["command"] = []string{"make", "deploy"} })
		return l
	}, []string{`lease run -n job -- true`}},
	{"a waiter is ahead", func(l *Ledger) *Ledger {
		hold(l, "repo/api")
		wait(l, 1, "first", "repo")
		return l
	}, []string{`lease run -n repo/web -- true`}},
	{"the command of a killed wrapper still runs", func(l *Ledger) *Ledger { killedWrapper(l, "job"); return l }, []string{
		`lease run -n job -- true`,
		`lease acquire -q --wait 3s --ttl 1h job`,
		`lease run -q --fence-wait 300ms job -- true`,
	}},
	{"it would wait for itself", nil, []string{
		`lease run job -- lease run job/part -- true`,
		`lease run job -- env -u LEASE_KEYS lease run job -- true`,
		`lease acquire --ttl 1h other >/dev/null; LEASE_KEYS=other=1 lease run other -- true`,
	}},
	{"two would wait for each other", func(l *Ledger) *Ledger {
		l.StartSh(`exec lease run a -- sh -c 'until lease check b; do sleep 0.02; done; exec lease run -q b -- true'`)
		l.until("a is held", func() bool { return l.Run("check", "a").Code == 0 })
		return l
	}, []string{`lease run b -- sh -c 'until test -d "$LEASE_LEDGER/queue/b"; do sleep 0.02; done; sleep 0.2; exec lease run a -- true'`}},
	{"a record of a newer version", func(l *Ledger) *Ledger {
		l.Run("init").Want(l.t, 0)
		put(l.t, l, "leases/job.json", goldenFile(l.t, "newer/schema-2.json"))
		return l
	}, []string{`lease run -n job -- true`, `lease show job`}},
}

var lostScenes = []scene{
	{"the token is not current", sh(`lease acquire --ttl 1h job; lease acquire --ttl 1h given; lease release given --token 1; lease acquire --ttl 1h broken; lease break broken --reason test
		lease acquire --ttl 1h again; lease release again --token 1; lease acquire --ttl 1h again; lease acquire --ttl 1h moved; lease transfer moved --token 1 --to-pid $PPID
		lease acquire --ttl 1h gone; rm "$LEASE_LEDGER/leases/gone.json"`), []string{
		`lease renew job --token 5`,
		`lease release given --token 1`,
		`lease renew broken --token 1`,
		`lease fenced again --token 1 -- true`,
		`lease transfer moved --token 1 --to-pid $$`,
		`lease renew gone --token 1`,
		`lease renew never --token 1`,
	}},
	{"lost while the command runs", nil, []string{
		`lease run --ttl 1s job -- sh -c 'lease break -q job --reason "it hangs"; exec sleep 60'`,
		`lease run --ttl 1s job -- sh -c 'mv "$LEASE_LEDGER" "$LEASE_LEDGER.away"; exec sleep 60'`,
	}},
	{"the command cannot be started", sh(`printf 'true\n' >text; chmod +x text; printf '#!/no/such/shell\n' >odd; chmod +x odd; touch plain; mkdir folder; cp odd 'odd one'`), []string{
		`lease run job -- no-such-command`,
		`lease run job -- ./missing`,
		`lease run job -- ./plain`,
		`lease run job -- ./folder`,
		`lease run job -- ./text`,
		`lease run job -- ./odd`,
		`lease run --exec job -- no-such-command`,
		`lease run job -- 'echo hi'`,
		`lease run --exec job -- "./missing 'now'"`,
		`lease run job -- 'echo hi' there`,
		`lease run job -- './odd one'`,
	}},
}

var ticketScenes = []scene{
	{"a ticket has the scope", sh(`lease ticket add 42 --title 'Fix the login' --scope repo/api --scope repo/web; lease ticket approve 42; lease ticket start 42`), []string{
		`lease run -n repo -- true`,
		`lease acquire -q --wait 300ms --ttl 1h repo/api/v2`,
		`lease ticket add 43 --scope repo/web && lease ticket approve 43; lease ticket start 43`,
		`LEASE_TICKET=42 LEASE_TOKEN=1 lease run repo/api other -- true`,
		`lease run --ticket 42 -- true`,
	}},
	{"the status forbids it", sh(`for id in 1 2 3 4; do lease ticket add $id --scope repo/$id; done; lease ticket approve 2; lease ticket approve 3; lease ticket start 3; lease ticket cancel 4`), []string{
		`lease ticket start 1`,
		`lease ticket approve 2`,
		`lease ticket done 2`,
		`lease ticket approve 4`,
		`lease ticket add 1`,
		`lease ticket review nope --token 1`,
		`lease ticket show nope`,
		`lease run --ticket nope -- true`,
		`lease ticket done 3`,
		`lease ticket reopen 3 --token 1`,
		`lease ticket review 3 --token 7`,
		`lease break ticket:2 --reason test`,
	}},
	{"the session is over", sh(`lease ticket add 1 --scope repo; lease ticket approve 1; lease ticket start 1; lease ticket block 1 --token 1 --note stuck; lease ticket add 2; lease ticket approve 2; lease ticket start 2 --lease 1ms; sleep 0.1`), []string{
		`lease ticket checkpoint 1 --token 1`,
		`lease ticket start 1 >/dev/null; lease ticket checkpoint 1 --token 1`,
		`lease ticket checkpoint 2 --token 1`,
	}},
	{"a hook refuses", sh(`git init -q; git config user.name a; git config user.email a@example.com; touch a b; git add a b; lease acquire --ttl 1h repo/a; lease ticket add 7 --scope repo/b; lease ticket approve 7; lease ticket start 7`), []string{
		`lease hook run pre-commit`,
		`git reset -q; git rm -q --cached a b 2>/dev/null; touch c; git add c; lease hook run pre-commit --strict`,
		`LEASE_TICKET=7 LEASE_TOKEN=1 lease hook run pre-commit --strict`,
		`git add b; LEASE_TICKET=7 LEASE_TOKEN=1 lease hook run pre-commit --strict`,
		`git add a; echo nonsense >"$LEASE_LEDGER/leases/repo/a.json"; lease hook run pre-commit`,
		`git config lease.onError allow; lease hook run pre-commit`,
		`lease scope check`,
		`lease scope check --ticket 8`,
		`lease scope check --ticket 7 --base nope`,
		`git config --unset lease.onError; echo 'a b' | lease hook run pre-push origin URL`,
	}},
	{"hooks cannot be installed", sh(`git init -q; mkdir elsewhere; git config --global core.hooksPath "$PWD/elsewhere"`), []string{
		`lease hook install`,
		`git config --global --unset core.hooksPath; touch file; git config core.hooksPath file; lease hook install`,
		`git config --unset core.hooksPath; mkdir .git/hooks/pre-commit; lease hook install`,
		`rmdir .git/hooks/pre-commit; lease hook install >/dev/null; echo '#!/bin/sh' >.git/hooks/pre-commit; cp .git/hooks/pre-commit .git/hooks/pre-commit.lease-prev; lease hook install`,
		`cd /; lease hook install`,
	}},
}

var ledgerScenes = []scene{
	{"a damaged ledger", sh(`lease acquire --ttl 1h torn other ticket; echo '{' >"$LEASE_LEDGER/leases/torn.json"; : >"$LEASE_LEDGER/leases/empty.json"; cp "$LEASE_LEDGER/leases/other.json" "$LEASE_LEDGER/leases/moved.json"
		sed 's/"generation": 1/"generation": 5000/' "$LEASE_LEDGER/leases/ticket.json" >"$LEASE_LEDGER/leases/high.json"; sed -i s/ticket/high/ "$LEASE_LEDGER/leases/high.json"
		ln -s /etc/passwd "$LEASE_LEDGER/leases/link.json"; mkfifo "$LEASE_LEDGER/leases/fifo.json"; mkdir -p "$LEASE_LEDGER/tickets"; echo 5 >"$LEASE_LEDGER/tickets/5.json"`), []string{
		`lease run -n torn -- true`,
		`lease check empty`,
		`lease show moved`,
		`lease show high`,
		`lease show link`,
		`lease show fifo`,
		`lease ticket show 5`,
	}},
	{"ledger.json is damaged", sh(`lease acquire --ttl 1h job; mv "$LEASE_LEDGER/ledger.json" good`), []string{
		`jq '.settings.colour = true' good >"$LEASE_LEDGER/ledger.json"; lease show job`,
		`jq '.settings.record_command = "some"' good >"$LEASE_LEDGER/ledger.json"; lease show job`,
		`jq '.schema = 2' good >"$LEASE_LEDGER/ledger.json"; lease show job`,
		`jq '.floor = 5000' good >"$LEASE_LEDGER/ledger.json"; lease show job`,
		`jq 'del(.ceiling)' good >"$LEASE_LEDGER/ledger.json"; lease show job`,
		`echo nonsense >"$LEASE_LEDGER/ledger.json"; lease show job`,
		`rm "$LEASE_LEDGER/ledger.json"; lease show job`,
	}},
	{"no ledger to use", nil, []string{
		`env -u LEASE_LEDGER -u HOME lease ls`,
		`lease --ledger /no/such/place/ledger acquire --ttl 1h job`,
		`touch file; lease --ledger file ls`,
		`mkdir full; touch full/letter; lease --ledger full acquire --ttl 1h job`,
		`mkdir away; cd away; rmdir ../away; lease --ledger here ls`,
	}},
	{"busy", func(l *Ledger) *Ledger {
		l.Run("acquire", "--ttl", "1h", "job").Want(l.t, 0)
		l.StartSh(`exec flock --no-fork "$1" sh -c 'echo $$ >locked; exec sleep 1000'`, filepath.Join(l.Dir, "locks/job.lock"))
		l.UntilPid("locked")
		return l
	}, []string{`lease renew job --token 1`}},
	{"no permission", func(l *Ledger) *Ledger {
		l.Run("acquire", "--ttl", "1h", "job").Want(l.t, 0)
		return l.As(65534)
	}, []string{`lease ls`, `lease run job -- true`}},
	{"a full disk", func(l *Ledger) *Ledger {
		full := onTmpfs(l.t.(*testing.T), "size=1m")
		full.Run("acquire", "--ttl", "1h", "job").Want(l.t, 0)
		fill(l.t.(*testing.T), full.Dir, 4096)
		return full
	}, []string{`lease renew job --token 1`, `lease run other -- true`}},
	{"a read-only file system", func(l *Ledger) *Ledger {
		l.Run("acquire", "--ttl", "1h", "job").Want(l.t, 0)
		return l.In("unshare", "--mount", "sh", "-c", `mount --bind "$LEASE_LEDGER" "$LEASE_LEDGER"; mount -o remount,bind,ro "$LEASE_LEDGER"; exec "$@"`, "sh")
	}, []string{`lease release job --token 1`, `lease run job -- true`}},
	{"a network file system", networkLedger, []string{`lease ls`, `lease run job -- true`, `lease init`}},
	{"a disk that fails", nil, []string{
		`lease init >/dev/null; strace -f -qqq -e trace=fsync -e inject=fsync:error=EIO -o /dev/null lease acquire --ttl 1h job`,
		`strace -f -qqq -P "$LEASE_LEDGER" -e trace=fsync -e inject=fsync:error=EIO -o /dev/null lease acquire --ttl 1h job`,
	}},
	{"the answer cannot be written", nil, []string{
		`lease help >/dev/full`,
		`lease acquire --ttl 1h job >/dev/full`,
		`lease ticket add 1; lease ticket approve 1; lease ticket start 1 >/dev/full`,
	}},
	{"/proc is missing", func(l *Ledger) *Ledger {
		return l.In("unshare", "--mount", "sh", "-c", `mount -t tmpfs tmpfs /proc; exec "$@"`, "sh")
	}, []string{`lease run job -- sleep 0.5`, `lease acquire --ttl 1h job`}},
}

var usageScenes = []scene{
	{"nothing of the sort", sh(`lease acquire --ttl 1h held; lease ticket add 1 --scope repo/1`), []string{
		`lease break job --reason test`,
		`lease show job`,
		`lease check job`,
		`lease acquire --pid 4194304 job`,
		`lease transfer held --token 1 --to-pid 4194304`,
	}},
	{"a command line that means nothing", nil, strings.Split(strings.TrimSpace(usageLines), "\n")},
}

// Each of these is refused before anything is touched.
const usageLines = `
lease
lease frobnicate
lease aquire job
lease help frobnicate
lease help relaese
lease help run job
lease ticket
lease ticket frobnicate
lease ticket aprove 42
lease hook run
lease hook run post-commit
lease hook run pre-push
lease run --frobnicate job -- true
lease run --tll 5s job -- true
lease run make --jobs 4
lease ls --frobnicate
lease --frobnicate ls
lease run --ttl 5s --ttl 6s job -- true
lease run --no-wait=yes job -- true
lease run job --ttl
lease run -n --wait 5s job -- true
lease run job
lease run job make all
lease fenced job --token 1 make all
lease run -- true
lease run --wait 30 job -- true
lease run --ttl abc job -- true
lease run --ttl -5s job -- true
lease run --ttl 0s job -- true
lease run --ttl 300000d job -- true
lease run --ttl 10s --heartbeat 6s job -- true
lease run --ttl 1us job -- true
lease run -E 600 job -- true
lease run --fence house job -- true
lease run --exec --ttl 5s job -- true
lease run --exec --fence command job -- true
lease run --then done job -- true
lease run --ticket 1 --exec -- true
lease run --ticket a/b -- true
lease run --note "$(printf '\377')" job -- true
lease run --note "$(head -c 2000 /dev/zero | tr '\0' x)" job -- true
lease acquire job
lease acquire --pid 0 job
lease acquire --ttl 1h
lease acquire --ttl 1h a//b
lease acquire --ttl 1h /a
lease acquire --ttl 1h a/../b
lease acquire --ttl 1h ''
lease acquire --ttl 1h "$(printf 'a\nb')"
lease acquire --ttl 1h "$(printf '\377')"
lease acquire --ttl 1h "$(head -c 2000 /dev/zero | tr '\0' x)"
lease acquire --ttl 1h ticket:42
lease renew job
lease renew job --token none
lease renew a b --token 1
lease renew --token 1
lease release a 1
lease break a b --reason test
lease break job
lease show
lease show a b
lease init here
lease completion
lease completion tcsh
lease ticket approve
lease ticket approve 1 2
lease ticket approve a/b
lease ticket add 4 --title z q
lease ticket add 4 --title Fix the login
lease ticket add 4 5
lease ticket done 4 7
lease ticket add 1 --scope ticket:2
lease ticket add 1 --title "$(printf '\377')"
lease ticket done 1 --force
lease ticket done 1 --force --reason test --token 1
lease ticket start 1 --lease 0s
`
