package crashstate

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
)

// replace is how a record is written: a temporary file, then a rename.
func replace(t *testing.T, d *Disk, name, data string, file, folder bool) {
	t.Helper()
	f, err := d.Create(".temp")
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte(data))
	if file {
		f.Sync()
	}
	if err := d.Rename(".temp", name); err != nil {
		t.Fatal(err)
	}
	if folder {
		if err := d.SyncDir("."); err != nil {
			t.Fatal(err)
		}
	}
}

// left returns what a power cut at the end may leave of the file k, "-" for no file.
func left(d *Disk) []string {
	var all []string
	for tree := range d.States(d.Len(), 1000, rand.New(rand.NewPCG(1, 1))) {
		data, ok := tree["k"]
		if !ok {
			data = "-"
		}
		all = append(all, data)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestWhatAReplacedFileMayBecome(t *testing.T) {
	for _, c := range []struct {
		name         string
		file, folder bool
		want         []string
	}{
		{"both synced", true, true, []string{"newer"}},
		{"the file only", true, false, []string{"newer", "old"}},
		{"the folder only", false, true, []string{"", "\x00\x00\x00\x00\x00", "ne", "newer"}},
		{"nothing", false, false, []string{"", "\x00\x00\x00\x00\x00", "ne", "newer", "old"}},
	} {
		d := New(Tree{"k": "old"})
		replace(t, d, "k", "newer", c.file, c.folder)
		if got := left(d); !slices.Equal(got, c.want) {
			t.Errorf("%s: a power cut may leave %q, not %q", c.name, got, c.want)
		}
	}
}

func TestASyncAfterOneThatFailedDoesNothing(t *testing.T) {
	d := New(nil)
	f, err := d.Create("k")
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("data"))
	f.Fail()
	f.Sync()
	d.SyncDir(".")
	if got := left(d); !slices.Contains(got, "") {
		t.Errorf("a power cut may leave %q only", got)
	}
}

func TestNamesThatChangePlacesDoSoBothOrNeither(t *testing.T) {
	d := New(Tree{"k": "old", ".temp": "new"})
	if err := d.Exchange(".temp", "k"); err != nil {
		t.Fatal(err)
	}
	d.Remove(".temp")
	for tree := range d.States(2, 100, nil) {
		if k, temp := tree["k"], tree[".temp"]; k != "old" && k != "new" || temp == k {
			t.Errorf("%q", tree)
		}
	}
}

func TestAStoryTellsWhatMayBe(t *testing.T) {
	var s Story
	s.Did("k", 2, 5, "held")
	s.Told("k", 4, 7)
	s.Did("k", 6, 9, "free")
	for cut, want := range [][]string{0: {"new"}, 2: {"new"}, 3: {"new", "held"}, 5: {"held"}, 6: {"held"}, 7: {"held", "free"}, 9: {"free"}} {
		if got := s.May("k", cut, "new"); want != nil && !slices.Equal(got, want) {
			t.Errorf("after %d steps it may be %q, not %q", cut, got, want)
		}
	}
	if s.Highest("k", 3) != 0 || s.Highest("k", 4) != 7 {
		t.Error("a number counts from when it was told")
	}
	if s.Known(3) == s.Known(4) || s.Known(4) == s.Known(5) || s.Known(5) != s.Known(6) {
		t.Error("known is not told apart")
	}
}

func TestEachChangeOfAFolderIsLostByItself(t *testing.T) {
	d := New(Tree{"a": "", "b": ""})
	d.Remove("a")
	d.Remove("b")
	seen := map[string]bool{}
	for tree := range d.States(2, 100, nil) {
		seen[tree.String()] = true
	}
	if len(seen) != 4 {
		t.Errorf("two removals may leave %d states, not 4", len(seen))
	}
	d.SyncDir(".")
	d.Remove("nothing")
	for tree := range d.States(3, 100, nil) {
		if len(tree) != 0 {
			t.Errorf("after the sync %q is left", tree)
		}
	}
}

func TestAFolderThatIsLostTakesWithItWhatIsIn(t *testing.T) {
	d := New(nil)
	if err := d.Mkdir("sub"); err != nil {
		t.Fatal(err)
	}
	f, err := d.Create("sub/k")
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("data"))
	f.Sync()
	d.SyncDir("sub")
	lost, kept := false, false
	for tree := range d.States(d.Len(), 100, nil) {
		lost = lost || len(tree) == 0
		kept = kept || tree["sub/k"] == "data"
	}
	if !lost || !kept {
		t.Errorf("lost %v, kept %v: both may be", lost, kept)
	}
}

func TestCutsComeBeforeAndAfterEachStep(t *testing.T) {
	d := New(Tree{"k": "old"})
	replace(t, d, "k", "newer", true, true)
	if d.Len() != 5 {
		t.Fatalf("%d steps", d.Len())
	}
	for cut := range d.Len() {
		for tree := range d.States(cut, 100, nil) {
			if got := tree["k"]; got != "old" && (got != "newer" || cut < 4) {
				t.Errorf("cut after %d steps: %q", cut, got)
			}
		}
	}
}

func TestManyStatesAreChosenWithinTheLimit(t *testing.T) {
	d := New(nil)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		if _, err := d.Create(name); err != nil {
			t.Fatal(err)
		}
	}
	n, most, least := 0, 0, 8
	for tree := range d.States(d.Len(), 50, rand.New(rand.NewPCG(1, 1))) {
		n++
		most, least = max(most, len(tree)), min(least, len(tree))
	}
	if n != 50 || most != 8 || least != 0 {
		t.Errorf("%d states, with %d to %d files", n, least, most)
	}
}

func TestTreesAreReadAndWritten(t *testing.T) {
	want := Tree{"a": "1", "dir/": "", "dir/b": "2", "dir/empty/": ""}
	dir := filepath.Join(t.TempDir(), "tree")
	if err := want.Write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir)
	if err != nil || got.String() != want.String() {
		t.Errorf("read %q, %v", got, err)
	}
	d := New(got)
	if _, err := d.Create("dir/b"); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if _, err := d.ReadFile("dir/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := d.Rmdir("dir"); err == nil {
		t.Error("a folder with something in it was removed")
	}
	if names, err := d.List("dir"); err != nil || !slices.Equal(names, []string{"b", "empty/"}) {
		t.Error(names, err)
	}
}
