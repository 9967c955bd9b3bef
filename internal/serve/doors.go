package serve

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
)

// Outside is the page for other machines. TLS is a must.
type Outside struct {
	Listen string // HOST:PORT
	Name   string // by which browsers ask
	TLS    *tls.Config
	Page   http.Handler
}

// doors are the open listeners: a loopback address, the same port of ::1 where
// browsers look first for names that end in .localhost, and perhaps one outside.
type doors struct {
	addr       string // of home[0]
	home       []net.Listener
	outside    net.Listener
	outsideURL string
}

func (d *doors) close() {
	for _, l := range append(d.home, d.outside) {
		if l != nil {
			l.Close()
		}
	}
}

// reopen opens the doors where they were when the office was last served, if the
// system may choose the port: a page that is open finds them again. Where somebody
// else is there now, it is another port.
func (s *Server) reopen(o *office.Office) (*doors, error) {
	host, port, _ := net.SplitHostPort(s.Listen)
	was, ok := ReadRunning(o.FS)
	if wasHost, _, err := net.SplitHostPort(was.Addr); ok && err == nil && s.Page != nil && port == "0" && wasHost == host && was.Host == s.Sys.Host {
		if d, err := s.doors(was.Addr); err == nil {
			return d, nil
		}
	}
	return s.doors(s.Listen)
}

func (s *Server) doors(addr string) (*doors, error) {
	l, err := listen(addr)
	if err != nil {
		return nil, err
	}
	d := &doors{home: []net.Listener{l}, addr: l.Addr().String()}
	if s.Page != nil {
		if err := d.twin(addr); err != nil {
			d.close()
			return nil, err
		}
	}
	if s.Outside != nil {
		if err := d.goOutside(s.Outside); err != nil {
			d.close()
			return nil, err
		}
	}
	return d, nil
}

// listen opens a loopback address, and nothing else: what is shown there is for
// this machine only.
func listen(addr string) (net.Listener, error) {
	bad := func(what string, err error) error {
		return &mail.Error{Op: "listen", Kind: mail.KindUsage, Addr: addr, Err: errors.Join(errors.New(what), err),
			Hint: "use 127.0.0.1:PORT or [::1]:PORT; port 0 lets the system choose"}
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, bad("is not HOST:PORT", nil)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, bad("is not a loopback address", nil)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, taken(addr, err)
	}
	return l, nil
}

func taken(addr string, err error) error {
	return &mail.Error{Op: "listen", Kind: mail.KindConflict, Addr: addr, Err: err, Hint: "choose another port, or 0"}
}

// twinTries is how many ports are tried until both families have one free.
const twinTries = 16

// twin opens the same port of ::1, so that no other program can be there: a
// browser that is given a name of this machine may go to either. Where there is
// no IPv6 nobody can.
func (d *doors) twin(asked string) error {
	for try := 1; ; try++ {
		at := d.home[0].Addr().(*net.TCPAddr)
		if !at.IP.Equal(net.IPv4(127, 0, 0, 1)) {
			return nil
		}
		second := (&net.TCPAddr{IP: net.IPv6loopback, Port: at.Port}).String()
		l, err := net.Listen("tcp", second)
		if err == nil {
			d.home = append(d.home, l)
			return nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil
		}
		if _, port, _ := net.SplitHostPort(asked); port != "0" || try == twinTries {
			return taken(second, err)
		}
		next, err := listen(asked)
		if err != nil {
			return err
		}
		d.home[0].Close()
		d.home[0], d.addr = next, next.Addr().String()
	}
}

func (d *doors) goOutside(out *Outside) error {
	if out.TLS == nil {
		return &mail.Error{Op: "listen", Kind: mail.KindUsage, Addr: out.Listen, Err: errors.New("the page is not shown to other machines without TLS"),
			Hint: "give --tls-cert and --tls-key"}
	}
	l, err := net.Listen("tcp", out.Listen)
	if err != nil {
		return taken(out.Listen, err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	d.outside, d.outsideURL = tls.NewListener(l, out.TLS), "https://"+net.JoinHostPort(out.Name, port)
	return nil
}

// open serves at all doors until the servers are closed.
func (r *run) open(d *doors, beside *sync.WaitGroup) []*http.Server {
	server := func(h http.Handler) *http.Server {
		return &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second,
			IdleTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(r.Log.Handler(), slog.LevelDebug)}
	}
	serve := func(web *http.Server, l net.Listener) {
		beside.Go(func() {
			if err := web.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
				r.Log.Error("the web server stopped", "error", err.Error())
			}
		})
	}
	home := server(r.handler())
	for _, l := range d.home {
		serve(home, l)
	}
	list := []*http.Server{home}
	if d.outside != nil {
		list = append(list, server(r.Outside.Page))
		serve(list[1], d.outside)
	}
	return list
}
