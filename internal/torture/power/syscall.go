package power

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A call is a system call that has returned.
type call struct {
	pid    string
	name   string
	args   []string
	result string
}

// ok reports whether the call succeeded.
func (c call) ok() bool {
	return !strings.HasPrefix(c.result, "-1") && !strings.HasPrefix(c.result, "?")
}

// calls reads what strace -f -y -xx wrote, each call when it returned, and hands them to visit.
func calls(trace io.Reader, visit func(call) error) error {
	begun := map[string]string{} // calls that have not returned, by process
	lines := bufio.NewReader(trace)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		pid, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		rest = strings.TrimLeft(rest, " ")
		if before, ok := strings.CutSuffix(rest, " <unfinished ...>"); ok {
			begun[pid] = before
			continue
		}
		if strings.HasPrefix(rest, "<... ") {
			_, after, _ := strings.Cut(rest, " resumed>")
			rest = begun[pid] + after
		}
		c, ok, err := parseCall(pid, rest)
		if err == nil && ok {
			err = visit(c)
		}
		if err != nil {
			return fmt.Errorf("%w: %.300s", err, line)
		}
	}
}

// parseCall parses one call. Signals and ends of processes are none.
func parseCall(pid, line string) (call, bool, error) {
	name, rest, ok := strings.Cut(line, "(")
	if !ok || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++") {
		return call{}, false, nil
	}
	c := call{pid: pid, name: name}
	depth, from := 0, 0
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '"':
			i += 1 + strings.IndexByte(rest[i+1:], '"') // with -xx there is no quote in a string
		case '{', '[', '(':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				c.args = append(c.args, strings.TrimSpace(rest[from:i]))
				from = i + 1
			}
		case ')':
			if depth--; depth >= 0 {
				continue
			}
			c.args = append(c.args, strings.TrimSpace(rest[from:i]))
			_, c.result, ok = strings.Cut(rest[i:], "= ")
			return c, ok, nil
		}
	}
	return c, false, fmt.Errorf("a line of strace is not understood")
}

// text returns the string in an argument such as "\x41".
func text(arg string) (string, error) {
	inner, ok := strings.CutPrefix(arg, `"`)
	inner, ok2 := strings.CutSuffix(inner, `"`)
	if !ok || !ok2 {
		return "", fmt.Errorf("%.40s is no whole string", arg)
	}
	return unhex(inner)
}

// unhex decodes \xNN.
func unhex(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	return strconv.Unquote(`"` + s + `"`)
}

// target returns the path in a descriptor such as 3<\x2f\x61>, and whether it has no name any more, or none yet.
func target(arg string) (path string, unnamed bool) {
	_, rest, _ := strings.Cut(arg, "<")
	inner, after, _ := strings.Cut(rest, ">")
	path, err := unhex(inner)
	if err != nil {
		return "", false
	}
	return path, strings.HasPrefix(after, "(deleted)")
}
