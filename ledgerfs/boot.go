package ledgerfs

import (
	"errors"
	"path"
	"strings"

	"fslease/fslease"
)

// settleBoot says whether grants to processes may go unsynced on this boot (lax). They may on a local file
// system, if the boot id is the kernel's own: then the first change of each boot moves the floor above
// every generation that the boot before may have granted and a power cut may have lost, and sets aside the
// records that it tore. Where that cannot be told although earlier grants may have gone unsynced, it is
// not sure that what is on record is all that was granted. c, which was just read, is changed to what holds afterwards, and is sure
// to be on the disk.
func (l *Ledger) settleBoot(c *config) (lax, sure bool, err error) {
	self, err := l.who()
	if err != nil {
		return false, false, l.failSelf(err)
	}
	if l.has(configUnsynced) {
		if *c, err = l.changeConfig(func(*config) {}); err != nil {
			return false, false, err
		}
	}
	known := l.mendsAtBoot()
	if known && c.BootID != self.BootID {
		var torn error
		*c, err = l.changeConfig(func(c *config) {
			if c.BootID == self.BootID {
				return // somebody else did
			}
			if c.BootID != "" {
				if torn = l.setTornAside(); torn != nil {
					return
				}
				c.Floor = c.Ceiling
			}
			c.BootID = self.BootID
		})
		if err := errors.Join(torn, err); err != nil {
			return false, false, err
		}
	}
	return known && !c.Settings.SyncGrants, known || c.BootID == "", nil
}

// mendsAtBoot reports whether what a power cut tears is set aside in the next boot. Where it is not, even
// notes are synced.
func (l *Ledger) mendsAtBoot() bool {
	self, err := l.who()
	return err == nil && self.BootIDGenuine && l.local()
}

// setTornAside sets aside every lease, tombstone and note of a command that a power cut left damaged. Nobody
// writes meanwhile: every change on this boot comes after this one. The commands of earlier boots have ended.
func (l *Ledger) setTornAside() error {
	r := &reader{l: l}
	for _, folder := range []string{leasesDir, tombstonesDir, holdersDir, orphansDir} {
		err := r.walkFiles(folder, func(name string) error {
			err := r.parses(folder, name)
			if !isDamaged(err) || l.kind(name) != "" {
				return err
			}
			_, err = l.setAside(name)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// parses reads a record or note for its form alone.
func (r *reader) parses(folder, name string) (err error) {
	switch {
	case folder == leasesDir:
		_, err = r.load(name, keyFromPath(name), &fslease.Record{})
	case folder == tombstonesDir:
		_, err = r.load(name, keyFromPath(name), &fslease.Tombstone{})
	case folder == orphansDir, strings.HasSuffix(name, commandSuffix): // of a liveness file only the lock counts
		_, err = r.l.readNote(name)
	}
	return err
}

// setAside renames a damaged file so that it is kept, but no record any more.
func (l *Ledger) setAside(name string) (string, error) {
	dir, base := path.Split(name)
	aside := dir + "." + base + ".damaged-" + newID()[:8]
	return aside, l.fail(name, l.fsys.Rename(name, aside))
}

func isDamaged(err error) bool {
	var re *fslease.RepositoryError
	return errors.As(err, &re) && re.Fault == fslease.FaultDamaged && !strings.HasSuffix(re.Path, configFile)
}
