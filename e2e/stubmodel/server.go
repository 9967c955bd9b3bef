package stubmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server is a running model.
type Server struct {
	base   string
	http   *http.Server
	script Script
	asking sync.Mutex // held while the script decides

	mu       sync.Mutex
	requests []Request
	faults   []error
	later    map[string]Call // what a search for a deferred tool is for, by its call's id
	calls    int
	news     chan struct{} // closed and renewed with every request
}

// Start listens on a free port of 127.0.0.1.
func Start(script Script) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{base: "http://" + l.Addr().String(), script: script, news: make(chan struct{}), later: map[string]Call{}}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.http.Serve(l) }()
	return s, nil
}

// Close ends all open replies and stops listening.
func (s *Server) Close() error { return s.http.Close() }

// URL is the base URL, without /v1, for the agent that the label names; its
// requests carry the label.
func (s *Server) URL(agent string) string {
	if agent == "" {
		return s.base
	}
	return s.base + "/" + agent
}

// Requests are those of one agent, or of all for "", in the order of arrival.
func (s *Server) Requests(agent string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Request
	for _, r := range s.requests {
		if agent == "" || r.Agent == agent {
			out = append(out, r)
		}
	}
	return out
}

// Turns are the requests that the script answered.
func (s *Server) Turns(agent string) []Request {
	return slices.DeleteFunc(s.Requests(agent), func(r Request) bool { return r.Sort != Turn })
}

// Roles lists with whose authority a text ever reached the model, each once.
func (s *Server) Roles(text string) []Role {
	var out []Role
	for _, r := range s.Requests("") {
		for _, role := range r.Roles(text) {
			if !slices.Contains(out, role) {
				out = append(out, role)
			}
		}
	}
	return out
}

// Faults are what the server could not do: requests it doesn't understand,
// replies that the CLI has no tool for. A test ends with none.
func (s *Server) Faults() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.faults)
}

// Await returns the first request, old or new, that fits.
func (s *Server) Await(limit time.Duration, fits func(Request) bool) (Request, error) {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for seen := 0; ; {
		s.mu.Lock()
		requests, news := s.requests, s.news
		s.mu.Unlock()
		for ; seen < len(requests); seen++ {
			if fits(requests[seen]) {
				return requests[seen], nil
			}
		}
		select {
		case <-news:
		case <-deadline.C:
			return Request{}, fmt.Errorf("no such request within %v; %d came, %v", limit, seen, s.Faults())
		}
	}
}

// ServeHTTP answers all APIs, by the end of the path.
func (s *Server) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	d, agent, ok := dialectOf(q.URL.Path)
	if !ok || q.Method != http.MethodPost {
		s.aside(w, q)
		return
	}
	body, err := io.ReadAll(io.LimitReader(q.Body, 64<<20))
	if err == nil && !json.Valid(body) {
		err = errors.New("the body is not JSON")
	}
	var r Request
	if err == nil {
		r, err = d.decode(body)
	}
	if err != nil {
		s.fault(fmt.Errorf("%s: %w", q.URL.Path, err))
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Agent, r.At, r.Raw = agent, time.Now(), body
	s.complete(&r, d, q)
	s.record(&r)
	s.answer(w, q, d, r)
}

// complete fills in what the path and the header say.
func (s *Server) complete(r *Request, d dialect, q *http.Request) {
	r.API = d.api
	r.Header = map[string]string{}
	for k := range q.Header {
		r.Header[k] = q.Header.Get(k)
	}
	switch {
	case d.count:
		r.Sort = Count
	case len(r.Tools) == 0:
		r.Sort = Side
	default:
		r.Sort = Turn
	}
	if d.api == Gemini {
		_, rest, _ := strings.Cut(q.URL.Path, "/models/")
		r.Model, _, _ = strings.Cut(rest, ":")
		r.Stream = strings.HasSuffix(q.URL.Path, ":streamGenerateContent")
	}
}

// aside answers what is no call of the model: lists of models, health checks.
func (s *Server) aside(w http.ResponseWriter, q *http.Request) {
	if q.Method == http.MethodGet && strings.HasSuffix(q.URL.Path, "/models") {
		writeJSON(w, map[string]any{"object": "list", "data": []any{map[string]any{"id": "stub-model", "object": "model", "created": 1, "owned_by": "stub"}}})
		return
	}
	if q.Method == http.MethodPost {
		s.fault(fmt.Errorf("%s %s: not one of the APIs", q.Method, q.URL.Path))
	}
	http.NotFound(w, q)
}

func (s *Server) fault(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, err)
}

// record keeps a request and tells whoever waits for one.
func (s *Server) record(r *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.N = len(s.requests)
	s.requests = append(s.requests, *r)
	close(s.news)
	s.news = make(chan struct{})
}

func (s *Server) answer(w http.ResponseWriter, q *http.Request, d dialect, r Request) {
	if r.Sort == Count {
		d.tokens(w)
		return
	}
	reply, calls := s.decide(r)
	a := answer{say: reply.Say, calls: calls, hold: reply.Hold, gone: q.Context().Done(), n: r.N, model: r.Model}
	if r.Stream {
		d.stream(newEvents(w), a)
		return
	}
	if a.wait() {
		d.whole(w, a)
	}
}

// decide asks the script, and finds the tools it wants.
func (s *Server) decide(r Request) (Reply, []call) {
	if r.Sort == Side {
		return Say(aside(r)), nil
	}
	reply, resumed := s.resume(r)
	if !resumed {
		s.asking.Lock()
		reply = s.script(r)
		s.asking.Unlock()
	}
	var calls []call
	for _, c := range reply.Calls {
		resolved, err := s.resolve(r, c, resumed)
		if err != nil {
			s.fault(fmt.Errorf("request %d of %s: %w", r.N, r.Agent, err))
			reply.Say = "stub: " + err.Error()
			continue
		}
		calls = append(calls, resolved)
	}
	if reply.Say == "" && len(calls) == 0 {
		reply.Say = "ok"
	}
	return reply, calls
}

// resolve finds the tool a call means. Claude Code and Codex keep some tools
// back until the model searches for them: then the search is called first, and
// the call follows in the next turn, without the script.
func (s *Server) resolve(r Request, c Call, resumed bool) (call, error) {
	t, args, err := c.resolve(r)
	search, deferred := searchFor(r, c)
	if err != nil && deferred && !resumed {
		t, args, err = search.tool, search.args, nil
	} else {
		deferred = false
	}
	if err != nil {
		return call{}, err
	}
	if args == nil {
		args = map[string]any{}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return call{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	id := fmt.Sprintf("call_stub%04d", s.calls)
	if deferred {
		s.later[id] = c
	}
	return call{tool: t, args: raw, id: id}, nil
}

// resume is the reply for which a tool was searched.
func (s *Server) resume(r Request) (Reply, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var reply Reply
	for _, e := range r.Newest() {
		if c, ok := s.later[e.ID]; ok {
			reply.Calls = append(reply.Calls, c)
			delete(s.later, e.ID)
		}
	}
	return reply, len(reply.Calls) > 0
}

// search is a call that makes a deferred tool known.
type search struct {
	tool Tool
	args map[string]any
}

func searchFor(r Request, c Call) (search, bool) {
	if c.Shell != "" {
		return search{}, false
	}
	name := c.Tool
	if c.Server != "" {
		name = mcpNames(c.Server, c.Tool)[0]
	}
	query := "select:" + name
	t, ok := r.Offers("ToolSearch") // Claude Code
	if !ok {
		t, ok = r.Offers("tool_search") // Qwen Code, Codex
	}
	if r.API == Responses {
		query = c.Server + " " + c.Tool
	}
	args := map[string]any{"query": query}
	if t.takes("max_results") {
		args["max_results"] = 5
	}
	return search{t, args}, ok
}

// aside is the text for a request without tools. Some want JSON of a shape.
func aside(r Request) string {
	raw := string(r.Raw)
	switch {
	case strings.Contains(raw, "next_speaker"):
		return `{"reasoning":"The turn is over.","next_speaker":"user"}`
	case strings.Contains(raw, `"title"`), strings.Contains(raw, `\"title\"`):
		return `{"title":"Stub"}`
	}
	return "Stub"
}
