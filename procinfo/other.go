//go:build !linux

package procinfo

// The undefined name is what the compiler prints.
var _ = fslease_needs_linux_for_proc_and_pidfds
