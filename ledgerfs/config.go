package ledgerfs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"fslease/fslease"
)

// generationStep is how far the ceiling moves: so many generations cost one write of ledger.json.
const generationStep = 1000

// Settings of a ledger, in the object "settings" of ledger.json.
type Settings struct {
	AllowNetwork  bool   `json:"allow_network,omitempty"`
	RecordCommand string `json:"record_command,omitempty"` // full (default), name, none
	SyncGrants    bool   `json:"sync_grants,omitempty"`    // sync every grant, not only those that outlive a boot
}

// config is ledger.json.
type config struct {
	Schema   int64    `json:"schema"`
	ID       string   `json:"id"`
	Ceiling  int64    `json:"ceiling"`           // no generation above it was ever handed out
	Floor    int64    `json:"floor"`             // every generation handed out from now on is above it
	BootID   string   `json:"boot_id,omitempty"` // the boot during which grants may be unsynced; "": none ever were
	Settings Settings `json:"settings"`
}

func parseConfig(data []byte) (config, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return config{}, fmt.Errorf("not a JSON object: %w", err)
	}
	// A setting may stand beside the rest as well.
	settings := map[string]json.RawMessage{}
	if raw, ok := fields["settings"]; ok {
		if err := json.Unmarshal(raw, &settings); err != nil {
			return config{}, fmt.Errorf("settings: %w", err)
		}
	}
	for name, raw := range fields {
		switch name {
		case "schema", "id", "ceiling", "floor", "settings", "boot_id":
		default:
			settings[name] = raw
		}
	}
	var c config
	for _, f := range []struct {
		name string
		at   any
	}{{"schema", &c.Schema}, {"id", &c.ID}, {"ceiling", &c.Ceiling}, {"floor", &c.Floor}} {
		if fields[f.name] == nil {
			return config{}, fmt.Errorf("field %q is missing", f.name)
		}
		if err := json.Unmarshal(fields[f.name], f.at); err != nil {
			return config{}, fmt.Errorf("field %q: %w", f.name, err)
		}
		if c.Schema > fslease.Schema { // comes first: what else such a file has is not for us to judge
			return config{}, fslease.ErrNewerSchema
		}
	}
	if raw, ok := fields["boot_id"]; ok {
		if err := json.Unmarshal(raw, &c.BootID); err != nil {
			return config{}, fmt.Errorf("field \"boot_id\": %w", err)
		}
	}
	for name, raw := range settings {
		var err error
		switch name {
		case "allow_network":
			err = json.Unmarshal(raw, &c.Settings.AllowNetwork)
		case "sync_grants":
			err = json.Unmarshal(raw, &c.Settings.SyncGrants)
		case "record_command":
			err = json.Unmarshal(raw, &c.Settings.RecordCommand)
		default:
			return config{}, fmt.Errorf("unknown setting %q", name)
		}
		if err != nil {
			return config{}, fmt.Errorf("setting %q: %w", name, err)
		}
	}
	switch c.Settings.RecordCommand {
	case "", "full", "name", "none":
	default:
		return config{}, fmt.Errorf("setting \"record_command\" is %q, not full, name or none", c.Settings.RecordCommand)
	}
	if c.Schema < 1 || c.Floor < 0 || c.Ceiling < c.Floor || c.Ceiling > fslease.MaxNumber {
		return config{}, fmt.Errorf("schema %d, floor %d and ceiling %d do not fit together", c.Schema, c.Floor, c.Ceiling)
	}
	return c, nil
}

// lastConfig remembers what ledger.json meant: it is read at every change, and is itself changed seldom.
type lastConfig struct {
	mu     sync.Mutex
	text   []byte
	parsed config
}

func (l *lastConfig) config(text []byte) (config, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text != nil && bytes.Equal(text, l.text) {
		return l.parsed, nil
	}
	c, err := parseConfig(text)
	if err == nil {
		l.text, l.parsed = text, c
	}
	return c, err
}

func (c config) encode() []byte {
	data, err := json.Marshal(c)
	if err != nil {
		panic(err) // plain fields
	}
	return fslease.Indent(data)
}

// readConfig reads ledger.json. It fails with fs.ErrNotExist if the directory is not a ledger yet.
func (l *Ledger) readConfig() (config, error) {
	data, err := l.fsys.ReadFile(configFile)
	if errors.Is(err, fs.ErrNotExist) {
		if foreign := l.refuseForeign(); foreign != nil {
			if _, err := l.fsys.Stat(configFile); err == nil {
				return l.readConfig() // somebody made the ledger between our two looks
			}
			return config{}, foreign
		}
		return config{}, err
	}
	if err != nil {
		return config{}, l.fail(configFile, err)
	}
	c, err := l.understood.config(data)
	if err != nil {
		e := l.damaged(configFile, "", err).(*fslease.RepositoryError)
		if strings.Contains(err.Error(), "setting") {
			e.What, e.Hint = "cannot use "+e.Path, "correct the setting in that file; known are allow_network, record_command and sync_grants"
		}
		return config{}, e
	}
	return c, nil
}

// refuseForeign fails unless the directory holds nothing but what an unfinished init may have left.
func (l *Ledger) refuseForeign() error {
	names, err := l.fsys.List(".")
	if err != nil {
		return l.fail("", err)
	}
	for _, n := range names {
		if n == readmeFile || n == configLock || strings.HasPrefix(n, ".") && strings.HasSuffix(n, ".tmp") {
			continue
		}
		e := &fslease.RepositoryError{Fault: fslease.FaultLedger, Path: l.path, What: l.path + " is not a ledger: it has no " + configFile + " but contains " + strings.TrimSuffix(n, "/")}
		e.Hint = "name an empty or missing directory, or make a ledger elsewhere with lease init"
		if slices.Contains(names, leasesDir+"/") || slices.Contains(names, tombstonesDir+"/") || slices.Contains(names, locksDir+"/") {
			e.Hint = "if it was a ledger, its " + configFile + " is lost: lease doctor --repair makes one with a floor above every generation on record"
		}
		return e
	}
	return nil
}

// raiseCeiling makes a ceiling durable below which g lies, or if the floor was raised above g meanwhile the
// next one above that. It returns which it is, and the configuration. ledger.lock is the innermost lock.
func (l *Ledger) raiseCeiling(g int64) (int64, config, error) {
	c, err := l.changeConfig(func(c *config) {
		g = max(g, c.Floor+1)
		if g > c.Ceiling {
			c.Ceiling = min(g+generationStep-1, fslease.MaxNumber)
		}
	})
	return g, c, err
}

// changeConfig changes ledger.json under its lock, durably. If another one was cut short in that, it does it again.
func (l *Ledger) changeConfig(change func(*config)) (config, error) {
	lock, err := l.lockFile(configLock, true, l.opt.LockWait)
	if err != nil {
		return config{}, err
	}
	defer lock.unlock()
	c, err := l.readConfig()
	if err != nil {
		return c, err
	}
	before := c
	change(&c)
	if c == before && !l.has(configUnsynced) {
		return c, nil
	}
	return c, l.writeConfig(c)
}

// configUnsynced stands beside ledger.json from before a new one has its name until that is sure. In between everybody sees what a
// power cut may take back, and whoever wrote it may have been killed. So whoever finds it after having read ledger.json relies on
// nothing that it says: see settleBoot. It means nothing after a power cut.
const configUnsynced = ".ledger.json.unsynced"

// writeConfig writes ledger.json under its lock, durably.
func (l *Ledger) writeConfig(c config) error {
	mark := l.fsys.Link(configUnsynced, nil, false)
	if mark != nil && !errors.Is(mark, fs.ErrExist) {
		return l.fail(configUnsynced, mark)
	}
	err := l.write(configFile, c.encode(), durable)
	if err == nil || mark == nil && !unsure(err) {
		_ = l.fsys.Remove(configUnsynced) // one that stays costs the next one a write
	}
	return err
}
