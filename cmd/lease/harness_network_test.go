package main_test

import (
	wire "encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// networkLedger is a ledger on a file system of a kind that lease takes for one of the network: an empty folder behind /dev/fuse,
// which this process answers for.
func networkLedger(l *Ledger) *Ledger {
	l.t.Helper()
	l = onTmpfs(l.t.(*testing.T), "size=1m") // a mount that only this test sees
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		l.t.Skip("not run: needs fuse: ", err)
	}
	device := os.NewFile(uintptr(fd), "/dev/fuse") // reads block: it cannot be polled before it is mounted
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)
	if err := unix.Mount("fuse", l.Dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		l.t.Skip("not run: needs fuse: ", err)
	}
	l.t.Cleanup(func() {
		unix.Unmount(l.Dir, unix.MNT_DETACH|unix.MNT_FORCE)
		device.Close()
	})
	go serveEmptyFolder(device)
	return l
}

// serveEmptyFolder answers what the kernel asks of a file system, until it is unmounted.
func serveEmptyFolder(device *os.File) {
	order := wire.NativeEndian
	request := make([]byte, 1<<17)
	for {
		n, err := device.Read(request)
		if errors.Is(err, syscall.ENOENT) {
			continue // who asked was interrupted
		}
		if err != nil || n < 40 {
			return
		}
		var answer []byte
		failure := int32(0)
		switch order.Uint32(request[4:]) {
		case 2, 36, 42: // forget, interrupt: nobody waits
			continue
		case 3: // attributes: a folder
			answer = make([]byte, 104)
			order.PutUint64(answer[16:], 1)
			order.PutUint32(answer[16+60:], syscall.S_IFDIR|0o700)
			order.PutUint32(answer[16+64:], 2)
		case 17: // of the file system
			answer = make([]byte, 80)
			order.PutUint32(answer[40:], 4096)
			order.PutUint32(answer[44:], 255)
		case 26: // greeting
			answer = make([]byte, 64)
			order.PutUint32(answer, 7)
			order.PutUint32(answer[4:], 31)
			order.PutUint32(answer[20:], 1<<16)
		case 27: // open the folder
			answer = make([]byte, 16)
		case 28, 29: // read and close it: it is empty
		case 1: // look a name up
			failure = -int32(syscall.ENOENT)
		default:
			failure = -int32(syscall.ENOSYS)
		}
		reply := make([]byte, 16, 16+len(answer))
		order.PutUint32(reply, uint32(16+len(answer)))
		order.PutUint32(reply[4:], uint32(failure))
		copy(reply[8:16], request[8:16])
		if _, err := device.Write(append(reply, answer...)); err != nil && !errors.Is(err, syscall.ENOENT) {
			return
		}
	}
}
