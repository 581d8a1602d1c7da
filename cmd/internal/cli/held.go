package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"fslease/fslease"
)

// heldMessage says who is in the way, and since when. Of a ticket it is a line for each, in just these words.
func heldMessage(e *fslease.HeldError) (message string, lines []string) {
	message = short(e).Error()
	if len(e.Reserved) > 0 {
		return message, strings.Split(message, "\n")
	}
	if e.WaitedFor > 0 {
		waited := fslease.Seconds(e.WaitedFor)
		if e.WaitedFor < 100*time.Millisecond { // which people count as nothing
			waited = e.WaitedFor.Round(time.Millisecond).String()
		}
		message += ", waited for " + waited
	}
	return message, []string{message}
}

// short returns e with commands cut to what a line can hold; the record has them in full.
func short(e *fslease.HeldError) *fslease.HeldError {
	s := *e
	if e.Blocking != nil {
		rec := *e.Blocking
		rec.Holder.Command = shortCommand(rec.Holder.Command)
		s.Blocking = &rec
	}
	if e.Waiter != nil {
		w := *e.Waiter
		w.Holder.Command = shortCommand(w.Holder.Command)
		s.Waiter = &w
	}
	return &s
}

func shortCommand(argv []string) []string {
	if len(argv) == 0 {
		return nil
	}
	return []string{cut(strings.Join(argv, " "), 60)}
}

// heldHint says what can be done about it.
func heldHint(e *fslease.HeldError) string {
	key := shellWord(string(e.Key))
	switch {
	case e.UnderFence:
		return "let this command end: it is waited for; a lease that it has still is joined with lease run --reentrant, or lease fenced"
	case len(e.Reserved) > 0 && e.Reason != "":
		return e.Reason + ": lease run takes the fence alone, lease fenced works under the token of the key"
	case len(e.Reserved) > 0:
		return "lease ticket show " + shellWord(e.Reserved[0].Ticket) + " says more; done, reopen and cancel free the scope"
	case e.Circle:
		return "take them in the same order everywhere, or together: lease run KEY KEY -- COMMAND"
	case e.Own && e.Blocking == nil:
		return "do it once the command that runs under the lease has ended"
	case e.Own && e.Blocking.Key.Covers(e.Key):
		return fmt.Sprintf("join what is held: lease run --reentrant, or lease fenced %s --token %d -- COMMAND", shellWord(string(e.Blocking.Key)), e.Blocking.Generation)
	case e.Own:
		return "give up " + shellWord(string(e.Blocking.Key)) + " first, or take " + key + " from the start"
	case e.Blocking != nil && e.Blocking.TTL == 0 && e.Verdict.Life == fslease.Unknown:
		return fmt.Sprintf("whether the holder lives cannot be told from here (%s) and no ttl was agreed: lease break %s --reason TEXT takes it away",
			e.Verdict.Reason, shellWord(string(e.Blocking.Key)))
	case e.Keepers != nil:
		return "what ran under the last lease has not ended yet: wait for it; lease show " + heldKeyWord(e) + " says how to end it"
	case e.WaitedFor > 0:
		return fmt.Sprintf("lease show %s says more", heldKeyWord(e))
	default:
		return fmt.Sprintf("without -n lease waits for its turn; lease show %s says more", heldKeyWord(e))
	}
}

// heldKeyWord is the key to look at: the one that is held, which may be another than the one asked for.
func heldKeyWord(e *fslease.HeldError) string {
	if e.Blocking != nil {
		return shellWord(string(e.Blocking.Key))
	}
	return shellWord(string(e.Key))
}

// heldBy is the holder in the way as JSON, nil if it is a fence.
func heldBy(e *fslease.HeldError) json.RawMessage {
	switch {
	case e.Blocking != nil:
		return holderJSON(e.Blocking.Holder)
	case e.Waiter != nil:
		return holderJSON(e.Waiter.Holder)
	}
	return nil
}

// holderJSON is a holder as it stands in a record.
func holderJSON(h fslease.Holder) json.RawMessage {
	var fields struct {
		Holder json.RawMessage `json:"holder"`
	}
	data, err := fslease.Record{Holder: h}.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(data, &fields)
	}
	if err != nil {
		panic(err) // what was just written can be read
	}
	return fields.Holder
}
