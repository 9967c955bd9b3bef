package notify_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/notify"
)

// desktopBus is a session bus of its own with a notification service on it, which
// writes down what it is asked to show.
type desktopBus struct {
	t       *testing.T
	address string
	conn    net.Conn
	serial  uint32
	mu      sync.Mutex
	shown   [][2]string // summary, body
}

func newDesktopBus(t *testing.T) *desktopBus {
	t.Helper()
	daemon, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("no dbus-daemon here (package dbus-daemon)")
	}
	socket := filepath.Join(t.TempDir(), "bus")
	cmd := exec.Command(daemon, "--session", "--nofork", "--nopidfile", "--print-address", "--address=unix:path="+socket)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal("the bus does not start: ", err)
	}
	b := &desktopBus{t: t, address: strings.TrimSpace(line)}
	if b.conn, err = net.Dial("unix", socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.conn.Close() })
	uid := hex.EncodeToString([]byte(strconv.Itoa(os.Getuid())))
	fmt.Fprintf(b.conn, "\x00AUTH EXTERNAL %s\r\n", uid)
	r := bufio.NewReader(b.conn)
	if ok, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(ok, "OK ") {
		t.Fatalf("the bus does not let us in: %q, %v", ok, err)
	}
	fmt.Fprint(b.conn, "BEGIN\r\n")
	ready := make(chan struct{})
	go b.serve(r, ready)
	b.send(1, []field{{1, "o", "/org/freedesktop/DBus"}, {2, "s", "org.freedesktop.DBus"}, {3, "s", "Hello"}, {6, "s", "org.freedesktop.DBus"}}, nil)
	name := (&wire{}).text("org.freedesktop.Notifications").number(0)
	b.send(1, []field{{1, "o", "/org/freedesktop/DBus"}, {2, "s", "org.freedesktop.DBus"}, {3, "s", "RequestName"}, {6, "s", "org.freedesktop.DBus"}, {8, "g", "su"}}, name)
	select {
	case <-ready:
	case <-time.After(30 * time.Second):
		t.Fatal("the bus does not answer")
	}
	return b
}

// wire is a message's body, little-endian, as the D-Bus specification has it.
type wire struct{ bytes.Buffer }

func (w *wire) pad(n int) *wire {
	for w.Len()%n != 0 {
		w.WriteByte(0)
	}
	return w
}

func (w *wire) number(n uint32) *wire {
	w.pad(4)
	binary.Write(&w.Buffer, binary.LittleEndian, n)
	return w
}

func (w *wire) text(s string) *wire {
	w.number(uint32(len(s)))
	w.WriteString(s)
	w.WriteByte(0)
	return w
}

func (w *wire) signature(s string) *wire {
	w.WriteByte(byte(len(s)))
	w.WriteString(s)
	w.WriteByte(0)
	return w
}

// field is one header field: its code, type and value.
type field struct {
	code  byte
	kind  string // o, s, g, u
	value any
}

func (b *desktopBus) send(kind byte, fields []field, body *wire) {
	if body == nil {
		body = &wire{}
	}
	b.serial++
	head, list := &wire{}, &wire{}
	for _, f := range fields {
		list.pad(8)
		list.WriteByte(f.code)
		list.signature(f.kind)
		switch f.kind {
		case "u":
			list.number(f.value.(uint32))
		case "g":
			list.signature(f.value.(string))
		default:
			list.text(f.value.(string))
		}
	}
	head.Write([]byte{'l', kind, 0, 1})
	head.number(uint32(body.Len())).number(b.serial).number(uint32(list.Len()))
	head.Write(list.Bytes())
	head.pad(8)
	head.Write(body.Bytes())
	b.conn.Write(head.Bytes())
}

// serve answers whoever asks to show something.
func (b *desktopBus) serve(r io.Reader, ready chan struct{}) {
	answered := 0
	for {
		m, err := readMessage(r)
		if err != nil {
			return
		}
		if m.kind == 2 {
			if answered++; answered == 2 { // Hello, RequestName
				close(ready)
			}
			continue
		}
		if m.kind != 1 {
			continue
		}
		reply := []field{{5, "u", m.serial}, {6, "s", m.sender}}
		switch m.member {
		case "Notify":
			m.text() // the program
			m.number()
			m.text() // an icon
			summary, body := m.text(), m.text()
			b.mu.Lock()
			b.shown = append(b.shown, [2]string{summary, body})
			b.mu.Unlock()
			b.send(2, append(reply, field{8, "g", "u"}), (&wire{}).number(1))
		case "GetServerInformation":
			b.send(2, append(reply, field{8, "g", "ssss"}), (&wire{}).text("test").text("test").text("1").text("1.2"))
		case "GetCapabilities":
			b.send(2, append(reply, field{8, "g", "as"}), (&wire{}).number(9).text("body"))
		default:
			b.send(3, append(reply, field{4, "s", "org.freedesktop.DBus.Error.UnknownMethod"}), nil)
		}
	}
}

// message is one that came, and how far its body was read.
type message struct {
	kind           byte
	serial         uint32
	member, sender string
	body           []byte
	at             int
}

func (m *message) number() uint32 {
	m.at = (m.at + 3) &^ 3
	n := binary.LittleEndian.Uint32(m.body[m.at:])
	m.at += 4
	return n
}

func (m *message) text() string {
	n := int(m.number())
	s := string(m.body[m.at : m.at+n])
	m.at += n + 1
	return s
}

func readMessage(r io.Reader) (*message, error) {
	head := make([]byte, 16)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	if head[0] != 'l' {
		return nil, fmt.Errorf("byte order %q", head[0])
	}
	m := &message{kind: head[1], serial: binary.LittleEndian.Uint32(head[8:])}
	n := int(binary.LittleEndian.Uint32(head[12:]))
	m.body = make([]byte, (n+7)&^7)
	if _, err := io.ReadFull(r, m.body); err != nil {
		return nil, err
	}
	for m.at < n { // the header's fields begin at a multiple of 8
		m.at = (m.at + 7) &^ 7
		code, sig := m.body[m.at], m.body[m.at+2]
		m.at += 4
		switch sig {
		case 'u':
			m.number()
		case 'g':
			m.at += int(m.body[m.at]) + 2
		default:
			value := m.text()
			if code == 3 {
				m.member = value
			} else if code == 7 {
				m.sender = value
			}
		}
	}
	body := make([]byte, binary.LittleEndian.Uint32(head[4:]))
	_, err := io.ReadFull(r, body)
	m.body, m.at = body, 0
	return m, err
}

// The real programs, on a real bus: what they show is what we said.
func TestDesktopOnABus(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"notify-send", "gdbus"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(tool)
			if err != nil {
				t.Skip("no " + tool + " here")
			}
			b := newDesktopBus(t)
			bin := t.TempDir()
			if err := os.Symlink(path, filepath.Join(bin, tool)); err != nil {
				t.Fatal(err)
			}
			env := map[string]string{"PATH": bin, "HOME": bin, "DBUS_SESSION_BUS_ADDRESS": b.address}
			d := notify.Desktop{Getenv: func(k string) string { return env[k] }, System: "linux"}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			out, err := d.Notify(ctx, notify.Agent{Name: "human", Notify: []string{"desktop"}}, personPointer(t))
			if err != nil || out.State != notify.Notified || !strings.Contains(out.Evidence, tool) {
				t.Fatalf("%+v, %v", out, err)
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			want := [2]string{"Postroom: coder asks you", "1 question waits for you: run `post approvals ap-0123456789`\n" +
				"coder writes: --urgency=critical &lt;b&gt;&amp;x&lt;/b&gt; $(id)\nit's \\ a\nbody"}
			if len(b.shown) != 1 || b.shown[0] != want {
				t.Errorf("%q", b.shown)
			}
		})
	}
}

// A bus without a notification service is a failure, and said.
func TestDesktopWithoutService(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("gdbus")
	if err != nil {
		t.Skip("no gdbus here")
	}
	b := newDesktopBus(t)
	b.conn.Close()
	bin := t.TempDir()
	if err := os.Symlink(path, filepath.Join(bin, "gdbus")); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"PATH": bin, "HOME": bin, "DBUS_SESSION_BUS_ADDRESS": b.address}
	d := notify.Desktop{Getenv: func(k string) string { return env[k] }, System: "linux"}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	deadline := time.Now().Add(30 * time.Second)
	for { // the bus notices a moment later that the service is gone
		out, _ := d.Notify(ctx, notify.Agent{Name: "human"}, personPointer(t))
		if out.State == notify.Failed && strings.Contains(out.Evidence, "gdbus: exit status 1") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", out)
		}
	}
}
