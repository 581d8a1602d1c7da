package procinfo

import "testing"

// The first Self of a process, which is what every `lease run` pays.
func BenchmarkSelf(b *testing.B) {
	for b.Loop() {
		knownPlace.Store(nil)
		if _, err := Self(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	id, err := Self()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if v := Judge(id, true); v.State != Alive {
			b.Fatal(v)
		}
	}
}
