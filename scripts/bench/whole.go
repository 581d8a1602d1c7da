package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// missing says why a peer is not measured; "" if it is.
func (b *bench) missing(peer string) string {
	if b.onlyOurs && peer != "flock" {
		return "--only-ours"
	}
	if _, err := exec.LookPath(peer); err != nil {
		return peer + " is not installed"
	}
	return ""
}

// startup compares what a program costs that does nothing.
func startup(b *bench) error {
	bare, err := b.command(nil, b.binary("minimal"))
	if err != nil {
		return err
	}
	tagged, err := b.command(nil, b.binary("lease"), "--version")
	if err != nil {
		return err
	}
	plain, err := b.command(nil, b.binary("lease-plain"), "--version")
	if err != nil {
		return err
	}
	took, err := race(b.times(400, 1), bare.once, tagged.once, plain.once)
	if err != nil {
		return err
	}
	b.add(row{figure: "lease --version", ours: took[1], peer: "a Go program that does nothing", theirs: took[0]})
	b.add(row{figure: "the same of a plain go build, without the tag", ours: took[2], peer: "with it", theirs: took[1]})
	sizes := make([]series, 2)
	for i, name := range []string{"lease", "lease-plain"} {
		info, err := os.Stat(b.binary(name))
		if err != nil {
			return err
		}
		sizes[i] = series{float64(info.Size())}
	}
	b.add(row{figure: "size of a plain go build", ours: sizes[1], peer: "with the tag", theirs: sizes[0], in: size})
	return nil
}

// wholeCommands compares a short command under a lease with the same under what else there is.
func wholeCommands(b *bench) error {
	for _, p := range b.places {
		if err := b.shortCommands(p); err != nil {
			return err
		}
	}
	if err := b.besideSem(); err != nil {
		return err
	}
	return b.besideEtcd()
}

// run is the command that is measured, on a ledger in dir.
func (b *bench) run(binary, dir, key string) (*command, error) {
	return b.command([]string{"LEASE_LEDGER=" + filepath.Join(dir, "ledger")}, b.binary(binary), "run", key, "--", "true")
}

// shortCommands compares with what takes a few milliseconds.
func (b *bench) shortCommands(p place) error {
	dir, err := p.folder()
	if err != nil {
		return err
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	plain, err := p.folder()
	if err != nil {
		return err
	}
	names := []string{"lease", "plain", "true", "minimal"}
	commands := map[string][]string{"true": {"true"}, "minimal": {b.binary("minimal"), dir, "k", "true"}}
	for _, peer := range []string{"flock", "setlock"} {
		if b.missing(peer) == "" {
			names = append(names, peer)
			commands[peer] = []string{peer, file(peer), "true"}
		}
	}
	var runs []func() (time.Duration, error)
	var started []*command
	for _, name := range names {
		c, err := b.run("lease", dir, "k")
		switch {
		case name == "plain":
			c, err = b.run("lease-plain", plain, "k")
		case name != "lease":
			c, err = b.command(nil, commands[name]...)
		}
		if err != nil {
			return err
		}
		runs, started = append(runs, c.once), append(started, c)
	}
	all, err := race(b.times(400, 1), runs...)
	if err != nil {
		return err
	}
	took, used := map[string]series{}, map[string]series{}
	for i, name := range names {
		took[name], used[name] = all[i], started[i].cpu
	}
	title := "lease run k -- true, " + p.name
	byHand := "by hand: only the file work and the spawn, in Go"
	b.add(row{figure: title, ours: took["lease"], peer: "flock f true", theirs: took["flock"], floor: 2.2, aim: 1.7, notRun: b.missing("flock")})
	b.add(row{figure: "the CPU time that it takes, " + p.name, ours: used["lease"], peer: "flock f true", theirs: used["flock"], notRun: b.missing("flock")})
	b.add(row{figure: byHand + ", " + p.name, ours: took["minimal"], peer: "flock f true", theirs: took["flock"], notRun: b.missing("flock")})
	b.add(row{figure: title, ours: took["lease"], peer: "setlock f true", theirs: took["setlock"], notRun: b.missing("setlock")})
	b.add(row{figure: title, ours: took["lease"], peer: byHand, theirs: took["minimal"]})
	b.add(row{figure: title, ours: took["lease"], peer: "true", theirs: took["true"]})
	b.add(row{figure: title + ", plain go build", ours: took["plain"], peer: "with the tag", theirs: took["lease"]})
	return nil
}

// beside compares with a slower peer, everything on disk.
func (b *bench) beside(theirs *command, rounds int, r row) error {
	dir, err := b.disk().folder()
	if err != nil {
		return err
	}
	ours, err := b.run("lease", dir, "k")
	if err != nil {
		return err
	}
	took, err := race(rounds, ours.once, theirs.once)
	if err != nil {
		return err
	}
	r.figure, r.ours, r.theirs, r.faster = "lease run k -- true, disk", took[0], took[1], true
	b.add(r)
	if r.peer != etcdLock { // most of that is the server's
		b.add(row{figure: "the CPU time that it takes, disk", ours: ours.cpu, peer: r.peer, theirs: theirs.cpu, faster: true})
	}
	return nil
}

func (b *bench) besideSem() error {
	r := row{figure: "lease run k -- true, disk", peer: "sem --fg --id k true", floor: 20, aim: 40, notRun: b.missing("sem")}
	if r.notRun != "" {
		b.add(r)
		return nil
	}
	dir, err := b.disk().folder()
	if err != nil {
		return err
	}
	theirs, err := b.command([]string{"HOME=" + dir, "PARALLEL_HOME=" + dir}, "sem", "--fg", "--id", "k", "true")
	if err != nil {
		return err
	}
	return b.beside(theirs, b.times(20, 1), r)
}

const etcdLock = "etcdctl lock k true"

// besideEtcd compares with an etcd that it starts on loopback, with its data on disk.
func (b *bench) besideEtcd() error {
	r := row{figure: "lease run k -- true, disk", peer: etcdLock, floor: 4, aim: 8, notRun: b.missing("etcdctl")}
	if r.notRun == "" {
		r.notRun = b.missing("etcd")
	}
	if r.notRun != "" {
		b.add(r)
		return nil
	}
	endpoint, stop, err := b.etcd()
	if err != nil {
		return err
	}
	defer stop()
	theirs, err := b.command([]string{"ETCDCTL_API=3"}, "etcdctl", "--endpoints", endpoint, "lock", "k", "true")
	if err != nil {
		return err
	}
	if err := until("etcd answers", func() bool { _, err := theirs.once(); return err == nil }); err != nil {
		return err
	}
	return b.beside(theirs, b.times(100, 1), r)
}
