package cli

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// parseDuration reads a duration as Go writes them, such as 90s or 1h30m, or one that begins with days,
// such as 2d or 1d12h. It is never negative. A bare number is refused: thirty of what?
func parseDuration(s string) (time.Duration, *usageError) {
	const digits = "0123456789."
	const hint = "a duration is a number and a unit, such as 500ms, 30s, 5m, 12h or 2d"
	bad := &usageError{what: fmt.Sprintf("%.40q is no duration", s), hint: hint}
	switch {
	case s == "" || !strings.Contains(digits, s[:1]):
		return 0, bad
	case strings.Trim(s, digits) == "":
		bad.hint = fmt.Sprintf("say of what: %ss for seconds, for example", s)
		return 0, bad
	}
	var days time.Duration
	if number, rest, ok := strings.Cut(s, "d"); ok && strings.Trim(number, digits) == "" {
		hours, err := time.ParseDuration(number + "h")
		if err != nil || hours > math.MaxInt64/24 {
			return 0, bad
		}
		if days, s = 24*hours, rest; s == "" {
			return days, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > math.MaxInt64-days {
		return 0, bad
	}
	return days + d, nil
}

// ago says how long something is past, as short as a column is narrow: 12s ago, 5m ago, 3h ago, 9d ago.
func ago(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "just now" // the clock was set back
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds ago", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm ago", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%dh ago", d/time.Hour)
	default:
		return fmt.Sprintf("%dd ago", d/day)
	}
}
