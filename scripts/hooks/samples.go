// Package hooks holds the lines that make other hook managers call lease. They lie here as files to copy;
// lease hook install prints them where it finds such a manager at work.
package hooks

import "embed"

// Samples are the files of this directory.
//
//go:embed pre-commit pre-push prepare-commit-msg lefthook.yml pre-commit-config.yaml
var Samples embed.FS
