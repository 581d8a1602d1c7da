package kit

import "os"

// InMemory moves the directory of the run into memory, for parts that break no disk, so that nobody waits for one;
// where there is none it stays. Call what it returns in the end.
func (t *T) InMemory() (remove func()) {
	dir, err := os.MkdirTemp("/dev/shm", "lease-torture-"+t.Part.Name+"-")
	if err != nil {
		return func() {}
	}
	_ = os.Chmod(dir, 0o755) // other users run the command in it
	t.Dir = dir
	return func() { _ = os.RemoveAll(dir) }
}
