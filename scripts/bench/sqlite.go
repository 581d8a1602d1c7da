//go:build sqlite

package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/mattn/go-sqlite3"
)

func init() {
	contestants[sqliteNormal] = func(dir string) (contestant, error) { return sqlite(dir, "NORMAL") }
	contestants[sqliteFull] = func(dir string) (contestant, error) { return sqlite(dir, "FULL") }
}

// sqlite does a lease's work as compare-and-swap in BEGIN IMMEDIATE, on a database in WAL mode: the same records of the
// same size, a look at what overlaps, a tombstone, a line of history. The connection stays open and its statements are
// prepared, as a program would keep them. With synchronous=FULL every commit is on the disk before it returns; with NORMAL
// none need be until the next checkpoint, so a power cut takes back the last ones, and with them generations that were
// handed out.
func sqlite(dir, synchronous string) (contestant, error) {
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "db")+"?_journal_mode=WAL&_busy_timeout=10000&_synchronous="+synchronous)
	if err != nil {
		return contestant{}, err
	}
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		return contestant{}, err
	}
	s := &sqlStore{ctx: ctx, conn: conn, record: strings.Repeat(".", 600)}
	for _, table := range []string{
		"leases (key TEXT PRIMARY KEY, generation INTEGER, revision INTEGER, record TEXT) WITHOUT ROWID",
		"tombstones (key TEXT PRIMARY KEY, generation INTEGER, revision INTEGER, record TEXT) WITHOUT ROWID",
		"journal (at INTEGER, line TEXT)",
	} {
		s.exec("CREATE TABLE IF NOT EXISTS " + table)
	}
	if s.err != nil {
		return contestant{}, s.err
	}
	return contestant{
		acquire: s.acquire,
		await: func() error {
			for {
				if err := s.acquire(); err != errHeld {
					return err
				}
				time.Sleep(time.Millisecond)
			}
		},
		release: s.release, renew: s.renew, check: s.check,
		close: db.Close,
	}, nil
}

// A sqlStore keeps the first error; after it nothing is done.
type sqlStore struct {
	ctx        context.Context
	conn       *sql.Conn
	statements map[string]*sql.Stmt
	record     string
	generation int64
	err        error
}

func (s *sqlStore) prepared(query string) *sql.Stmt {
	if st := s.statements[query]; st != nil || s.err != nil {
		return st
	}
	if s.statements == nil {
		s.statements = map[string]*sql.Stmt{}
	}
	s.statements[query], s.err = s.conn.PrepareContext(s.ctx, query)
	return s.statements[query]
}

// exec runs a statement and returns how many rows it changed.
func (s *sqlStore) exec(query string, args ...any) int64 {
	st := s.prepared(query)
	if s.err != nil {
		return 0
	}
	result, err := st.Exec(args...)
	if s.err = err; err != nil {
		return 0
	}
	n, _ := result.RowsAffected()
	return n
}

// number reads one integer, 0 if there is no row.
func (s *sqlStore) number(query string, args ...any) int64 {
	st := s.prepared(query)
	if s.err != nil {
		return 0
	}
	var n int64
	if err := st.QueryRow(args...).Scan(&n); err != nil && err != sql.ErrNoRows {
		s.err = err
	}
	return n
}

// update does do in a transaction.
func (s *sqlStore) update(do func() error) error {
	s.exec("BEGIN IMMEDIATE")
	refused := do()
	if s.err == nil && refused == nil {
		s.exec("COMMIT")
		return s.err
	}
	err := s.err
	s.err = nil
	s.exec("ROLLBACK")
	if err != nil {
		return err
	}
	return refused
}

func (s *sqlStore) acquire() error {
	return s.update(func() error {
		held := s.number("SELECT count(*) FROM leases WHERE key = 'k' OR key >= 'k/' AND key < 'k0'")
		if held > 0 {
			return errHeld
		}
		s.generation = s.number("SELECT generation FROM tombstones WHERE key = 'k'") + 1
		s.exec("INSERT INTO leases VALUES ('k', ?, 1, ?)", s.generation, s.record)
		s.exec("INSERT INTO journal VALUES (?, ?)", time.Now().UnixMilli(), s.record[:140])
		return nil
	})
}

// current refuses if the lease is not this store's any more.
func (s *sqlStore) current() error {
	if g := s.number("SELECT generation FROM leases WHERE key = 'k'"); s.err == nil && g != s.generation {
		return fmt.Errorf("generation %d is not current, but %d", s.generation, g)
	}
	return nil
}

func (s *sqlStore) release() error {
	return s.update(func() error {
		if err := s.current(); err != nil {
			return err
		}
		s.exec("INSERT OR REPLACE INTO tombstones VALUES ('k', ?, 1, ?)", s.generation, s.record)
		s.exec("DELETE FROM leases WHERE key = 'k'")
		s.exec("INSERT INTO journal VALUES (?, ?)", time.Now().UnixMilli(), s.record[:140])
		return nil
	})
}

func (s *sqlStore) renew() error {
	return s.update(func() error {
		if n := s.exec("UPDATE leases SET revision = revision + 1, record = ? WHERE key = 'k' AND generation = ?", s.record, s.generation); n != 1 {
			return fmt.Errorf("%d rows were renewed", n)
		}
		return nil
	})
}

func (s *sqlStore) check() error {
	if err := s.current(); err != nil {
		return err
	}
	return s.err
}
