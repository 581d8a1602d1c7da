package steps

import (
	"fmt"
	"slices"
	"sync"
)

// Found is a row with the steps of its command.
type Found struct {
	*Template
	Beside []Step // with a waiter beside it
}

// enough is from which share of the long form on every row is tried.
const enough = 0.05

// Steps lists the steps of every row, in a short run of some. The ledgers stay until the bench is closed.
func (b *Bench) Steps(waiters bool) []Found {
	rows := b.Rows()
	if b.t.Share < enough {
		b.t.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		rows = rows[:10]
	}
	found := make([]Found, len(rows))
	var mu sync.Mutex
	b.Each(len(rows), func(i int) {
		f, err := b.find(rows[i], waiters)
		if err != nil {
			b.t.Violate("%v", err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		found[i] = f
	})
	return slices.DeleteFunc(found, func(f Found) bool { return f.Template == nil })
}

func (b *Bench) find(r Row, waiters bool) (Found, error) {
	t, err := b.Template(r)
	if err != nil {
		return Found{}, err
	}
	f := Found{Template: t}
	if t.Steps, err = b.whole(t, func(c *Trial) { c.Wait(c.Start("-e", "trace="+traced)) }); err != nil {
		return f, err
	}
	if waiters && t.canWait() {
		f.Beside, err = b.whole(t, func(c *Trial) {
			c.Between("-e", "trace="+traced)
			c.Free()
			c.Entered()
		})
	}
	return f, err
}

// whole lists the steps of a command that nothing happens to, which must succeed.
func (b *Bench) whole(t *Template, run func(*Trial)) ([]Step, error) {
	c, err := b.Trial(t, "nothing was done to it")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	run(c)
	if missing := c.Missing(); c.Result.Code != 0 || missing != "" && c.waiter == nil {
		return nil, fmt.Errorf("%s does not work: %s\n%v", t.Row.Name(), missing, c.Result)
	}
	all, err := steps(c.trace())
	if err != nil {
		err = fmt.Errorf("%s: %w", t.Row.Name(), err)
	}
	return all, err
}
