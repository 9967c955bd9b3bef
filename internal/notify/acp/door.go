package acp

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/roster"
)

// The door is a socket in the user's state, where other processes of this user
// ask the keeper to wake an agent: as post asks postd (notify.Postd). An agent
// that is woken through it is told the keeper's own words.

// maxPath is what the path of a socket may be long, in bytes, on every system.
const maxPath = 100

// doorTime bounds one visit: a wake takes less (dispatch.Budget).
const doorTime = 10 * time.Second

// maxVisits bounds how many there are at a time.
const maxVisits = 64

// open opens the door and says in the roster where it is. Where that cannot be
// done the workers are kept all the same, and mail reaches them by the router of
// this process.
func (k *Keeper) open(ctx context.Context, beside *sync.WaitGroup) (shut func()) {
	path, clear, err := place(k.Roster.FS.Path("door"))
	var l net.Listener
	if err == nil {
		l, err = listen(path)
	}
	if err != nil {
		k.Log.Warn("nobody else can ask for a worker to be woken", "error", err.Error())
		clear()
		path = ""
	}
	signed := k.sign(path)
	if l == nil {
		return func() { k.resign(path) }
	}
	beside.Go(func() { k.visits(ctx, l) })
	stop := make(chan struct{})
	beside.Go(func() { // the other keeper may end
		for !signed {
			select {
			case <-stop:
				return
			case <-time.After(k.tick()):
				signed = k.sign(path)
			}
		}
	})
	return func() {
		close(stop)
		l.Close()
		k.resign(path)
		os.Remove(path)
		clear()
	}
}

func (k *Keeper) sign(path string) bool {
	signed, err := k.Roster.Sign(path)
	if err != nil {
		k.Log.Warn("who keeps the workers is not written down", "error", err.Error())
	}
	return signed
}

func (k *Keeper) resign(path string) {
	if err := k.Roster.Resign(path); err != nil {
		k.Log.Warn("who keeps the workers is still written down", "error", err.Error())
	}
}

// place chooses the path of the socket: the wanted one, with this process's
// number, or one in a directory of its own where that is too long.
func place(want string) (path string, clear func(), err error) {
	name := filepath.Base(want) + "-" + itoa(os.Getpid()) + "-" + token()
	if path = filepath.Join(filepath.Dir(want), name); len(path) <= maxPath {
		return path, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "postroom-")
	if err != nil {
		return "", func() {}, err
	}
	return filepath.Join(dir, "door"), func() { os.RemoveAll(dir) }, nil
}

func listen(path string) (net.Listener, error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil { // its directory is this user's already
		l.Close()
		return nil, err
	}
	return l, nil
}

// visits serves those who come, until the door is shut.
func (k *Keeper) visits(ctx context.Context, l net.Listener) {
	var wg sync.WaitGroup
	defer wg.Wait()
	room := make(chan struct{}, maxVisits)
	table := notify.NewTable(k)
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		select {
		case room <- struct{}{}:
		default:
			conn.Close()
			continue
		}
		wg.Go(func() {
			defer func() { <-room }()
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(doorTime))
			if err := notify.ServeOne(ctx, conn, conn, table); err != nil {
				k.Log.Debug("a visitor was not understood", "error", err.Error())
			}
		})
	}
}

// Visitor is the adapter of processes that keep no workers: it asks the one that
// does.
type Visitor struct {
	// Look opens the roster of an office, by its id.
	Look func(officeID string) (*roster.Store, error)
}

// Kind returns notify.KindACP.
func (Visitor) Kind() string { return notify.KindACP }

// LooksItself: the keeper does.
func (Visitor) LooksItself() {}

// Check looks at the arguments.
func (Visitor) Check(args []string) ([]string, error) { return notify.ACP{}.Check(args) }

// Notify implements notify.Adapter.
func (v Visitor) Notify(ctx context.Context, agent notify.Agent, p notify.Pointer) (notify.Outcome, error) {
	if err := p.Check(); err != nil {
		return notify.Fail(notify.KindACP, agent, err.Error(), "")
	}
	store, err := v.Look(p.OfficeID)
	if err != nil {
		return gone(agent.Name), nil
	}
	by, runs := store.KeptBy()
	switch {
	case !runs:
		return gone(agent.Name), nil
	case by.Door == "":
		return notify.Outcome{State: notify.Pending, Evidence: "acp: postd serve wakes it by itself"}, nil
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", by.Door)
	if err != nil {
		return notify.Outcome{State: notify.Pending, Evidence: "acp: postd serve cannot be reached from here, and wakes it by itself"}, nil
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	return notify.Ask(ctx, agent, p, conn.(*net.UnixConn))
}
