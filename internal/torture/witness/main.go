// Command witness is the work that runs under leases in the torture harness: it says when it ran and under which tokens, and
// whether it met other work that should not run at the same time.
//
//	witness DIR ID DURATION [heed|go-on]
//
// With a fourth word it notes that it was told to end by TERM, and then does so or not.
// It takes locks of its own, beside those under test: one on a file of each key in LEASE_KEYS, shared ones on those of the
// keys above. What it sees are lines in DIR/log: start, told, end and clash, each with CLOCK_MONOTONIC and its ID.
package main

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	if len(os.Args) < 4 {
		os.Exit(2)
	}
	told := make(chan os.Signal, 10)
	if len(os.Args) > 4 {
		signal.Notify(told, unix.SIGTERM)
	}
	dir, id := os.Args[1], os.Args[2]
	rest, err := time.ParseDuration(os.Args[3])
	if err != nil {
		os.Exit(2)
	}
	log, err := unix.Open(dir+"/log", unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT|unix.O_CLOEXEC, 0o666)
	if err != nil {
		os.Exit(3)
	}
	say := func(what, more string) {
		line := what + " " + strconv.FormatInt(now(), 10) + " " + id + " " + more + "\n"
		if n, err := unix.Write(log, []byte(line)); err != nil || n != len(line) {
			os.Exit(3)
		}
	}
	keys := os.Getenv("LEASE_KEYS")
	for held := range strings.FieldsSeq(keys) {
		key, _, _ := strings.Cut(held, "=")
		if !alone(dir, key) {
			say("clash", held)
		}
	}
	say("start", keys)
	for ends := time.After(rest); ; {
		select {
		case <-told:
			say("told", "")
			if os.Args[4] == "heed" {
				return
			}
		case <-ends:
			say("end", "")
			return
		}
	}
}

// alone reports whether no other witness works at, above or below key. It stays so while this process lives.
func alone(dir, key string) bool {
	for i := range len(key) {
		if key[i] == '/' && !lock(dir, key[:i], unix.LOCK_SH) {
			return false
		}
	}
	return lock(dir, key, unix.LOCK_EX)
}

func lock(dir, key string, how int) bool {
	fd, err := unix.Open(dir+"/"+strings.ReplaceAll(key, "/", "%2F")+".busy", unix.O_RDONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o666)
	return err == nil && unix.Flock(fd, how|unix.LOCK_NB) == nil
}

func now() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // cannot fail for this clock
	return ts.Nano()
}
