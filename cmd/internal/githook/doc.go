// Package githook is the git side of lease: what a commit or a push changes, whether that lies in a key
// that somebody else holds, and how the hooks get into a repository and out of it again.
//
// The file api/handler.go is the key repo/api/handler.go; the first segment is git's lease.prefix.
// pre-commit looks at what is staged, pre-push at every commit that is about to be pushed. Git runs
// pre-commit neither for a clean merge nor for cherry-pick, revert, rebase and am: pre-push is the net.
// prepare-commit-msg runs even under --no-verify and reports, never refuses, what pre-commit would have
// refused.
//
// What is not promised: a hook is advice to the person who commits. Git lets everybody pass it, and a
// repository without the hooks asks nobody.
//
// The package knows no ledger: it asks one through Ledger. It prints nothing and never exits.
package githook
