package cli

import "strings"

// meant puts before a hint what somebody may have meant who typed word, if one of names is near: "did you mean
// lease check? ". head stands before the name where it is typed.
func meant(head, word string, names []string, hint string) string {
	if name := near(word, names); name != "" {
		return strings.TrimSuffix("did you mean "+head+name+"? "+hint, " ")
	}
	return hint
}

// near returns the first of names that is typed most like word, "" if none is: two letters may be missing, too
// many, wrong or exchanged with their neighbour, of a short word one.
func near(word string, names []string) string {
	const short = 3
	best, least := "", 3
	if len(word) <= short {
		least = 2
	}
	for _, name := range names {
		if d := distance(word, name); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance is how many letters have to be put in, left out, changed or exchanged with their neighbour to make b of a.
func distance(a, b string) int {
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
