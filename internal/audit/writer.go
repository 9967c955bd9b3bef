package audit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/vfs"
)

// perCommit bounds how many files one commit takes; what is over goes into the
// next one, so that a huge backlog is kept as it gets done.
const perCommit = 20_000

// writer feeds one `git fast-import`, which is started with the first change.
type writer struct {
	a      *Audit
	g      *git
	parent context.Context
	head   journal.Head
	at     time.Time
	tip    string

	cmd     *exec.Cmd
	said    *report
	ctx     context.Context
	cancel  context.CancelCauseFunc
	dog     *time.Timer
	pipe    io.WriteCloser
	out     *bufio.Writer
	err     error // the first failed write
	inside  int   // files in the commit under way
	changed int
	removed int
}

func (w *writer) start() error {
	w.ctx, w.cancel = context.WithCancelCause(w.parent)
	w.cmd, w.said = w.g.command(w.ctx, "fast-import", "--quiet", "--done", "--date-format=raw")
	var err error
	if w.pipe, err = w.cmd.StdinPipe(); err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		err = w.g.failure(w.ctx, "fast-import", err, w.said)
		w.cmd = nil
		return err
	}
	w.dog = watchdog(w.a.stall(), w.cancel)
	w.out = bufio.NewWriterSize(w, 64<<10)
	return w.begin()
}

// Write hands bytes to git; each that gets through is progress.
func (w *writer) Write(p []byte) (int, error) {
	n, err := w.pipe.Write(p)
	w.dog.Reset(w.a.stall())
	if err != nil && w.err == nil {
		w.err = err
	}
	return n, err
}

// begin opens a commit.
func (w *writer) begin() error {
	text := fmt.Sprintf("Audit of %s\n\nJournal-Head: %d %s\nTool: %s\n", w.a.OfficeID, w.head.N, w.head.Hash, w.a.Version)
	fmt.Fprintf(w.out, "commit %s\ncommitter postroom <postroom@%s> %d +0000\ndata %d\n%s\n", ref, w.a.OfficeID, w.at.Unix(), len(text), text)
	if w.tip != "" {
		fmt.Fprintf(w.out, "from %s\n", w.tip)
		w.tip = ""
	}
	w.inside = 0
	return w.err
}

// next makes room for one more change.
func (w *writer) next() error {
	if w.cmd == nil {
		return w.start()
	}
	if w.inside < perCommit {
		w.inside++
		return w.err
	}
	io.WriteString(w.out, "\ncheckpoint\n\n")
	return w.begin()
}

// ensure opens a commit even if no file changed.
func (w *writer) ensure() error {
	if w.cmd != nil {
		return nil
	}
	return w.start()
}

func (w *writer) put(path string, f vfs.File, size int64) error {
	if err := w.next(); err != nil {
		return err
	}
	w.changed++
	fmt.Fprintf(w.out, "M 100644 inline %s\ndata %d\n", path, size)
	if _, err := io.CopyN(w.out, io.NewSectionReader(f, 0, size), size); err != nil {
		return storeError(path, err) // it shrank: git must not see the end
	}
	io.WriteString(w.out, "\n")
	return w.err
}

func (w *writer) drop(path string) error {
	if err := w.next(); err != nil {
		return err
	}
	w.removed++
	fmt.Fprintf(w.out, "D %s\n", path)
	return w.err
}

// wrong is how git ended, if it ended before its time: the reason why a write
// to it failed.
func (w *writer) wrong() error {
	if w.cmd == nil || w.err == nil {
		return nil
	}
	w.pipe.Close()
	err := w.cmd.Wait()
	if err == nil {
		err = w.err
	}
	err = w.g.failure(w.ctx, "fast-import", err, w.said)
	w.close()
	return err
}

// abort ends git without a commit: the stream has no end, so it is not taken.
func (w *writer) abort() {
	if w.cmd == nil {
		return
	}
	w.cancel(errors.New("given up"))
	w.cmd.Wait()
	w.close()
}

func (w *writer) close() {
	w.dog.Stop()
	w.cancel(nil)
	w.cmd = nil
}

// finish has git make the commit; made is false if nothing changed.
func (w *writer) finish() (made bool, err error) {
	if w.cmd == nil {
		return false, nil
	}
	io.WriteString(w.out, "\ndone\n")
	w.out.Flush()
	if err := w.wrong(); err != nil {
		return false, err
	}
	w.pipe.Close()
	w.dog.Reset(10 * w.a.stall()) // it writes and syncs what it has
	err = w.cmd.Wait()
	if err != nil {
		err = w.g.failure(w.ctx, "fast-import", err, w.said)
	}
	w.close()
	return err == nil, err
}
