// Package sigquit takes SIGQUIT back from Go's runtime, which would print a stack of every goroutine and exit with 2. It
// imports nothing, so that it is initialised before nearly everything else. Package child settles the rest.
//
// It does so where a handler of ours is there to catch the signal later, on amd64 and arm64. Elsewhere package os/signal
// does that, which takes for granted that the runtime's handler is still in place.
package sigquit
