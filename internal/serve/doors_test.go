package serve

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

func page(says string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, says) })
}

func hasIPv6() bool {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// TestTwin: a browser that is given a name of this machine finds us, whichever
// address it tries first, and nobody else can be there.
func TestTwin(t *testing.T) {
	t.Parallel()
	if !hasIPv6() {
		t.Skip("no IPv6 here")
	}
	d, err := (&Server{Page: page("x")}).doors("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	_, port, _ := net.SplitHostPort(d.addr)
	if l, err := net.Listen("tcp", "[::1]:"+port); err == nil {
		l.Close()
		t.Error("another program can listen where browsers look first")
	}
	other, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	_, port, _ = net.SplitHostPort(other.Addr().String())
	if d, err := (&Server{Page: page("x")}).doors("127.0.0.1:" + port); mail.KindOf(err) != mail.KindConflict {
		t.Errorf("%v %v", d, err)
	}
	if d, err := (&Server{}).doors("127.0.0.1:" + port); err != nil { // without a page nobody looks there
		t.Error(err)
	} else {
		d.close()
	}
}

// TestOutsideOnlyWithTLS: other machines see the page over TLS, and nothing else.
func TestOutsideOnlyWithTLS(t *testing.T) {
	t.Parallel()
	if _, err := (&Server{Outside: &Outside{Listen: "127.0.0.1:0", Name: "box.example"}}).doors("127.0.0.1:0"); mail.KindOf(err) != mail.KindUsage {
		t.Fatal(err)
	}
	for _, addr := range []string{"0.0.0.0:0", "192.0.2.1:80", "localhost:0", ":0"} {
		if _, err := (&Server{}).doors(addr); mail.KindOf(err) != mail.KindUsage {
			t.Errorf("%s: %v", addr, err)
		}
	}
	desk := newDesk(t, "coder")
	ready := make(chan string, 1)
	s := &Server{Dir: desk.dir, Sys: desk.sys, Program: "post", Log: slog.New(slog.NewTextHandler(desk.log, nil)), Listen: "127.0.0.1:0",
		StateDir: desk.state, Page: page("home"), Ready: func(addr string) { ready <- addr },
		Outside: &Outside{Listen: "127.0.0.1:0", Name: "box.example", TLS: selfSigned(t, "box.example"), Page: page("away")}}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() { stop(); <-ended }()
	addr := <-ready
	at, ok := Announced(desk.state, desk.office().Config.ID)
	if !ok || at.Addr != addr || !at.Page || !strings.HasPrefix(at.Outside, "https://box.example:") {
		t.Fatalf("%+v", at)
	}
	h, err := AskHealth(ctx, addr)
	if err != nil || !h.OK || h.Office != desk.office().Config.ID {
		t.Errorf("%+v %v", h, err)
	}
	port := at.Outside[strings.LastIndexByte(at.Outside, ':')+1:]
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: "box.example"}}}
	for url, want := range map[string]string{"http://" + addr + "/": "home", "https://127.0.0.1:" + port + "/": "away", "https://127.0.0.1:" + port + "/healthz": "away"} {
		res, err := client.Get(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if string(body) != want {
			t.Errorf("%s: %s", url, body)
		}
	}
	res, err := http.Get("http://127.0.0.1:" + port + "/")
	if err == nil {
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if strings.Contains(string(body), "away") || res.StatusCode < 400 {
			t.Errorf("without TLS: %d %s", res.StatusCode, body)
		}
	}
}

func selfSigned(t *testing.T, name string) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}
