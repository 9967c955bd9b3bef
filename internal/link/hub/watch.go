package hub

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/postroom/postroom/internal/mail"
)

const (
	watchEvery = 5 * time.Second
	guestStays = 30 * time.Second // asking to join takes a second
	againMost  = time.Minute      // between two times of starting the server anew
)

// watch keeps the hub well until ctx ends: a server whose disk was full once
// takes no mail any more, also when there is room again, until it is started
// anew. And it shows guests the door.
func (h *Hub) watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	wait, next := watchEvery, time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		h.state.mu.Lock()
		h.engine.showOut(guestStays)
		ill := h.engine.ill()
		if ill == "" && !h.nc.IsConnected() {
			ill = "the hub is not connected to it"
		}
		switch {
		case ill == "":
			wait = watchEvery
		case time.Now().After(next) && ctx.Err() == nil:
			h.o.log().Error("hub: the server is started anew", "because", ill)
			if err := h.restart(ctx); err != nil {
				h.o.log().Error("hub: it does not start", "because", err)
			}
			next, wait = time.Now().Add(wait), min(2*wait, againMost)
		}
		h.state.mu.Unlock()
	}
}

// ill says what the server finds wrong with itself, "" for nothing.
func (e *engine) ill() string {
	if !e.srv.Running() {
		return "it has stopped"
	}
	r, err := http.NewRequest(http.MethodGet, "/healthz", nil)
	if err != nil {
		return ""
	}
	v := verdict{header: http.Header{}}
	e.srv.HandleHealthz(&v, r)
	if v.code == 0 || v.code == http.StatusOK {
		return ""
	}
	return mail.Neutralise(v.body.String(), false)
}

// verdict takes an answer in.
type verdict struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (v *verdict) Header() http.Header         { return v.header }
func (v *verdict) WriteHeader(code int)        { v.code = code }
func (v *verdict) Write(b []byte) (int, error) { return v.body.Write(b) }

// restart starts the server anew, at the address that it had. The caller holds
// the state.
func (h *Hub) restart(ctx context.Context) error {
	h.nc.Close()
	h.engine.stop()
	o := h.o
	o.Listen = h.listens
	e, err := run(o, h.state.keys, h.state.team(), h.state.ledger.revokedKeys())
	if err != nil {
		return err
	}
	h.engine = e
	return h.open(ctx)
}

// showOut ends the connections of guests that stay.
func (e *engine) showOut(after time.Duration) {
	z, err := e.srv.Connz(&server.ConnzOptions{Username: true, Limit: 1 << 16})
	if err != nil {
		return
	}
	for _, c := range z.Conns {
		if c.AuthorizedUser == e.guestKey && time.Since(c.Start) > after {
			e.srv.DisconnectClientByID(c.Cid)
		}
	}
}
