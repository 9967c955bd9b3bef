package web

import (
	"html/template"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
)

// Options are what a Site needs.
type Options struct {
	Env *cli.Env // the world, as commands get it
	Dir string   // of the office, absolute
	Log *slog.Logger
	// Hosts are the names, besides those of this machine, by which a browser may
	// ask; TLS says that it comes that way only.
	Hosts []string
	TLS   bool
}

// Site is the page of one office. It opens it when somebody first asks.
type Site struct {
	Options
	pages    func() (*template.Template, error)
	sessions sessions
	said     notes
	behind   backstage

	mu     sync.Mutex
	office *office.Office
	stamp  fileStamp // of the settings with which office was opened
}

// New makes a Site; it does nothing yet.
func New(opt Options) *Site {
	s := &Site{Options: opt}
	s.sessions = sessions{dir: StateDir(opt.Env, opt.Dir), now: opt.Env.Now}
	s.pages = sync.OnceValues(s.parse)
	return s
}

// StateDir is where the sessions of an office's page are kept.
func StateDir(e *cli.Env, dir string) string {
	return filepath.Join(e.User().Dir, "web", digest(dir)[:16])
}

// Handler is the one table of what is served.
func (s *Site) Handler() http.Handler {
	open, in := http.NewServeMux(), http.NewServeMux()
	open.HandleFunc("GET /static/{file}", s.static)
	open.HandleFunc("GET /favicon.ico", s.icon)
	open.HandleFunc("GET /enter", s.enter)
	open.Handle("/", s.entered(s.noted(in)))

	in.HandleFunc("GET /{$}", s.floor)
	in.HandleFunc("GET /inbox", s.inbox)
	in.HandleFunc("GET /inbox/{id}", s.approval)
	in.HandleFunc("POST /inbox/{id}", s.decide)
	in.HandleFunc("GET /threads", s.threads)
	in.HandleFunc("GET /threads/{conversation}", s.thread)
	in.HandleFunc("GET /message/{id}", s.message)
	in.HandleFunc("GET /agents", s.agents)
	in.HandleFunc("GET /agents/{name}", s.agent)
	in.HandleFunc("GET /search", s.search)
	in.HandleFunc("GET /health", s.health)
	in.HandleFunc("POST /health", s.lookAgain)
	in.HandleFunc("GET /compose", s.compose)
	in.HandleFunc("POST /compose", s.composed)
	in.HandleFunc("GET /debts", s.debts)
	in.HandleFunc("POST /debts/remind", s.remind)
	in.HandleFunc("POST /debts/waive", s.waive)
	in.HandleFunc("GET /live", s.live)
	in.HandleFunc("POST /theme", s.theme)
	in.HandleFunc("POST /leave", s.leave)
	in.HandleFunc("/", s.nothing)
	return s.guarded(open)
}

// nothing answers for paths that do not exist.
func (s *Site) nothing(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, &mail.Error{Op: "open page", Kind: mail.KindNotFound, Addr: mail.Neutralise(r.URL.Path, false),
		Hint: "go to the floor, or search"})
}

// open returns the office, opened anew when its settings were edited.
func (s *Site) open() (*office.Office, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.office != nil && s.stamp.same(stampOf(s.office.FS)) {
		return s.office, nil
	}
	o, err := office.Open(s.Dir, s.Env.System)
	if err != nil {
		return nil, err
	}
	if s.office != nil { // requests under way still use the directory that is open
		if c, ok := o.FS.(interface{ Close() error }); ok {
			c.Close()
		}
		o.FS = s.office.FS
	}
	s.office, s.stamp = o, stampOf(o.FS)
	return o, nil
}

// desk is the person's place in the office, as the commands have it.
func (s *Site) desk() (*cli.Desk, error) {
	o, err := s.open()
	if err != nil {
		return nil, err
	}
	return s.Env.Call("page", "").PersonDesk(o)
}

// officeName is what the page calls the office.
func officeName(dir string) string {
	name := filepath.Base(dir)
	if name == ".postroom" || name == "office" {
		name = filepath.Base(filepath.Dir(dir))
	}
	return strings.TrimPrefix(name, ".")
}
