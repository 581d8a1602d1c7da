package cli

import (
	"fmt"
	"time"

	"fslease/fslease"
)

// stateWord says in a word how a key stands, with its colour.
func stateWord(look fslease.Look) cell {
	cur, j := look.State.Current(), look.Judgement
	switch {
	case cur == nil && look.State.Tomb != nil:
		return cell{escape(string(look.State.Tomb.Reason)), dim}
	case cur == nil:
		return cell{"free", dim}
	case look.Reserved:
		return cell{"reserved", yellow}
	case cur.Holder.IsTicket():
		return cell{"void", red} // the ticket does not reserve it any more
	case j.Takeover:
		return cell{string(j.Reason), red} // dead, expired
	default:
		return cell{"held", green}
	}
}

// verdict is what stands under that name in --json, with its reason.
func verdict(look fslease.Look) (verdict, reason string) {
	cur := look.State.Current()
	switch {
	case cur == nil && look.State.Tomb != nil:
		return "free", string(look.State.Tomb.Reason)
	case cur == nil:
		return "free", "never held"
	case look.Reserved:
		return fslease.Unknown.String(), "reserved by ticket " + cur.Holder.Ticket
	case cur.Holder.IsTicket():
		return fslease.Unknown.String(), "ticket " + cur.Holder.Ticket + " does not reserve it any more"
	}
	reason = look.Judgement.Verdict.Reason
	if look.Judgement.Reason == fslease.ReasonExpired {
		reason += fmt.Sprintf(", silent for %s, longer than its ttl of %s", fslease.Seconds(look.Judgement.Silent), fslease.Seconds(cur.TTL))
	}
	return look.Judgement.Verdict.Life.String(), reason
}

// describe names a holder with as much of its command as a line can hold.
func describe(h fslease.Holder) string {
	h.Command = shortCommand(h.Command)
	return h.Describe()
}

// describeIdle is describe for one whose command has not begun.
func describeIdle(h fslease.Holder) string {
	h.Command = shortCommand(h.Command)
	return h.DescribeIdle()
}

// moment shows a time: on a terminal how long ago it was, for a program as it stands in the record.
func moment(s *screen, t, now time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case s == nil:
		return t.Format(fslease.TimeFormat)
	default:
		return ago(now.Sub(t))
	}
}

// stamp shows times as they stand in the record, on a terminal with how long ago that was.
func stamp(s *screen) func(time.Time) string {
	now := time.Now()
	return func(t time.Time) string {
		text := t.Format(fslease.TimeFormat)
		if s != nil {
			text += " (" + ago(now.Sub(t)) + ")"
		}
		return text
	}
}
