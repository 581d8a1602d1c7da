// Command minimal does by hand, and with nothing else, what has to be done to files and processes for a command under a
// lease: it is what a Go program costs that holds a key by the same means. It judges nobody, waits for nobody, checks
// nothing, and has neither command line nor messages.
//
//	minimal LEDGER KEY COMMAND [ARG...]
//
// Without arguments it ends at once.
package main

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func main() {
	if len(os.Args) < 4 {
		return
	}
	ledger, key, argv := os.Args[1], os.Args[2], os.Args[3:]
	_ = os.Chdir(ledger)
	for _, dir := range []string{"locks", "leases", "tombstones", "holders", "journal"} {
		_ = syscall.Mkdir(dir, 0o700) // the first run makes them
	}
	record := make([]byte, 700)
	for i := range record {
		record[i] = '.'
	}
	id := "holders/" + key

	// Be known.
	holder := open(id+".tmp", syscall.O_RDWR|syscall.O_CREAT)
	lock(holder)
	write(holder, record)
	must(syscall.Rename(id+".tmp", id+".json"))

	// Take the key.
	key1 := open("locks/"+key+".lock", syscall.O_RDONLY|syscall.O_CREAT)
	lock(key1)
	read("ledger.json")
	read("leases/" + key + ".json")
	read("tombstones/" + key + ".json")
	save("leases/"+key+".json", record)
	note(record)
	fence := open("locks/"+key+".fence", syscall.O_RDONLY|syscall.O_CREAT)
	lock(fence)
	must(syscall.Close(key1))

	// Run the command.
	path, err := exec.LookPath(argv[0])
	must(err)
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2, uintptr(fence)}})
	must(err)
	save(id+".command.json", record)
	var status syscall.WaitStatus
	for {
		if _, err = syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			break
		}
	}
	must(err)

	// Give it back.
	must(syscall.Flock(fence, syscall.LOCK_UN))
	key2 := open("locks/"+key+".lock", syscall.O_RDONLY)
	lock(key2)
	read("leases/" + key + ".json")
	save("tombstones/"+key+".json", record)
	must(syscall.Unlink("leases/" + key + ".json"))
	note(record)
	must(syscall.Close(key2))
	must(syscall.Unlink(id + ".command.json"))
	must(syscall.Unlink(id + ".json"))
	os.Exit(status.ExitStatus())
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func open(name string, flags int) int {
	fd, err := syscall.Open(name, flags|syscall.O_CLOEXEC, 0o600)
	must(err)
	return fd
}

func lock(fd int) { must(syscall.Flock(fd, syscall.LOCK_EX)) }

func write(fd int, data []byte) {
	_, err := syscall.Write(fd, data)
	must(err)
}

// read reads a file that need not exist.
func read(name string) {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err == syscall.ENOENT {
		return
	}
	must(err)
	_, err = syscall.Read(fd, make([]byte, 4096))
	must(err)
	must(syscall.Close(fd))
}

// save replaces a file as a whole. It changes places with one that is there: some file systems begin to write what is
// renamed over another file.
func save(name string, data []byte) {
	fd := open(name+".tmp", syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC)
	write(fd, data)
	must(syscall.Close(fd))
	if unix.Renameat2(unix.AT_FDCWD, name+".tmp", unix.AT_FDCWD, name, unix.RENAME_EXCHANGE) == nil {
		must(syscall.Unlink(name + ".tmp"))
		return
	}
	must(syscall.Rename(name+".tmp", name))
}

// note adds a line to the journal.
func note(data []byte) {
	fd := open("journal/all.jsonl", syscall.O_WRONLY|syscall.O_CREAT|syscall.O_APPEND)
	write(fd, data[:150])
	must(syscall.Close(fd))
}
