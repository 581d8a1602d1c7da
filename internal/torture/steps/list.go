package steps

import (
	"fmt"
	"math/rand/v2"
)

// Found is a row with the steps of its command.
type Found struct {
	*Template
	Beside []Step // with a waiter beside it
}

// A run of less than this share of the long form tries only some rows.
const (
	enough = 0.05
	some   = 10
)

// Visit finds the steps of every row, in a short run of some, and calls visit with each, several at a time. A step is to be tried with
// that chance, and all that is random comes from the generator.
func (b *Bench) Visit(waiters bool, visit func(f Found, chance float64, random *rand.Rand)) {
	rows, chance := b.Rows(), b.t.Share
	b.t.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	if b.t.Share < enough {
		chance *= float64(len(rows)) / some
		rows = rows[:some]
	}
	seeds := make([]uint64, len(rows))
	for i := range seeds {
		seeds[i] = b.t.Uint64()
	}
	b.each(len(rows), func(i int) {
		f, err := b.find(rows[i], waiters)
		if err != nil {
			b.t.Violate("%v", err)
			return
		}
		visit(f, chance, rand.New(rand.NewPCG(seeds[i], 1)))
	})
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
