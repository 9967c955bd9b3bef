package postd

import (
	"crypto/tls"
	"errors"
	"flag"
	"log/slog"
	"net"
	"strings"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/serve"
	"github.com/postroom/postroom/internal/web"
)

// outside are the flags of a page that other machines see.
type outside struct{ listen, name, cert, key string }

func (x *outside) declare(fs *flag.FlagSet) {
	fs.StringVar(&x.listen, "page", "", "show the page to other machines at `ADDR`, with TLS")
	fs.StringVar(&x.name, "page-name", "", "the host `NAME` by which they ask")
	fs.StringVar(&x.cert, "tls-cert", "", "the `FILE` with the certificate, PEM")
	fs.StringVar(&x.key, "tls-key", "", "the `FILE` with its key, PEM")
}

// open makes the page for other machines; nil if none is wanted. Nothing is
// ever shown to them without TLS, or to a browser without a session.
func (x *outside) open(e *cli.Env, o *office.Office, log *slog.Logger) (out *serve.Outside, shut func(), err error) {
	if x.listen == "" && x.name+x.cert+x.key == "" {
		return nil, func() {}, nil
	}
	if err := x.check(e); err != nil {
		return nil, nil, err
	}
	cert, err := tls.LoadX509KeyPair(x.cert, x.key)
	if err != nil {
		return nil, nil, e.Fail(mail.KindInvalid, x.cert, err, "give a certificate and its key, both as PEM")
	}
	if leaf := cert.Leaf; leaf != nil && leaf.VerifyHostname(x.name) != nil {
		return nil, nil, e.Fail(mail.KindInvalid, x.cert, errors.New("the certificate is not for "+cli.Line(x.name)), "give its name with --page-name, or another certificate")
	}
	site := web.New(web.Options{Env: e, Dir: o.Dir, Log: log, Hosts: []string{strings.ToLower(x.name)}, TLS: true})
	return &serve.Outside{Listen: x.listen, Name: x.name, Page: site.Handler(),
		TLS: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}}, site.Close, nil
}

// check refuses what would show the page without TLS, or by no name.
func (x *outside) check(e *cli.Env) error {
	if x.listen == "" {
		return e.Usage("--page-name, --tls-cert and --tls-key are for --page", "say --page ADDR, or leave them out")
	}
	host, _, err := net.SplitHostPort(x.listen)
	switch {
	case err != nil:
		return e.Usage("--page "+cli.Line(x.listen)+" is not HOST:PORT", "say --page 0.0.0.0:8443, for example")
	case x.cert == "" || x.key == "":
		return e.Usage("--page wants TLS", "give --tls-cert FILE and --tls-key FILE; on this machine alone, leave --page out: post ui needs none")
	}
	if x.name == "" {
		ip := net.ParseIP(host)
		if ip == nil && host == "" || ip != nil && ip.IsUnspecified() {
			return e.Usage("--page "+cli.Line(x.listen)+" has no name", "say by which name browsers ask: --page-name NAME")
		}
		x.name = host
	}
	return nil
}
