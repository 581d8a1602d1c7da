package fslease_test

import (
	"encoding/json"
	"math"
	"time"

	"pgregory.net/rapid"

	"fslease/fslease"
)

// Generators of records that a ledger may hold.

func positive() *rapid.Generator[int64] { return rapid.Int64Range(1, fslease.MaxNumber) }
func count() *rapid.Generator[int64]    { return rapid.Int64Range(0, fslease.MaxNumber) }
func inode() *rapid.Generator[int64]    { return rapid.Int64Range(0, math.MaxInt64) }

func anyTime() *rapid.Generator[time.Time] {
	return rapid.Map(rapid.Int64Range(0, 4e12), func(ms int64) time.Time { return time.UnixMilli(ms).UTC() })
}

func milliseconds() *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.Int64Range(0, 1e10), func(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond })
}

func anyExtra() *rapid.Generator[map[string]json.RawMessage] {
	names := rapid.SampledFrom([]string{"zone", "a", "labels", "überall", "\"", "new_field"})
	values := rapid.SampledFrom([]string{`1`, `null`, `[1,2.50]`, `{"a":{"b":"c"}}`, `"<>&"`, `9007199254740993`, `1e309`})
	return rapid.MapOfN(names, rapid.Map(values, func(s string) json.RawMessage { return json.RawMessage(s) }), 0, 3)
}

func anyHolderID() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.RuneFrom([]rune("0123456789abcdef")), 32, 32, -1)
}

func anyHolder() *rapid.Generator[fslease.Holder] {
	return rapid.Custom(func(t *rapid.T) fslease.Holder {
		if rapid.Bool().Draw(t, "is ticket") {
			return fslease.Holder{Kind: fslease.KindTicket, Ticket: anyTicketID().Draw(t, "ticket"), Session: count().Draw(t, "session"), Extra: anyExtra().Draw(t, "extra")}
		}
		return fslease.Holder{
			Kind: fslease.KindProcess, ID: anyHolderID().Draw(t, "id"),
			Evidence:  rapid.SampledFrom([]fslease.Evidence{fslease.EvidenceLock, fslease.EvidencePid, fslease.EvidenceNone}).Draw(t, "evidence"),
			Host:      rapid.String().Draw(t, "host"),
			MachineID: rapid.String().Draw(t, "machine"), BootID: rapid.String().Draw(t, "boot"), BootIDGenuine: rapid.Bool().Draw(t, "genuine"),
			PID: count().Draw(t, "pid"), StartTime: count().Draw(t, "start"), PIDNS: inode().Draw(t, "pid ns"), TimeNS: inode().Draw(t, "time ns"),
			PidfdInode: inode().Draw(t, "pidfd"), HolderInode: inode().Draw(t, "inode"), UID: count().Draw(t, "uid"), User: rapid.String().Draw(t, "user"),
			Command: rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "command"), Cwd: rapid.String().Draw(t, "cwd"), Exec: rapid.Bool().Draw(t, "exec"),
			Extra: anyExtra().Draw(t, "extra"),
		}
	})
}

func anyRecord() *rapid.Generator[fslease.Record] {
	return rapid.Custom(func(t *rapid.T) fslease.Record {
		return fslease.Record{
			Key: anyKey().Draw(t, "key"), Generation: positive().Draw(t, "generation"), Revision: positive().Draw(t, "revision"),
			AcquiredAt: anyTime().Draw(t, "acquired"), RenewedAt: anyTime().Draw(t, "renewed"), TTL: milliseconds().Draw(t, "ttl"),
			RenewedMono: inode().Draw(t, "mono"), Note: rapid.String().Draw(t, "note"), Holder: anyHolder().Draw(t, "holder"),
			Extra: anyExtra().Draw(t, "extra"),
		}
	})
}

func anyTicketID() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"42", "fix-login", "é", "a b", "...", "x.json"})
}
