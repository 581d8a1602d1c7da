// Command lease is a lock for shell scripts, git hooks and people that survives a worker that dies.
package main

import (
	"os"

	"fslease/cmd/internal/cli"
	_ "fslease/cmd/internal/uniproc"
)

func main() { os.Exit(cli.Run(os.Args[1:])) }
