package githook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"fslease/fslease"
)

// The hooks, by git's names.
const (
	PreCommit        = "pre-commit"
	PrePush          = "pre-push"
	PrepareCommitMsg = "prepare-commit-msg"
)

// Names are the hooks in the order in which they are installed and shown.
var Names = []string{PreCommit, PrePush, PrepareCommitMsg}

// A Ledger says who holds what.
type Ledger interface {
	// Reservations returns every key that is held or reserved now and overlaps prefix. It fails with
	// ErrNoLedger where there is no ledger.
	Reservations(ctx context.Context, prefix fslease.Key) ([]Reservation, error)
	// OwnTicket returns the ticket that the caller works on and its scope; id is empty if there is none.
	OwnTicket(ctx context.Context) (id string, scope []fslease.Key, err error)
}

// ErrNoLedger says that there is no ledger, so that nothing can be held by anybody.
var ErrNoLedger = errors.New("no ledger")

// A Reservation is a key that is held by a process or reserved by a ticket.
type Reservation struct {
	Lease  fslease.Record
	Status fslease.Status // of the ticket that holds it, if one does
	Mine   bool           // the caller's own
	Err    error          // the record cannot be understood: of Lease only the key is known
}

// A Request is one run of a hook.
type Request struct {
	Hook   string
	Args   []string  // as git gives them
	Stdin  io.Reader // for pre-push
	Repo   Repo      // of git's directory and environment
	Strict bool      // as git's lease.strict: also refuse what is outside the caller's own scope
}

// An Answer is what a hook says.
type Answer int

const (
	Allow Answer = iota
	Refuse
	CannotTell
)

// A Result is an answer with its reasons.
type Result struct {
	Hook     string
	Answer   Answer
	Refusals []Refusal // in the order of the keys; outside the own scope last
	Err      error     // why it cannot be told
	Lenient  bool      // git's lease.onError is allow: what cannot be told passes
	Ticket   string    // the caller's own, if it has one and it mattered
}

// A Refusal is a key of somebody else's, and what the commit or push changes in it.
type Refusal struct {
	Reservation
	Outside bool // strict: no key of somebody else's, but changes outside the caller's own scope
	Changes []Change
}

// Refused reports whether the hook must fail. prepare-commit-msg never does.
func (r Result) Refused() bool {
	return r.Hook != PrepareCommitMsg && (r.Answer == Refuse || r.Answer == CannotTell && !r.Lenient)
}

// Bypassed reports whether a commit is being made that pre-commit would have refused: under --no-verify, or
// by one of git's commands that do not run it.
func (r Result) Bypassed() bool { return r.Hook == PrepareCommitMsg && r.Answer == Refuse }

// Run answers for one run of a hook. It reads, and changes nothing.
func Run(ctx context.Context, req Request, ledger Ledger) Result {
	result, err := check(ctx, req, ledger)
	result.Hook = req.Hook
	if err != nil {
		result.Err = errors.Join(result.Err, err)
		if result.Answer == Allow {
			result.Answer = CannotTell
		}
	}
	if result.Answer == CannotTell {
		value, _, _ := req.Repo.config(ctx, "lease.onError")
		result.Lenient = value == "allow"
	}
	return result
}

func check(ctx context.Context, req Request, ledger Ledger) (Result, error) {
	prefix, err := req.Repo.Prefix(ctx)
	if err != nil {
		return Result{}, err
	}
	reservations, err := ledger.Reservations(ctx, prefix)
	if errors.Is(err, ErrNoLedger) {
		return Result{}, nil
	}
	if err != nil {
		return Result{}, err
	}
	strict := req.Strict
	if !strict {
		value, _, err := req.Repo.config(ctx, "lease.strict", "--type=bool")
		if err != nil {
			return Result{}, err
		}
		strict = value == "true"
	}
	othersHold := slices.ContainsFunc(reservations, func(r Reservation) bool { return !r.Mine })
	if !strict && !othersHold {
		return Result{}, nil
	}
	changes, err := req.changes(ctx)
	if err != nil {
		return Result{}, err
	}
	setKeys(changes, prefix)
	result := Decide(changes, reservations)
	if strict {
		ticket, scope, err := ledger.OwnTicket(ctx)
		if err != nil {
			return result, err
		}
		result.confine(changes, reservations, ticket, scope)
	}
	return result, nil
}

// changes returns what the commit or the push changes.
func (req Request) changes(ctx context.Context) ([]Change, error) {
	switch {
	case req.Hook == PreCommit || req.Hook == PrepareCommitMsg:
		return req.Repo.Staged(ctx)
	case req.Hook == PrePush && len(req.Args) > 0:
		return req.Repo.Pushed(ctx, req.Args[0], req.Stdin)
	case req.Hook == PrePush:
		return nil, &fslease.ConfigError{What: "pre-push needs the name of a remote", Hint: "git calls it as pre-push REMOTE URL"}
	default:
		return nil, &fslease.ConfigError{What: fmt.Sprintf("%q is none of lease's hooks", req.Hook), Hint: "they are pre-commit, pre-push and prepare-commit-msg"}
	}
}

// Decide refuses if the key of one of changes overlaps one that is not the caller's own. Where only records
// that cannot be understood are in the way it cannot tell.
func Decide(changes []Change, reservations []Reservation) Result {
	keys := make([]fslease.Key, len(reservations))
	for i, r := range reservations {
		keys[i] = r.Lease.Key
	}
	held := overlapOf(keys)
	touching := make([][]Change, len(reservations))
	for _, c := range changes {
		held.each(c.Key, func(i int) {
			if !reservations[i].Mine {
				touching[i] = append(touching[i], c)
			}
		})
	}
	var result Result
	for i, r := range reservations {
		switch {
		case len(touching[i]) == 0:
		case r.Err != nil:
			result.Err = errors.Join(result.Err, fmt.Errorf("%s may be held, and %s lies in it: %w", r.Lease.Key, Escape(touching[i][0].Path), r.Err))
		default:
			result.Refusals = append(result.Refusals, Refusal{Reservation: r, Changes: touching[i]})
		}
	}
	slices.SortStableFunc(result.Refusals, func(a, b Refusal) int {
		return fslease.CompareKeys(a.Lease.Key, b.Lease.Key)
	})
	switch {
	case len(result.Refusals) > 0:
		result.Answer = Refuse
	case result.Err != nil:
		result.Answer = CannotTell
	}
	return result
}

// confine refuses what is neither in the scope of the caller's own ticket nor in a key that the caller
// holds. What is refused already is not said twice.
func (r *Result) confine(changes []Change, reservations []Reservation, ticket string, scope []fslease.Key) {
	r.Ticket = ticket
	said := make(map[string]bool)
	for _, refusal := range r.Refusals {
		for _, c := range refusal.Changes {
			said[c.Path] = true
		}
	}
	own := slices.Clone(scope)
	for _, held := range reservations {
		if held.Mine {
			own = append(own, held.Lease.Key)
		}
	}
	mine := overlapOf(own)
	var outside []Change
	for _, c := range changes {
		if !said[c.Path] && !mine.any(c.Key) {
			outside = append(outside, c)
		}
	}
	if len(outside) > 0 {
		r.Answer = Refuse
		r.Refusals = append(r.Refusals, Refusal{Outside: true, Changes: outside})
	}
}
