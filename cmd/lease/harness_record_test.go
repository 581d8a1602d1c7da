package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A Record is a JSON object; numbers are json.Number, so an edit keeps them as they are.
type Record map[string]any

func parseRecord(t testing.TB, name string, b []byte) Record {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var r Record
	if err := d.Decode(&r); err != nil {
		t.Fatalf("%s: %v: %q", name, err, b)
	}
	return r
}

// Sub is the object of that name; nil if there is none.
func (r Record) Sub(name string) Record {
	m, _ := r[name].(map[string]any)
	return m
}

// Int is the whole number of that name; 0 if there is none.
func (r Record) Int(name string) int64 {
	n, _ := r[name].(json.Number)
	i, _ := n.Int64()
	return i
}

// Str is the string of that name; "" if there is none.
func (r Record) Str(name string) string {
	s, _ := r[name].(string)
	return s
}

// Record reads a JSON file of the ledger; nil if there is none.
func (l *Ledger) Record(path string) Record {
	l.t.Helper()
	b, err := os.ReadFile(filepath.Join(l.Dir, path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return parseRecord(l.t, path, b)
}

// Lease reads the lease of a key whose file name is the key itself; nil if there is none.
func (l *Ledger) Lease(key string) Record {
	l.t.Helper()
	return l.Record("leases/" + key + ".json")
}

// Edit changes a JSON file of the ledger as an editor would: a new file renamed over the old.
func (l *Ledger) Edit(path string, change func(Record)) {
	l.t.Helper()
	r := l.Record(path)
	if r == nil {
		l.t.Fatalf("%s is missing", path)
	}
	change(r)
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		l.t.Fatal(err)
	}
	full := filepath.Join(l.Dir, path)
	if err := os.WriteFile(full+".new", append(b, '\n'), 0o600); err != nil {
		l.t.Fatal(err)
	}
	if err := os.Rename(full+".new", full); err != nil {
		l.t.Fatal(err)
	}
}
