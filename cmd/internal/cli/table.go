package cli

import (
	"io"
	"strings"
)

// A column of a table. On a terminal that is too narrow, columns with a least width are cut, and if that
// is not enough spare ones are left out.
type column struct {
	name  string
	least int // the width to which it may be cut; 0: it is never cut
	spare int // 1: the first to be left out, and so on; 0: never. A spare one that is empty is left out anyway
}

// A cell is escaped text, with a colour on a terminal.
type cell struct{ text, colour string }

// writeTable writes rows: for a program tab-separated and in full, on a terminal aligned under a header.
func writeTable(w io.Writer, s *screen, columns []column, rows [][]cell) error {
	var b strings.Builder
	if s == nil {
		for _, row := range rows {
			for i, c := range row {
				if i > 0 {
					b.WriteByte('\t')
				}
				b.WriteString(c.text)
			}
			b.WriteByte('\n')
		}
	} else if len(rows) > 0 {
		head := make([]cell, len(columns))
		for i, c := range columns {
			head[i] = cell{strings.ToUpper(c.name), plain}
		}
		widths := fit(s.width, columns, rows)
		for _, row := range append([][]cell{head}, rows...) {
			writeRow(&b, s, widths, row)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// gap is what stands between two columns on a terminal.
const gap = "  "

func writeRow(b *strings.Builder, s *screen, widths []int, row []cell) {
	space := 0
	for i, c := range row {
		if widths[i] == 0 {
			continue
		}
		if b.Len() > 0 && space > 0 {
			b.WriteString(strings.Repeat(" ", space))
		}
		text := cut(c.text, widths[i])
		b.WriteString(s.paint(text, c.colour))
		space = widths[i] - width(text) + len(gap)
	}
	b.WriteByte('\n')
}

// fit returns the width of each column, 0 for one that is left out, so that a row fits in total.
func fit(total int, columns []column, rows [][]cell) []int {
	widths := make([]int, len(columns))
	for i, c := range columns {
		for _, row := range rows {
			widths[i] = max(widths[i], width(row[i].text))
		}
		if widths[i] > 0 || c.spare == 0 {
			widths[i] = max(widths[i], len(c.name))
		}
	}
	for over(total, widths, func(i, w int) int { return least(columns[i], w) }) > 0 {
		if !drop(columns, widths) {
			break
		}
	}
	for over(total, widths, func(_, w int) int { return w }) > 0 {
		if !shrink(columns, widths) {
			break // too narrow for everything: lines wrap
		}
	}
	return widths
}

// least is how narrow a column of width w may become.
func least(c column, w int) int {
	if c.least == 0 {
		return w
	}
	return min(w, max(c.least, len(c.name)))
}

// over returns by how much a row is too long for total if each column has the width that of gives.
func over(total int, widths []int, of func(i, w int) int) int {
	sum := -len(gap)
	for i, w := range widths {
		if w > 0 {
			sum += of(i, w) + len(gap)
		}
	}
	return sum - total
}

// drop leaves out the spare column that goes first of those that are there.
func drop(columns []column, widths []int) bool {
	first := -1
	for i, c := range columns {
		if c.spare > 0 && widths[i] > 0 && (first < 0 || c.spare < columns[first].spare) {
			first = i
		}
	}
	if first < 0 {
		return false
	}
	widths[first] = 0
	return true
}

// shrink takes one from the widest column that may be cut.
func shrink(columns []column, widths []int) bool {
	widest := -1
	for i, w := range widths {
		if w > 0 && w > least(columns[i], w) && (widest < 0 || w > widths[widest]) {
			widest = i
		}
	}
	if widest < 0 {
		return false
	}
	widths[widest]--
	return true
}
