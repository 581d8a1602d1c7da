package procinfo

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// stat is what is needed of /proc/PID/stat.
type stat struct {
	name  string // of the executable, cut to 15 bytes
	state byte   // R, S, D, T (stopped), Z (zombie) and others
	ppid  int    // 0: the parent is outside the pid namespace, or there is none
	start int64  // clock ticks since boot, in the time namespace of the reader
}

// Positions of the fields that follow the name; in the manual state is the third field.
const (
	fieldState = 0
	fieldPpid  = 4 - 3
	fieldStart = 22 - 3
)

// parseStat reads a stat line. The name stands in parentheses and may hold anything, spaces and
// parentheses too; after it there are only numbers, so it ends at the last closing one.
func parseStat(line []byte) (stat, error) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return stat{}, errors.New("no name in parentheses")
	}
	st := stat{name: string(line[open+1 : end])}
	fields := bytes.Fields(line[end+1:])
	if len(fields) <= fieldStart {
		return stat{}, fmt.Errorf("%d fields after the name, start time missing", len(fields))
	}
	if len(fields[fieldState]) != 1 {
		return stat{}, fmt.Errorf("state %q is not one letter", fields[fieldState])
	}
	st.state = fields[fieldState][0]
	var err error
	if st.ppid, err = strconv.Atoi(string(fields[fieldPpid])); err != nil {
		return stat{}, fmt.Errorf("parent: %w", err)
	}
	if st.start, err = strconv.ParseInt(string(fields[fieldStart]), 10, 64); err != nil {
		return stat{}, fmt.Errorf("start time: %w", err)
	}
	return st, nil
}
