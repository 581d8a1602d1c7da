package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A series is one measure, taken several times.
type series []float64

func (s series) quantile(q float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}

func (s series) median() float64 { return s.quantile(0.5) }

// over is s divided by other, round by round.
func (s series) over(other series) series {
	var ratios series
	for i := range min(len(s), len(other)) {
		ratios = append(ratios, s[i]/other[i])
	}
	return ratios
}

// A unit shows a value of a series.
type unit func(float64) string

// duration shows nanoseconds.
func duration(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.0f ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.3g µs", ns/1e3)
	case ns < 1e9:
		return fmt.Sprintf("%.3g ms", ns/1e6)
	}
	return fmt.Sprintf("%.3g s", ns/1e9)
}

// size shows bytes.
func size(n float64) string { return fmt.Sprintf("%.2f MB", n/1e6) }

// A row is one line of the table.
type row struct {
	figure     string
	ours       series
	peer       string // what ours is compared with; "": nothing
	theirs     series
	in         unit   // duration if nil
	also       string // more to say beside theirs
	faster     bool   // the ratio is theirs to ours: the more, the better
	floor, aim float64
	absolute   bool   // floor and aim are of ours, not of the ratio
	notRun     string // why there is nothing to compare with
}

// add prints a row. With --quick nothing is judged.
func (b *bench) add(r row) { fmt.Println(r.line(!b.quick)) }

// ratio is the ratio of the medians, and the spread of what the rounds give one by one.
func (r row) ratio() (value, low, high float64) {
	a, b := r.ours, r.theirs
	if r.faster {
		a, b = b, a
	}
	each := a.over(b)
	return a.median() / b.median(), each.quantile(0.25), each.quantile(0.75)
}

// value is what floor and aim are about.
func (r row) value() float64 {
	if r.absolute {
		return r.ours.median()
	}
	v, _, _ := r.ratio()
	return v
}

// verdict says whether floor and aim are reached, or by how much they are missed.
func (r row) verdict() string {
	missed := func(bound float64) float64 { // in parts of the bound
		if r.faster {
			return bound/r.value() - 1
		}
		return r.value()/bound - 1
	}
	switch {
	case r.floor == 0 || r.notRun != "" && !r.absolute:
		return ""
	case missed(r.aim) <= 0:
		return "aim reached"
	case missed(r.floor) <= 0:
		return fmt.Sprintf("floor reached, aim missed by %.0f %%", 100*missed(r.aim))
	}
	return fmt.Sprintf("floor MISSED by %.0f %%", 100*missed(r.floor))
}

// bound shows a floor or an aim.
func (r row) bound(v float64) string {
	switch {
	case v == 0:
		return ""
	case r.absolute:
		return "≤ " + r.unit()(v)
	case r.faster:
		return fmt.Sprintf("≥ %g", v)
	}
	return fmt.Sprintf("≤ %g", v)
}

func (r row) unit() unit {
	if r.in == nil {
		return duration
	}
	return r.in
}

// spread shows a series.
func (r row) spread(s series) string {
	show := r.unit()
	return fmt.Sprintf("%s (%s - %s)", show(s.median()), show(s.quantile(0.25)), show(s.quantile(0.75)))
}

// line is r as a line of the table, judged or not.
func (r row) line(judged bool) string {
	cells := []string{r.figure, r.spread(r.ours), "", "", r.bound(r.floor), r.bound(r.aim), ""}
	if judged {
		cells[6] = r.verdict()
	}
	if r.ours == nil {
		cells[1] = ""
	}
	switch {
	case r.peer == "":
	case r.notRun != "":
		cells[2] = r.peer + ": not run: " + r.notRun
	default:
		cells[2] = r.peer + ": " + r.spread(r.theirs) + r.also
		value, low, high := r.ratio()
		cells[3] = fmt.Sprintf("%.3g (%.3g - %.3g)", value, low, high)
		if r.faster {
			cells[3] += " times faster"
		}
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// header says what the run is of, and begins the table.
func (b *bench) header() {
	var name unix.Utsname
	_ = unix.Uname(&name)
	fmt.Printf("%s; %d cores, %s, Linux %s, %s", time.Now().UTC().Format("2006-01-02"), runtime.NumCPU(), processor(), unix.ByteSliceToString(name.Release[:]), runtime.Version())
	for _, p := range b.places {
		fmt.Printf("; %s: %s", p.name, fileSystem(p.dir))
	}
	fmt.Println()
	if b.quick {
		fmt.Println("--quick: too few runs to tell anything about time")
	}
	fmt.Println("\n| figure | median (p25 - p75) | compared with | ratio | floor | aim | |\n| --- | --- | --- | --- | --- | --- | --- |")
}

// processor is the kind of processor.
func processor() string {
	data, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// fileSystem is the kind of file system that dir lies on.
func fileSystem(dir string) string {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return "unknown"
	}
	switch s.Type {
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.TMPFS_MAGIC:
		return "tmpfs"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlayfs"
	}
	return fmt.Sprintf("file system %#x", s.Type)
}
