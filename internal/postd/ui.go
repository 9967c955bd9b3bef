package postd

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/serve"
	"github.com/postroom/postroom/internal/web"
)

func uiCommand() cli.Command {
	return cli.Command{
		Name: "ui", Summary: "open the page: who is there, what moves, what waits for you", Usage: "[--print] [--to PATH] [--outside] [--revoke]", Person: true,
		Long: `Opens the office's page in your browser: the floor, your inbox, threads, any
message's life, agents, debts, search, and what doctor sees. The page is served
by "post serve"; if none runs for this office, one is started in the background
and stays. Without a display the link is printed.

The link works once, within five minutes, and only on this machine. The browser
that opens it stays let in for 30 days, through restarts. --revoke shuts all
browsers out again.

Its name, p-….localhost, is known to your browser alone, so that no other
program on this machine is ever sent what lets it in. Browsers resolve such
names by themselves; if yours does not, say --plain.

With --outside the link is for another machine or a phone: post serve must run
with --page ADDR, --page-name NAME, --tls-cert FILE and --tls-key FILE.`,
		Examples: []string{"post ui", "post ui --print", "post ui --to /inbox", "post ui --revoke"},
		Setup: func(fs *flag.FlagSet) cli.Run {
			var u ui
			fs.BoolVar(&u.print, "print", false, "print the link, open nothing")
			fs.StringVar(&u.to, "to", "/", "the `PATH` of the page to begin with")
			fs.BoolVar(&u.plain, "plain", false, "a link to 127.0.0.1, for browsers that do not know names ending in .localhost")
			fs.BoolVar(&u.outside, "outside", false, "a link for another machine")
			fs.BoolVar(&u.revoke, "revoke", false, "shut out all browsers that were let in")
			return u.run
		},
	}
}

type ui struct {
	print, plain, outside, revoke bool
	to                            string
}

func (u *ui) run(ctx context.Context, e *cli.Env, args []string) error {
	if err := e.NeedArgs(args, 0, 0); err != nil {
		return err
	}
	if !strings.HasPrefix(u.to, "/") {
		return e.Usage("--to is a path of the page", "say --to /inbox, for example")
	}
	o, err := e.Office()
	if err != nil {
		return err
	}
	state := web.StateDir(e, o.Dir)
	if u.revoke {
		return revoke(e, state)
	}
	at, started, err := findServe(ctx, e, o)
	if err != nil {
		return err
	}
	if u.outside && at.Outside == "" {
		return e.Fail(mail.KindNotFound, o.Dir, errors.New("the page is shown to this machine only"),
			"stop post serve and start it with --page ADDR --page-name NAME --tls-cert FILE --tls-key FILE")
	}
	base := u.base(at)
	once, err := web.Link(state, base.Host, e.Now())
	if err != nil {
		return err
	}
	q := url.Values{"once": {once}}
	if u.to != "/" {
		q.Set("to", u.to)
	}
	base.Path, base.RawQuery = "/enter", q.Encode()
	return u.hand(ctx, e, at, started, base.String())
}

// base is the address that the browser asks by.
func (u *ui) base(at serve.Running) *url.URL {
	if u.outside {
		if b, err := url.Parse(at.Outside); err == nil {
			return b
		}
	}
	host, port, _ := net.SplitHostPort(at.Addr)
	if !u.plain && host == "127.0.0.1" && named() {
		host = "p-" + strings.ToLower(rand.Text()[:16]) + ".localhost"
	}
	return &url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}
}

// named reports whether browsers here know names that end in .localhost: most
// do by themselves, Safari asks the system.
func named() bool {
	if runtime.GOOS != "darwin" {
		return true
	}
	_, err := net.LookupHost("p-postroom.localhost")
	return err == nil
}

// hand gives the link to the browser, or to the person.
func (u *ui) hand(ctx context.Context, e *cli.Env, at serve.Running, started bool, link string) error {
	opened := !u.print && !u.outside && !e.JSON && openBrowser(ctx, e, link)
	switch {
	case e.JSON:
		e.Out.Object(struct {
			URL     string `json:"url"`
			Addr    string `json:"addr"`
			PID     int    `json:"pid"`
			Started bool   `json:"started"`
		}{link, at.Addr, at.PID, started})
		return nil
	case opened:
		e.Out.Printf("the page is open in your browser\n")
	default:
		e.Out.Printf("%s\n", link)
		e.Out.Say("It works once, within five minutes.")
		if _, port, _ := net.SplitHostPort(at.Addr); e.Getenv("SSH_CONNECTION") != "" && !u.outside {
			e.Out.Say("From your own machine: ssh -L %s:127.0.0.1:%s …, then open it there.", port, port)
		}
	}
	if started {
		e.Out.Say("postd serve was started for it, pid %d, and stays in the background.", at.PID)
	}
	return nil
}

func revoke(e *cli.Env, state string) error {
	n, err := web.Revoke(state)
	if err != nil {
		return e.Fail(mail.KindStore, state, err, "remove that directory")
	}
	if e.JSON {
		e.Out.Object(struct {
			Revoked int `json:"revoked"`
		}{n})
		return nil
	}
	e.Out.Printf("shut out: %d browsers and links\n", n)
	return nil
}

// openBrowser reports whether a browser was told to open the link.
func openBrowser(ctx context.Context, e *cli.Env, link string) bool {
	var argv []string
	switch runtime.GOOS {
	case "darwin":
		argv = []string{"open", link}
	case "windows":
		argv = []string{"rundll32", "url.dll,FileProtocolHandler", link}
	default:
		if e.Getenv("DISPLAY") == "" && e.Getenv("WAYLAND_DISPLAY") == "" {
			return false
		}
		argv = []string{"xdg-open", link}
	}
	path := onPath(e, argv[0])
	if path == "" {
		return false
	}
	limit, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	cmd := exec.CommandContext(limit, path, argv[1:]...)
	cmd.Env = e.Environ
	return cmd.Run() == nil
}

const openLimit = 10 * time.Second

func onPath(e *cli.Env, name string) string {
	for _, dir := range filepath.SplitList(e.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue // what stands in the working directory is not ours
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	return ""
}

const (
	// startLimit is how long a serve that was just started may take until its
	// page is there.
	startLimit = 15 * time.Second
	startPoll  = 20 * time.Millisecond
)

// findServe finds the serve of the office, or starts one.
func findServe(ctx context.Context, e *cli.Env, o *office.Office) (at serve.Running, started bool, err error) {
	if at, ok := answering(ctx, e, o); ok {
		if !at.Page {
			return at, false, e.Fail(mail.KindConflict, o.Dir, errors.New("the post serve that runs, pid "+strconv.Itoa(at.PID)+", is of a version without a page"), "stop it, and run post ui again")
		}
		return at, false, nil
	}
	if err := o.CheckWritable(); err != nil {
		return at, false, err
	}
	died, log, err := startServe(e, o)
	if err != nil {
		return at, false, err
	}
	for waited := time.Duration(0); waited < startLimit; waited += startPoll {
		if at, ok := answering(ctx, e, o); ok {
			return at, true, nil
		}
		select {
		case <-died:
			if at, ok := answering(ctx, e, o); ok { // another one was faster
				return at, false, nil
			}
			return at, false, e.Fail(mail.KindStore, o.Dir, errors.New("post serve ended at once: "+lastLine(log)), "run post serve in a terminal to see why")
		default:
		}
		if err := e.Sleep(ctx, startPoll); err != nil {
			return at, false, err
		}
	}
	return at, false, e.Fail(mail.KindTimeout, o.Dir, errors.New("post serve was started, and its page is not there after "+startLimit.String()), "see "+log)
}

// answering reports where the office is served, if that answers.
func answering(ctx context.Context, e *cli.Env, o *office.Office) (serve.Running, bool) {
	at, ok := serve.Announced(e.User().Dir, o.Config.ID)
	if !ok || at.Office != o.Dir {
		return at, false
	}
	h, err := serve.AskHealth(ctx, at.Addr)
	return at, err == nil && h.Office == o.Config.ID && h.PID == at.PID
}

// startServe starts a serve that outlives us. died is closed if it ends.
func startServe(e *cli.Env, o *office.Office) (died chan struct{}, log string, err error) {
	self, err := e.Executable()
	if err != nil {
		return nil, "", e.Fail(mail.KindStore, "postd", err, "run it by its full path")
	}
	log = filepath.Join(e.User().Dir, "serve", o.Config.ID+".log")
	if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
		return nil, log, e.Fail(mail.KindStore, log, err, "make that directory writable for you")
	}
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, log, e.Fail(mail.KindStore, log, err, "make that file writable for you")
	}
	defer f.Close()
	cmd := exec.Command(self, "serve", "--office", o.Dir)
	cmd.Args[0] = "postd" // whatever file it is
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = e.Environ, o.Dir, f, f
	alone(cmd)
	if err := cmd.Start(); err != nil {
		return nil, log, e.Fail(mail.KindStore, self, err, "run post serve in a terminal")
	}
	died = make(chan struct{})
	go func() {
		defer close(died)
		cmd.Wait() // while we run, it leaves no zombie
	}()
	return died, log, nil
}

// lastLine is what a log ends with.
func lastLine(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "nothing is known"
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return cli.Line(lines[len(lines)-1])
}
