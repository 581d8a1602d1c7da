package power

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A row is commands during which the power may be cut.
type row struct {
	name  string
	setup func(b *bench) // what was before, all of it synced
	steps []step
}

// A step is one command and what it leaves.
type step struct {
	args   []string
	keys   []string // that it changes
	state  string   // in which it leaves them
	ticket string   // that it changes, with its scope
	works  bool     // and works on meanwhile
	tells  []string // the keys whose generations it prints
}

const echo = "echo $LEASE_TOKEN"

func ran(key string) step {
	return step{args: []string{"run", key, "--", "sh", "-c", echo}, keys: []string{key}, state: Free, tells: []string{key}}
}

func token(key string) step {
	return step{args: []string{"acquire", "--ttl", "1h", key}, keys: []string{key}, state: ByToken, tells: []string{key}}
}

func process(key string) step {
	return step{args: []string{"acquire", "--pid", self, key}, keys: []string{key}, state: ByProcess, tells: []string{key}}
}

func renewal(key, state string) step {
	return step{args: []string{"renew", key, "--token", "@" + key}, keys: []string{key}, state: state}
}

func release(key string) step {
	return step{args: []string{"release", key, "--token", "@" + key}, keys: []string{key}, state: Free}
}

func broken(key string) step {
	return step{args: []string{"break", key, "--reason", "why not"}, keys: []string{key}, state: Free}
}

func transfer(key string) step {
	return step{args: []string{"transfer", key, "--token", "@" + key, "--to-pid", self}, keys: []string{key}, state: ByProcess, tells: []string{key}}
}

// move is something done to ticket 42.
func move(verb string, args ...string) step {
	return step{args: append([]string{"ticket", verb, "42"}, args...), ticket: "42"}
}

func started() step {
	s := move("start")
	s.tells = []string{"ticket:42"}
	return s
}

var (
	self     = strconv.Itoa(os.Getpid())
	add      = move("add", "--scope", "repo/api", "--scope", "terminal-1")
	approve  = move("approve")
	byHolder = []string{"--token", "@ticket:42"}
)

var rows = []row{
	{"grants of run", nil, []step{ran("k"), ran("repo/api"), ran("k"), ran("repo/api")}},
	{"grants to others", nil, []step{ran("deep/er/a"), token("deep/er/b"), process("pid"), token("ttl")}},
	{"renewals and releases", nil, []step{token("ttl"), renewal("ttl", ByToken), renewal("ttl", ByToken), release("ttl"), token("ttl"), release("ttl")}},
	{"takeovers", func(b *bench) {
		b.shell("sleep 300 & p=$!; lease acquire --pid $p k && lease acquire --pid $p repo/api && kill -9 $p; wait $p || true", "k", "repo/api")
		b.keys.Did("k", 0, 0, ByProcess)
		b.keys.Did("repo/api", 0, 0, ByProcess)
	}, []step{token("k"), ran("repo/api")}},
	{"breaks", nil, []step{token("ttl"), broken("ttl"), token("ttl"), broken("ttl"), process("pid"), broken("pid")}},
	{"transfers", nil, []step{token("ttl"), transfer("ttl"), transfer("ttl"), release("ttl")}},
	{"a ticket's life", nil, []step{
		add, approve, started(), move("checkpoint", byHolder...), move("review", byHolder...), started(), move("done", byHolder...),
	}},
	{"tickets that end badly", nil, []step{
		add, approve, started(), move("block", byHolder...), started(), move("block", "--force", "--reason", "why not"), move("reopen"), move("cancel"),
	}},
	{"a session whose process dies", func(b *bench) {
		b.shell("lease ticket add 42 --scope repo/api && lease ticket approve 42")
		b.shell("sleep 300 & p=$!; lease ticket start 42 --pid $p && kill -9 $p; wait $p || true", "ticket:42")
	}, []step{{args: []string{"reconcile"}, ticket: "42"}, started(), move("review", byHolder...)}},
	{"work on a ticket", nil, []step{
		add, approve,
		{args: []string{"run", "--ticket", "42", "--", "sh", "-c", echo}, ticket: "42", works: true, tells: []string{"ticket:42"}},
		{args: []string{"run", "--ticket", "42", "--then", "done", "--", "sh", "-c", echo}, ticket: "42", works: true, tells: []string{"ticket:42"}},
	}},
	{"collection", func(b *bench) {
		b.shell("lease acquire --ttl 1h ttl && lease release ttl --token 1", "ttl")
		b.shell("lease ticket add 42 --scope repo/api && lease ticket approve 42 && lease ticket start 42 && lease ticket review 42 --token 1 && lease ticket start 42", "ticket:42", "ticket:42")
	}, []step{move("done", byHolder...), token("other"), release("other"), {args: []string{"gc", "--older-than", "0s"}}, token("ttl"), ran("other")}},
	{"the first command of all", func(b *bench) {
		if !b.sync { // else it has a setting
			b.drop("ledger.json")
		}
	}, []step{token("ttl"), ran("k")}},
	{"the ceiling", func(b *bench) { b.edit("ledger.json", "1000", "2") }, []step{
		token("ttl"), release("ttl"), token("ttl"), release("ttl"), token("ttl"), release("ttl"), ran("k"),
	}},
	{"the first grant of a boot", func(b *bench) {
		b.ledger = OnBoot(b.ledger, "boot-0", b.genuine)
		b.shell("lease run torn -- sh -c '"+echo+"'; lease run lost -- sh -c '"+echo+"'", "torn", "lost")
		b.ledger = OnBoot(b.ledger, "boot-1", b.genuine)
		if b.lax() { // what a power cut left of them
			b.spoil("tombstones/torn.json", "\x00\x00\x00")
			b.spoil("tombstones/lost.json", "")
		}
	}, []step{ran("lost"), token("torn"), ran("new")}},
	{"repair", func(b *bench) {
		b.shell("lease acquire --ttl 1h ttl && lease release ttl --token 1", "ttl")
		b.shell("lease ticket add 42 --scope repo/api && lease ticket approve 42 && lease ticket start 42", "ticket:42")
		b.spoil("tombstones/ttl.json", "no record")
	}, []step{{args: []string{"doctor", "--repair"}}, token("ttl"), move("done", byHolder...)}},
}

// shell runs a script before the first power cut. It prints generations of these keys.
func (b *bench) shell(script string, tells ...string) {
	r := b.ledger.Sh(script)
	numbers := strings.Fields(r.Stdout)
	if r.Code != 0 || len(numbers) < len(tells) {
		panic("setup: " + r.String())
	}
	for i, key := range tells {
		b.tokens[key], _ = strconv.ParseInt(numbers[i], 10, 64)
		b.keys.Told(key, 0, b.tokens[key])
	}
	if t, err := TicketIn(b.read(), "42"); err == nil && t != nil {
		b.did(step{ticket: "42"}, &b.keys, &b.tickets, 0, 0, b.read())
	}
}

// spoil writes something else over a file.
func (b *bench) spoil(name, data string) {
	b.spoiled = true
	if err := os.WriteFile(filepath.Join(b.ledger.Dir, name), []byte(data), 0o600); err != nil {
		panic(err)
	}
}

// drop removes a file.
func (b *bench) drop(name string) {
	if err := os.Remove(filepath.Join(b.ledger.Dir, name)); err != nil {
		panic(err)
	}
}

// edit replaces text in a file.
func (b *bench) edit(name, old, new string) {
	name = filepath.Join(b.ledger.Dir, name)
	data, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, []byte(strings.Replace(string(data), old, new, 1)), 0o600)
	}
	if err != nil {
		panic(err)
	}
}
