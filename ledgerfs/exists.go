package ledgerfs

import (
	"errors"
	"io/fs"
)

// Exists reports whether there is a ledger at the path, or not yet. A directory that is something else, and
// a ledger.json that cannot be used, are errors: then nobody knows what is held.
func (l *Ledger) Exists() (bool, error) {
	err := l.attach()
	if err == nil {
		_, err = l.readConfig()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
