package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// A filling is what a ledger is full of: the files that it has of each thing, nil for an empty one. In their names and in
// their contents number stands for the thing's own.
type filling struct {
	name  string
	files func(seed fslease.Record) map[string]json.Marshaler
}

const number = "NUMBER"

var fillings = []filling{
	{"keys held", func(seed fslease.Record) map[string]json.Marshaler {
		seed.Key = "task:NUMBER"
		return map[string]json.Marshaler{"leases/task:NUMBER.json": seed, "locks/task:NUMBER.lock": nil, "locks/task:NUMBER.fence": nil}
	}},
	{"tombstones", func(seed fslease.Record) map[string]json.Marshaler {
		t := fslease.Tombstone{Key: "task:NUMBER", Generation: 1, Revision: 2, ReleasedAt: seed.AcquiredAt, Reason: fslease.ReasonReleased, LastHolder: seed.Holder}
		return map[string]json.Marshaler{"tombstones/task:NUMBER.json": t, "locks/task:NUMBER.lock": nil, "locks/task:NUMBER.fence": nil}
	}},
	{"tickets DONE", func(seed fslease.Record) map[string]json.Marshaler {
		at := seed.AcquiredAt
		return map[string]json.Marshaler{
			"tickets/NUMBER.json": fslease.Ticket{
				ID: "NUMBER", Title: "Work on it", Status: fslease.Done, Scope: []fslease.Key{"repo/NUMBER"}, Session: 1, CreatedAt: at, UpdatedAt: at,
				History: []fslease.Move{{At: at, From: fslease.InProgress, To: fslease.Done, By: "bench"}},
			},
			"sessions/NUMBER/1.json": fslease.Session{
				Ticket: "NUMBER", Generation: 1, Status: fslease.SessionEnded, StartedAt: at, LeaseUntil: at, Lease: fslease.DefaultSession,
			},
			"tombstones/ticket:NUMBER.json": fslease.Tombstone{
				Key: fslease.TicketKey("NUMBER"), Generation: 1, Revision: 2, ReleasedAt: at, Reason: fslease.ReasonReleased,
				LastHolder: fslease.Holder{Kind: fslease.KindTicket, Ticket: "NUMBER", Session: 1},
			},
			"locks/ticket:NUMBER.lock": nil,
		}
	}},
}

// fill puts n things into the ledger at dir: the files that commands would leave behind, but nobody waits for the disk.
func (f filling) fill(dir string, n int, seed fslease.Record) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // nothing else goes on, and no other thread need take over at each system call
	for name, record := range f.files(seed) {
		var content string
		if record != nil {
			data, err := record.MarshalJSON()
			if err != nil {
				return err
			}
			content = string(fslease.Indent(data))
		}
		path := filepath.Join(dir, name)
		ofEach := strings.Contains(filepath.Dir(name), number) // a folder for each
		if !ofEach {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
		}
		for i := range n {
			id := strconv.Itoa(i)
			path := strings.ReplaceAll(path, number, id)
			if ofEach {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					return err
				}
			}
			if err := write(path, strings.ReplaceAll(content, number, id)); err != nil {
				return &os.PathError{Op: "write", Path: path, Err: err}
			}
		}
	}
	return nil
}

// write makes a file, with as few system calls as that takes.
func write(path, content string) error {
	if content == "" {
		return unix.Mknod(path, unix.S_IFREG|0o600, 0)
	}
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	if _, err := unix.Write(fd, []byte(content)); err != nil {
		_ = unix.Close(fd)
		return err
	}
	return unix.Close(fd)
}
