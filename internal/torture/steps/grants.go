package steps

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"fslease/fslease"
)

// A Grant is a generation that somebody was told.
type Grant struct {
	Key        fslease.Key
	Generation int64
}

// answered returns the generations that a command printed: as its answer, or as what it ran did.
func (r Row) answered(stdout string) []Grant {
	var grants []Grant
	for line := range strings.Lines(stdout) {
		if !strings.HasSuffix(line, "\n") {
			break // it was killed meanwhile
		}
		for token := range strings.FieldsSeq(line) {
			if i := strings.LastIndexByte(token, '='); i > 0 {
				grants = appendGrant(grants, fslease.Key(token[:i]), token[i+1:])
			}
		}
		number, key, several := strings.Cut(strings.TrimSpace(line), "\t")
		if several {
			grants = appendGrant(grants, fslease.Key(key), number)
		} else if r.Answer != "" {
			grants = appendGrant(grants, r.Answer, number)
		}
	}
	return grants
}

func appendGrant(grants []Grant, key fslease.Key, number string) []Grant {
	g, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return grants
	}
	return append(grants, Grant{key, g})
}

// overlaps says what ran while something else did, by the notes of $WORK; "" if nothing.
func overlaps(file string) string {
	data, _ := os.ReadFile(file)
	running := ""
	for line := range strings.Lines(string(data)) {
		verb, tokens, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case verb == "begin" && running != "":
			return fmt.Sprintf("%q began while %q ran", tokens, running)
		case verb == "begin":
			running = tokens
		case running != tokens:
			return fmt.Sprintf("%q ended while %q ran", tokens, running)
		default:
			running = ""
		}
	}
	return ""
}

// last returns the last generation of key among grants, 0 if there is none.
func last(grants []Grant, key fslease.Key) int64 {
	var g int64
	for _, grant := range grants {
		if grant.Key == key {
			g = grant.Generation
		}
	}
	return g
}

// highest are the generations that were told for each key.
type highest map[fslease.Key]int64

func (h highest) add(grants []Grant) {
	for _, g := range grants {
		h[g.Key] = max(h[g.Key], g.Generation)
	}
}
