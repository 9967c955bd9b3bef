package mcpserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postroom/postroom/internal/mail"
)

// Path is where the protocol is served.
const Path = "/mcp"

// statelessSince is the first protocol version that has no sessions.
const statelessSince = "2026-07-28"

const (
	headerTime  = 10 * time.Second
	writeTime   = 10 * time.Second // for one message, to a client that reads slowly
	sessionIdle = 12 * time.Hour
	goodbye     = 2 * time.Second
	maxRequest  = 8 * mail.MaxSize // JSON may write a character in six
)

// Listen opens ADDR, which must be a loopback address: whoever can reach the
// server and has the token sends mail as the office's agents.
func Listen(addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err == nil && !loopback(host) {
		err = errors.New("is no loopback address")
	}
	if err != nil {
		return nil, &mail.Error{Op: "mcp", Kind: mail.KindUsage, Addr: "--http " + mail.Neutralise(addr, false), Err: err,
			Hint: "say 127.0.0.1:0, or a port of 127.0.0.1 or [::1]"}
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, &mail.Error{Op: "mcp", Kind: mail.KindStore, Addr: "--http " + addr, Err: err, Hint: "choose another port; 0 lets the system choose"}
	}
	return l, nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}

// leastToken is how short a token may be, in characters.
const leastToken = 16

// Token reads the token of a file, or makes the file with a new one. Nobody but
// its owner may be able to read it.
func Token(path string) (string, error) {
	fail := func(kind mail.Kind, err error, hint string) (string, error) {
		return "", &mail.Error{Op: "mcp", Kind: kind, Addr: "--token-file " + mail.Neutralise(path, false), Err: err, Hint: hint}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case err == nil:
		token := rand.Text()
		_, err = f.WriteString(token + "\n")
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return fail(mail.KindStore, err, "remove the file and try again")
		}
		return token, nil
	case !errors.Is(err, fs.ErrExist):
		return fail(mail.KindStore, err, "name a file that can be made, or one with a token in it")
	}
	fi, err := os.Stat(path)
	if err == nil && !fi.Mode().IsRegular() {
		err = errors.New("is no file")
	}
	if err == nil && runtime.GOOS != "windows" && fi.Mode().Perm()&0o077 != 0 {
		return fail(mail.KindInvalid, errors.New("others can read it"), "run: chmod 600 "+path)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return fail(mail.KindStore, err, "name another file")
	}
	token := strings.TrimSpace(string(data))
	if len(token) < leastToken {
		return fail(mail.KindInvalid, errors.New("holds no token of 16 characters or more"), "remove it; the server makes one")
	}
	return token, nil
}

// ServeHTTP serves every client that has the token, until ctx ends.
func (s *Server) ServeHTTP(ctx context.Context, l net.Listener, token string) error {
	srv := &http.Server{Handler: s.handlerFor(ctx, token), ReadHeaderTimeout: headerTime, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
		defer cancel()
		if srv.Shutdown(last) != nil {
			srv.Close()
		}
	}()
	err := srv.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		<-stopped
		return nil
	}
	return err
}

// handlerFor is the endpoint behind its guards.
func (s *Server) handlerFor(ctx context.Context, token string) http.Handler {
	shared := s.server(ctx)
	fresh := func(r *http.Request) *mcp.Server {
		if r.Header.Get("Mcp-Session-Id") != "" {
			return shared // the session has its own; this one only tells versions
		}
		return s.server(ctx)
	}
	opt := mcp.StreamableHTTPOptions{Logger: slog.New(onlyWarnings{s.log.Handler()}), SessionTimeout: sessionIdle, MaxRequestBodyBytes: maxRequest, PropagateRequestCancellation: true}
	stateful := mcp.NewStreamableHTTPHandler(fresh, &opt)
	opt.Stateless = true
	stateless := mcp.NewStreamableHTTPHandler(fresh, &opt)
	mux := http.NewServeMux()
	mux.HandleFunc(Path, func(w http.ResponseWriter, r *http.Request) {
		h := stateful
		if r.Header.Get("MCP-Protocol-Version") >= statelessSince {
			h = stateless
		}
		h.ServeHTTP(&toldResponse{ResponseWriter: w, out: s.out, there: r.Context()}, r)
	})
	return guard(mux, token)
}

// guard lets through who has the token and is no web page: a page that a
// browser has been led to can send requests to loopback too, and names itself
// in Origin, or its server in Host.
func guard(next http.Handler, token string) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !localHost(r.Host) || !localOrigin(r.Header.Values("Origin")) {
			http.Error(w, "only programs on this machine may ask: Host and Origin must be loopback", http.StatusForbidden)
			return
		}
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(given))
		if !ok || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="postroom"`)
			http.Error(w, "give the token: Authorization: Bearer TOKEN, from the file that --token-file names", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func localHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	return strings.EqualFold(name, "localhost") || loopback(name)
}

func localOrigin(origins []string) bool {
	for _, o := range origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || !localHost(u.Host) {
			return false
		}
	}
	return true
}

// toldResponse tells what the client's connection took.
type toldResponse struct {
	http.ResponseWriter
	out   *outgoing
	there context.Context // ends when the connection does
}

// Write is called once for each message.
func (t *toldResponse) Write(p []byte) (int, error) {
	c := http.NewResponseController(t.ResponseWriter)
	c.SetWriteDeadline(time.Now().Add(writeTime))
	defer c.SetWriteDeadline(time.Time{})
	return t.out.write(p, func(p []byte) (int, error) {
		if err := t.there.Err(); err != nil {
			return 0, err // the system would take bytes for a client that is gone
		}
		n, err := t.ResponseWriter.Write(p)
		if ferr := c.Flush(); err == nil {
			err = ferr // until then the bytes are still ours
		}
		return n, err
	})
}

// Unwrap lets the transport flush.
func (t *toldResponse) Unwrap() http.ResponseWriter { return t.ResponseWriter }
