package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escape makes text that came from a record, a file name or git safe to show: control characters, those
// that change the direction of writing, and what is not UTF-8 are written as Go writes them in strings.
// Nothing that somebody else wrote commands the terminal, or takes a second line.
func escape(s string) string {
	if strings.IndexFunc(s, unsafe) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case !unsafe(r):
			b.WriteRune(r)
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// escapeJSON does the same to one JSON value, which stays the same value.
func escapeJSON(data []byte) []byte {
	var out []byte
	for i, r := range string(data) {
		if r >= utf8.RuneSelf && unsafe(r) || r == 0x7f {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, data[i:i+utf8.RuneLen(r)]...)
		}
	}
	return out
}

// unsafe reports whether r must not reach a terminal as it is. All such runes are below U+10000.
func unsafe(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return r < 0xa0 || r == '\u2028' || r == '\u2029' || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r)
}
