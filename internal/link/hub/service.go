package hub

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/postroom/postroom/internal/link/natslink"
	"github.com/postroom/postroom/internal/mail"
)

// question is what the hub's service is asked; which fields count depends on
// the subject.
type question struct {
	Invite  []byte `json:"invite,omitempty"`
	Station string `json:"station,omitempty"`
	Key     string `json:"key,omitempty"` // the station's public nkey
	Sig     []byte `json:"sig,omitempty"` // of what is asked, with Key
	Retire  bool   `json:"retire,omitempty"`
	Seconds int64  `json:"seconds,omitempty"`
}

// answer is what it says.
type answer struct {
	Error  *refusal `json:"error,omitempty"`
	JWT    string   `json:"jwt,omitempty"`
	Line   string   `json:"line,omitempty"`
	Status *Status  `json:"status,omitempty"`
}

type refusal struct {
	Kind mail.Kind `json:"kind"`
	Why  string    `json:"why"`
	Hint string    `json:"hint"`
}

// serve answers one request. It answers to the inbox of whoever may ask it, and
// to nobody else: an answer must not become somebody's mail.
func (h *Hub) serve(m *nats.Msg) {
	what := strings.TrimPrefix(m.Subject, h.state.team().Service(""))
	verb, who, _ := strings.Cut(what, ".")
	inbox := map[string]string{"join": natslink.InboxPrefix(guestName), "rotate": natslink.InboxPrefix(who), "leave": natslink.InboxPrefix(who), "admin": "_INBOX"}[verb]
	if inbox == "" || !strings.HasPrefix(m.Reply, inbox+".") {
		return
	}
	var q question
	if len(m.Data) > 16<<10 || json.Unmarshal(m.Data, &q) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyIn)
	defer cancel()
	h.state.mu.Lock()
	defer h.state.mu.Unlock()
	a, err := h.answer(ctx, verb, who, q)
	if err != nil {
		a = answer{Error: refusalOf(err)}
		h.o.log().Info("hub: refused", "what", verb, "because", err)
	}
	data, err := json.Marshal(a)
	if err == nil {
		err = m.Respond(data)
	}
	if err != nil {
		h.o.log().Warn("hub: an answer was lost", "what", verb, "because", err)
	}
}

func refusalOf(err error) *refusal {
	var e *mail.Error
	if errors.As(err, &e) && e.Err != nil {
		return &refusal{e.Kind, e.Err.Error(), e.Hint}
	}
	return &refusal{mail.KindStore, err.Error(), "look at what the hub logged"}
}

func (h *Hub) answer(ctx context.Context, verb, who string, q question) (answer, error) {
	switch verb {
	case "join":
		return h.join(ctx, q)
	case "rotate":
		return h.rotate(who, q)
	case "leave":
		return answer{}, h.leave(who)
	}
	switch who {
	case "invite":
		line, err := h.state.line(h.o.Now(), time.Duration(q.Seconds)*time.Second)
		return answer{Line: line.String()}, err
	case "revoke":
		return answer{}, h.throwOut(ctx, q.Station, true)
	case "status":
		return answer{Status: h.status(ctx)}, nil
	}
	return answer{}, refuse(mail.KindUsage, "this hub does not know what to do with that", "is postd of one version everywhere?")
}

// join lets a station in. The ledger is on disk before the station has its JWT.
func (h *Hub) join(ctx context.Context, q question) (answer, error) {
	if _, err := mail.ParseStation(q.Station); err != nil {
		return answer{}, err
	}
	if !nkeys.IsValidPublicUserKey(q.Key) {
		return answer{}, refuse(mail.KindInvalid, "the station's key is none", "is postd of one version everywhere?")
	}
	if err := h.state.ledger.join(q.Invite, q.Station, q.Key, h.o.Now()); err != nil {
		return answer{}, err
	}
	if err := h.consumer(ctx, q.Station); err != nil {
		return answer{}, err
	}
	if err := h.state.save(); err != nil {
		return answer{}, err
	}
	token, err := h.state.keys.user(h.state.keys.Member, q.Station, q.Key)
	h.o.log().Info("hub: a station joined", "station", q.Station)
	return answer{JWT: token}, err
}

// rotate gives a station a JWT for its next key, and when it has come back with
// that one, retires the key before. Only the station itself can publish here.
func (h *Hub) rotate(station string, q question) (answer, error) {
	m, known := h.state.ledger.Stations[station]
	if !known {
		return answer{}, refuse(mail.KindNotFound, "there is no station "+station, "join again")
	}
	pub, err := nkeys.FromPublicKey(q.Key)
	if err != nil || !nkeys.IsValidPublicUserKey(q.Key) || pub.Verify(rotation(h.state.team(), station, q.Retire), q.Sig) != nil {
		return answer{}, refuse(mail.KindInvalid, "the new key has not signed this", "try again: post link rotate")
	}
	switch {
	case !q.Retire:
		m.Next = q.Key
	case q.Key == m.Key: // asked again
	case q.Key != m.Next:
		return answer{}, refuse(mail.KindConflict, "this is not the key that was announced", "try again: post link rotate")
	default:
		h.state.ledger.Revoked = append(h.state.ledger.Revoked, outcast{Station: station, Key: m.Key, At: h.o.Now().UTC()})
		m.Key, m.Next = m.Next, ""
	}
	if err := h.state.save(); err != nil {
		return answer{}, err
	}
	if q.Retire {
		return answer{}, h.engine.expel(h.state.ledger.revokedKeys())
	}
	token, err := h.state.keys.user(h.state.keys.Member, station, q.Key)
	return answer{JWT: token}, err
}

func rotation(team natslink.Team, station string, retire bool) []byte {
	what := "next"
	if retire {
		what = "retire"
	}
	return []byte("postroom rotation 1\n" + string(team) + "\n" + station + "\n" + what + "\n")
}
