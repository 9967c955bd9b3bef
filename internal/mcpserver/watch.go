package mcpserver

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/registry"
)

// watchPause is how long a watch that nobody waits for leaves between passes.
const watchPause = 10 * time.Second

// subscriptions tell a client's sessions that mail came.
type subscriptions struct {
	ctx  context.Context // of the client
	from *Server
	srv  *mcp.Server

	mu   sync.Mutex
	stop map[*mcp.ServerSession]context.CancelFunc
}

func newSubscriptions(ctx context.Context, s *Server) *subscriptions {
	return &subscriptions{ctx: ctx, from: s, stop: map[*mcp.ServerSession]context.CancelFunc{}}
}

func (u *subscriptions) subscribe(_ context.Context, req *mcp.SubscribeRequest) error {
	if req.Params.URI != inboxURI {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "uri: only " + inboxURI + " can be subscribed to"}
	}
	d, err := u.from.desk("subscribe", req.Params.Meta, req.Session)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(u.ctx)
	if old := u.swap(req.Session, stop); old != nil {
		old()
	}
	go func() {
		req.Session.Wait()
		u.drop(req.Session)
	}()
	go watch(ctx, d, func(mailbox.Item) {
		u.srv.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: inboxURI})
	})
	return nil
}

func (u *subscriptions) unsubscribe(_ context.Context, req *mcp.UnsubscribeRequest) error {
	u.drop(req.Session)
	return nil
}

// swap sets what ends a session's watch and returns what was set before.
func (u *subscriptions) swap(ss *mcp.ServerSession, stop context.CancelFunc) context.CancelFunc {
	u.mu.Lock()
	defer u.mu.Unlock()
	old := u.stop[ss]
	if stop == nil {
		delete(u.stop, ss)
	} else {
		u.stop[ss] = stop
	}
	return old
}

func (u *subscriptions) drop(ss *mcp.ServerSession) {
	if stop := u.swap(ss, nil); stop != nil {
		stop()
	}
}

// watch calls came for each message that is or gets into an inbox, until ctx
// ends, and lets mail move meanwhile.
func watch(ctx context.Context, d *cli.Desk, came func(mailbox.Item)) {
	last := time.Time{}
	pass := func(ctx context.Context) {
		if time.Since(last) >= watchPause {
			d.Pass(ctx)
			last = time.Now()
		}
	}
	d.Watch(ctx, pass, func(it mailbox.Item) error {
		came(it)
		return nil
	})
}

// claudeSocket is the variable in which Claude Code tells its children where
// the session takes messages.
const claudeSocket = "CLAUDE_CODE_MESSAGING_SOCKET"

// attend watches the inbox of the session that started this process, and has
// the arbiter wake it when mail comes: of those who deliver, one in a sandbox
// may not reach the session, but its own child does. Which session that is must
// be certain; else, and where the agent is woken in another way, nothing is done.
func (s *Server) attend(ctx context.Context) {
	if !s.alone || s.env.Getenv(claudeSocket) == "" {
		return
	}
	d, err := s.env.Call("watch inbox", "").Desk()
	if err != nil || !wokenAs(d, "claude") {
		return
	}
	go watch(ctx, d, func(it mailbox.Item) {
		for _, w := range d.Dispatcher().Wake(ctx, []registry.Entry{d.Me().Entry}) {
			if !w.Surfaced() {
				s.log.Info("this session was not woken", "id", it.ID, "why", reasonOf(w))
			}
		}
	})
}

func wokenAs(d *cli.Desk, kind string) bool {
	e := d.Me().Entry
	return dispatch.NeedsWaking(e) && e.Notify[0] == kind
}

func reasonOf(w dispatch.Woken) string { return mail.Neutralise(w.Outcome.Evidence, false) }
