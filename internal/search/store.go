package search

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/vfs"
)

// format is the version of the tables; an index of another one is built anew.
const format = 2

// applicationID marks the file as ours: "post".
const applicationID = 0x706f7374

// Index is one office's index, opened. It belongs to one goroutine.
type Index struct {
	Office   *office.Office
	Registry *registry.Registry
	// Progress is called now and then while the index takes in what is new: how
	// many bytes of the journal of how many. Nil is nobody.
	Progress func(done, total int64)
	// Waiting is called now and then while another process writes to the index.
	Waiting func()

	dir     string
	path    string
	db      *sql.DB
	rebuilt string // why this index was begun anew, "" if it was not
}

// Dir is where the index of an office is kept below the user's state directory:
// by the office's id and its directory's inode, so that a copy has its own.
func Dir(state string, o *office.Office) string {
	key := o.Config.ID + "\n"
	if fi, err := o.FS.Lstat("."); err == nil {
		if dev, ino, ok := vfs.Inode(fi); ok {
			key += fmt.Sprintf("%d:%d", dev, ino)
		} else {
			key += o.Dir
		}
	}
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(state, "search", hex.EncodeToString(sum[:12]))
}

// Open opens or begins the index in dir. It takes nothing in: see Update.
func Open(ctx context.Context, dir string, o *office.Office, reg *registry.Registry) (*Index, error) {
	x := &Index{Office: o, Registry: reg, dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, storeError(dir, err)
	}
	return x, x.settle(ctx)
}

// mostTries bounds how often an index that others begin anew is opened again.
const mostTries = 16

// settle opens the newest file, or begins one. Somebody may take it away at any
// moment because a newer one is there: then it is that one.
func (x *Index) settle(ctx context.Context) (err error) {
	for range mostTries {
		var n int
		var why string
		n, why, err = x.openNewest(ctx)
		if err == nil && x.db == nil {
			x.rebuilt = why
			err = x.begin(ctx, n)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return err
}

// openNewest opens the newest file, if there is one and it is sound.
func (x *Index) openNewest(ctx context.Context) (n int, why string, err error) {
	if n, err = x.generation(); err != nil {
		return n, "", storeError(x.dir, err)
	}
	if n > 0 {
		why, err = x.open(ctx, n)
	}
	return n, why, err
}

// Rebuilt says why the index was begun anew, "" if it was not.
func (x *Index) Rebuilt() string { return x.rebuilt }

// Path is the index's file.
func (x *Index) Path() string { return x.path }

// Close closes the index.
func (x *Index) Close() error {
	if x.db == nil {
		return nil
	}
	return x.db.Close()
}

const suffix = ".db"

// generation is the number of the newest file, 0 if there is none. An index that
// is begun anew gets a new name: others may have the old one open.
func (x *Index) generation() (int, error) {
	entries, err := os.ReadDir(x.dir)
	last := 0
	for _, e := range entries {
		text, ok := strings.CutSuffix(e.Name(), suffix)
		if n, err := strconv.Atoi(text); ok && err == nil && n > last {
			last = n
		}
	}
	return last, err
}

func (x *Index) file(n int) string { return filepath.Join(x.dir, strconv.Itoa(n)+suffix) }

// open opens a file and says why it is not to be used. fs.ErrNotExist: it is not
// there, or not any more. One that is open stays so, whoever removes it.
func (x *Index) open(ctx context.Context, n int) (why string, err error) {
	path := x.file(n)
	fi, err := os.Lstat(path)
	switch {
	case err != nil:
		return "", storeError(path, err)
	case !fi.Mode().IsRegular() || fi.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows":
		return "its file is not ours alone", nil
	}
	if err := x.connect(path); err != nil {
		return "", err
	}
	why, err = x.examine(ctx)
	if why != "" || err != nil {
		x.db.Close()
		x.db = nil
	}
	if _, gone := os.Lstat(path); err != nil && errors.Is(gone, fs.ErrNotExist) {
		return "", storeError(path, gone) // SQLite has many words for that
	}
	return why, err
}

// examine reads what every index says of itself.
func (x *Index) examine(ctx context.Context) (why string, err error) {
	var app, version int
	var id string
	row := x.db.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version)`)
	if err = row.Scan(&app, &version); err == nil && app == applicationID && version == format {
		err = x.db.QueryRowContext(ctx, `SELECT office FROM meta`).Scan(&id)
	}
	switch {
	case unsound(err):
		return "it was damaged", nil
	case err != nil:
		return "", storeError(x.path, err)
	case app != applicationID:
		return "its file is no search index", nil
	case version != format:
		return fmt.Sprintf("it has format %d, and this program's is %d", version, format), nil
	case id != x.Office.Config.ID:
		return "it is another office's", nil
	}
	return "", nil
}

// begin makes a new file behind generation n and removes the older ones.
// fs.ErrNotExist: there is a newer one already.
func (x *Index) begin(ctx context.Context, n int) error {
	if x.db != nil {
		x.db.Close()
		x.db = nil
	}
	// Whole before it has its name: nobody opens half a schema.
	tmp, err := os.CreateTemp(x.dir, ".tmp-*") // 0600
	if err != nil {
		return storeError(x.dir, err)
	}
	tmp.Close()
	defer removeAll(tmp.Name())
	if err := x.create(ctx, tmp.Name()); err != nil {
		return err
	}
	for {
		err := os.Link(tmp.Name(), x.file(n+1))
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return storeError(x.dir, err)
		}
		// Somebody else began one a moment ago: that one will do, if it is sound.
		if why, oerr := x.open(ctx, n+1); oerr != nil || why == "" {
			return oerr
		}
		n++
	}
	for old := n; old > 0 && old > n-8; old-- {
		removeAll(x.file(old))
	}
	why, err := x.open(ctx, n+1)
	if err == nil && why != "" {
		err = storeError(x.file(n+1), errors.New("it was made anew, and yet "+why))
	}
	return err
}

func removeAll(path string) {
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		os.Remove(path + end)
	}
}

func (x *Index) connect(path string) error {
	// Readers wait for who recovers or closes the log; writers go on waiting by
	// themselves, see patiently.
	q := url.Values{"mode": {"rw"}, "_txlock": {"immediate"}, "_pragma": {"busy_timeout(3000)", "synchronous(NORMAL)",
		"cell_size_check(1)", "trusted_schema(0)", "cache_size(-8000)", "temp_store(MEMORY)"}}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return storeError(path, err)
	}
	db.SetMaxOpenConns(1)
	x.db, x.path = db, path
	return nil
}

func (x *Index) create(ctx context.Context, path string) error {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=rw"}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return storeError(path, err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err = db.ExecContext(ctx, schema()); err == nil {
		_, err = db.ExecContext(ctx, `INSERT INTO meta (office) VALUES (?)`, x.Office.Config.ID)
	}
	if err != nil {
		return storeError(path, err)
	}
	return nil
}

// restart throws the index away and begins it anew.
func (x *Index) restart(ctx context.Context, why string) error {
	x.rebuilt = why
	n, err := x.generation()
	if err != nil {
		return storeError(x.dir, err)
	}
	if err = x.begin(ctx, n); errors.Is(err, fs.ErrNotExist) {
		return x.settle(ctx)
	}
	return err
}

// Rebuild throws the index away and begins it anew, because a person said so.
func (x *Index) Rebuild(ctx context.Context) error { return x.restart(ctx, "you asked for it") }

func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// corrupt reports whether SQLite found the file itself unsound.
func corrupt(err error) bool {
	return slices.Contains([]int{sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}, code(err))
}

// unsound is corrupt, or the tables are not those that they should be: for
// statements that hold nothing of a query.
func unsound(err error) bool {
	return corrupt(err) || code(err) == sqlite3.SQLITE_ERROR || errors.Is(err, sql.ErrNoRows)
}

func busy(err error) bool {
	return slices.Contains([]int{sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}, code(err))
}

func storeError(path string, err error) error {
	kind, hint := mail.KindStore, "the index is only a cache: delete "+filepath.Dir(path)+", or make room, and search again"
	if errors.Is(err, fs.ErrPermission) || code(err) == sqlite3.SQLITE_READONLY || code(err) == sqlite3.SQLITE_CANTOPEN {
		hint = "set XDG_STATE_HOME to a directory you can write"
	}
	if errors.Is(err, context.Canceled) {
		hint = "search again: it goes on where it was"
	}
	return &mail.Error{Op: "search index", Kind: kind, Addr: path, Err: err, Hint: hint}
}

// patiently runs fn in one transaction, waiting for other writers.
func (x *Index) patiently(ctx context.Context, fn func(*sql.Tx) error) error {
	for told := time.Now(); ; {
		tx, err := x.db.BeginTx(ctx, nil)
		if err == nil {
			if err = fn(tx); err == nil {
				err = tx.Commit()
			} else {
				tx.Rollback()
			}
		}
		if !busy(err) {
			return err
		}
		if x.Waiting != nil && time.Since(told) > time.Second {
			x.Waiting()
			told = time.Now().Add(4 * time.Second)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}
