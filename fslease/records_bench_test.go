package fslease_test

import (
	"strings"
	"testing"
	"time"

	"fslease/fslease"
)

// heldRecord is a lease as they are found in ledgers, and the same as the file has it.
func heldRecord(b *testing.B) (fslease.Record, []byte) {
	b.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	rec := fslease.Record{
		Key: "repo/api", Generation: 7, Revision: 21, AcquiredAt: at, RenewedAt: at, TTL: time.Minute, RenewedMono: int64(time.Hour), Note: "nightly deploy",
		Holder: fslease.Holder{
			Kind: fslease.KindProcess, ID: strings.Repeat("0a", 16), Evidence: fslease.EvidenceLock, Host: "build-3", MachineID: strings.Repeat("0b", 32),
			BootID: boot, BootIDGenuine: true, PID: 4242, StartTime: 168725, PIDNS: 4026531836, TimeNS: 1, PidfdInode: 18017, HolderInode: 2101,
			UID: 1000, User: "ann", Command: []string{"make", "deploy"}, Cwd: "/srv/app",
		},
	}
	data, err := rec.MarshalJSON()
	if err != nil {
		b.Fatal(err)
	}
	return rec, fslease.Indent(data)
}

func BenchmarkWriteRecord(b *testing.B) {
	rec, data := heldRecord(b)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		compact, err := rec.MarshalJSON()
		if err != nil {
			b.Fatal(err)
		}
		fslease.Indent(compact)
	}
}

func BenchmarkReadRecord(b *testing.B) {
	_, data := heldRecord(b)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		var rec fslease.Record
		if err := rec.UnmarshalJSON(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	rec, _ := heldRecord(b)
	now := observed(time.Hour + 30*time.Second)
	for b.Loop() {
		if fslease.Judge(rec, fslease.Verdict{Life: fslease.Alive}, now, nil).Takeover {
			b.Fatal("a lease that was renewed half a minute ago is taken over")
		}
	}
}

func BenchmarkLockPlan(b *testing.B) {
	keys, err := fslease.ParseKeys(strings.Repeat("a/", 15)+"k", "repo/api", "repo/web", "terminal-1")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		fslease.LockPlan(keys)
	}
}
