package identity

import (
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"sync"

	"fslease/internal/torture/kit"
)

// A world has all places, each made when it is first asked for.
type world struct {
	ledger *kit.Ledger
	binary string
	dir    string // of sockets
	top    *exec.Cmd
	in     io.Closer

	mu     sync.Mutex
	agents map[Place]*rpc.Client
}

// newWorld makes the outermost place and a ledger that root and the users can write.
func newWorld(t *kit.T) (*world, error) {
	w := &world{ledger: t.Ledger(), binary: t.Binary, agents: map[Place]*rpc.Client{}}
	err := os.Mkdir(w.ledger.Dir, 0o700)
	if err == nil {
		err = os.Chown(w.ledger.Dir, 0, group)
	}
	if err == nil {
		err = os.Chmod(w.ledger.Dir, 0o770|os.ModeSetgid)
	}
	if err != nil {
		return w, err
	}
	if r := w.ledger.Run("init", "--shared"); r.Code != 0 {
		return w, fmt.Errorf("a shared ledger: %v", r)
	}
	if w.dir, err = os.MkdirTemp(t.Dir, "places-"); err == nil {
		err = os.Chmod(w.dir, 0o755)
	}
	if err != nil {
		return w, err
	}
	w.top, w.in, err = spawn(assignment{Place{NS: outer}, w.dir}, w.ledger.Environ())
	return w, err
}

// close ends the outermost place, and with its first process all that was started in it.
func (w *world) close() {
	if w.top != nil {
		w.in.Close()
		_ = w.top.Process.Kill()
		_ = w.top.Wait()
	}
	w.ledger.Close()
	_ = os.RemoveAll(w.dir)
}

// at returns the agent of a place.
func (w *world) at(p Place) (*rpc.Client, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.agent(p)
}

func (w *world) agent(p Place) (*rpc.Client, error) {
	if c := w.agents[p]; c != nil {
		return c, nil
	}
	from := Place{NS: p.NS}
	if p.base() {
		from = Place{NS: outer}
	}
	if p != from {
		c, err := w.agent(from)
		if err == nil {
			err = c.Call("Agent.Spawn", p, new(struct{}))
		}
		if err != nil {
			return nil, err
		}
	}
	c, err := rpc.Dial("unix", assignment{p, w.dir}.socket())
	if err == nil {
		w.agents[p] = c
	}
	return c, err
}

// lease runs the command under test in a place, as a user.
func (w *world) lease(s side, args ...string) (ans Answer, err error) {
	c, err := w.at(s.Place)
	if err == nil {
		err = c.Call("Agent.Run", Order{append([]string{w.binary}, args...), s.uid}, &ans)
	}
	return ans, err
}
