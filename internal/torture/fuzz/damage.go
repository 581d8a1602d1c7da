package fuzz

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fslease/internal/torture/kit"
)

// damage changes bytes in files of a ledger, one file at a time.
func damage(t *kit.T, n int) {
	l := t.Ledger()
	defer l.Close()
	for _, args := range [][]string{
		{"acquire", "--ttl", "1h", "k", "other"}, {"run", "gone", "--", "true"}, {"acquire", "--ttl", "1h", "gone"},
		{"ticket", "add", "1", "--scope", "repo"}, {"ticket", "approve", "1"}, {"ticket", "start", "1"}, {"ticket", "add", "2"},
	} {
		if r := l.Run(args...); r.Code != 0 {
			t.Violate("%v", r)
			return
		}
	}
	for range n {
		if t.Ended() {
			return
		}
		files := []string{"leases/k.json", "leases/k.json", "leases/gone.json", "tombstones/gone.json", "tickets/1.json", "sessions/1/1.json", "ledger.json"}
		name := filepath.Join(l.Dir, files[t.IntN(len(files))])
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Violate("%v", err)
			return
		}
		damageOne(t, l, name, mutate(t, whole))
		if err := os.WriteFile(name, whole, 0o600); err != nil {
			t.Violate("%v", err)
			return
		}
		t.Made("damaged files", 1)
	}
}

// mutate changes a few places of a file, or cuts it.
func mutate(t *kit.T, whole []byte) []byte {
	data := slices.Clone(whole)
	for range 1 + t.IntN(3) {
		at := t.IntN(len(data) + 1)
		switch t.IntN(6) {
		case 0:
			data = data[:at]
		case 1:
			data = slices.Insert(data, at, []byte{0, '"', '{', '9', 0xff, '\n', '-', 'e'}[t.IntN(8)])
		case 2:
			data = append(data[:at:at], append(bytes.Repeat([]byte{byte(t.IntN(256))}, 1+t.IntN(300)), data[at:]...)...)
		case 3:
			if at < len(data) {
				data[at] ^= 1 << t.IntN(8)
			}
		case 4:
			to := min(len(data), at+t.IntN(40))
			data = slices.Delete(data, at, to)
		default:
			words := []string{"1", "null", "0", "-1", "9007199254740993", "\"\"", "[]", "{}", "true", "1e3", "2"}
			data = bytes.Replace(data, []byte(strconv.Itoa(1+t.IntN(2))), []byte(words[t.IntN(len(words))]), 1)
		}
	}
	return data
}

// damageOne has every kind of command meet the file. None breaks; if it is no JSON any more, nothing is free because
// of it, nothing is written over it, and doctor sees it.
func damageOne(t *kit.T, l *kit.Ledger, name string, data []byte) {
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Violate("%v", err)
		return
	}
	short := strings.TrimPrefix(name, l.Dir+"/")
	key := strings.TrimSuffix(filepath.Base(name), ".json")
	var object map[string]json.RawMessage
	broken := json.Unmarshal(data, &object) != nil
	said := func(r kit.Result) {
		if r.Hung || r.Code < 0 || r.Code == 2 || strings.Contains(r.Stderr, "goroutine ") || strings.Contains(r.Stdout+r.Stderr, "\x00") {
			t.Violate("%s is %q\n%v", short, data, r)
		}
	}
	for _, args := range [][]string{{"show", "--json", key}, {"ls"}, {"ticket", "show", "1"}, {"check", key}, {"reconcile", "--dry-run"}} {
		said(l.Run(args...))
	}
	doctor := l.Run("doctor")
	said(doctor)
	if !broken {
		return // what it says now is what counts
	}
	if doctor.Code == 0 {
		t.Violate("%s is %q, and doctor finds nothing\n%v", short, data, doctor)
	}
	var tries [][]string
	switch filepath.Dir(short) {
	case "leases", "tombstones":
		tries = [][]string{{"acquire", "-n", "--ttl", "1h", key}, {"release", key, "--token", "1"}, {"renew", key, "--token", "1"}}
	case "tickets", "sessions/1":
		tries = [][]string{{"ticket", "checkpoint", "1", "--token", "1"}, {"ticket", "done", "1", "--token", "1"}, {"acquire", "-n", "--ttl", "1h", "repo/x"}}
	default:
		tries = [][]string{{"acquire", "-n", "--ttl", "1h", "new"}}
	}
	for _, args := range tries {
		r := l.Run(args...)
		said(r)
		if r.Code == 0 {
			t.Violate("%s is %q, and was taken for sound, or for nothing\n%v", short, data, r)
		}
	}
	if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, data) {
		t.Violate("%s was %q and is %q (%v): what cannot be read must not be written over", short, data, now, err)
	}
}
