package notify

import (
	"context"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unicode/utf16"
)

// KindDesktop is the kind of people who are told by their desktop.
const KindDesktop = "desktop"

// desktopMax is how much of a notice a desktop gets, in bytes.
const desktopMax = 1500

// Desktop shows a notification by what the system has: notify-send or gdbus
// where the freedesktop service is, terminal-notifier or osascript on macOS, a
// toast by PowerShell on Windows. It takes no arguments. What is shown goes to
// the program as arguments (on Windows in its environment), never as part of a
// script.
//
// Notified means that the desktop's service took it; whether a person looks is
// not known.
type Desktop struct {
	Getenv func(string) string // nil is os.Getenv
	System string              // runtime.GOOS if empty
}

// Kind returns KindDesktop.
func (Desktop) Kind() string { return KindDesktop }

// Check refuses arguments, and a system on which nothing can show a notice.
func (d Desktop) Check(args []string) ([]string, error) {
	if len(args) > 0 {
		return nil, usage(KindDesktop, "takes no arguments", "")
	}
	if _, hint := d.tool(); hint != "" {
		return nil, usage(KindDesktop, "nothing here can show a notice", hint)
	}
	return nil, nil
}

// Notify implements Adapter.
func (d Desktop) Notify(ctx context.Context, agent Agent, p Pointer) (Outcome, error) {
	if err := p.Check(); err != nil {
		return Fail(KindDesktop, agent, err.Error(), "")
	}
	tool, hint := d.tool()
	if hint != "" {
		return Fail(KindDesktop, agent, "nothing here can show a notice", hint)
	}
	title, body := line(p.Title(), 200), p.Body(desktopMax)
	e := child{argv: append([]string{tool}, showArgs(tool, title, body)...), env: d.env(title, body), dir: filepath.Dir(tool)}.run(ctx)
	if e.ok {
		return Outcome{Notified, line("desktop: "+filepath.Base(tool)+" took it (exit 0)", evidenceMax)}, nil
	}
	if e.hint == "" && d.system() == "linux" && d.getenv("DBUS_SESSION_BUS_ADDRESS") == "" {
		e.hint = "run post serve in the person's own desktop session, where there is a session bus"
	}
	return Fail(KindDesktop, agent, filepath.Base(tool)+": "+e.why, e.hint)
}

func (d Desktop) getenv(key string) string {
	if d.Getenv == nil {
		return os.Getenv(key)
	}
	return d.Getenv(key)
}

func (d Desktop) system() string {
	if d.System == "" {
		return runtime.GOOS
	}
	return d.System
}

// tool finds the program that shows notices, or says what would help.
func (d Desktop) tool() (path, hint string) {
	names, hint := []string{"notify-send", "gdbus"}, "install notify-send (package libnotify-bin, or libnotify)"
	switch d.system() {
	case "darwin":
		names, hint = []string{"terminal-notifier", "osascript"}, "put osascript on PATH"
	case "windows":
		names, hint = []string{"powershell.exe"}, "put powershell.exe on PATH"
	}
	for _, n := range names {
		if path := d.find(n); path != "" {
			return path, ""
		}
	}
	return "", hint
}

// find looks for a program on the PATH of the environment that counts here.
func (d Desktop) find(name string) string {
	for _, dir := range filepath.SplitList(d.getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	return ""
}

// env is what a desktop's program needs to find its session.
func (d Desktop) env(title, body string) []string {
	env := scrubbed(d.Getenv)
	for _, k := range []string{"DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"} {
		v := d.getenv(k)
		if v == "" && k == "XDG_RUNTIME_DIR" && d.system() == "linux" {
			v = runtimeDir()
		}
		if v != "" {
			env = append(env, k+"="+v)
		}
	}
	if d.system() == "windows" {
		env = append(env, pair("title", title), pair("body", body))
	}
	return env
}

// runtimeDir is where a user's session bus is by convention, for those who were
// started outside the session.
func runtimeDir() string {
	dir := "/run/user/" + strconv.Itoa(os.Getuid())
	if fi, err := os.Stat(dir); err == nil && fi.IsDir() {
		return dir
	}
	return ""
}

// showArgs are the arguments by which a program shows a notice.
func showArgs(tool, title, body string) []string {
	switch strings.TrimSuffix(filepath.Base(tool), ".exe") {
	case "notify-send":
		// It takes backslashes in the body for escapes.
		return []string{"--app-name=Postroom", "--category=im.received", "--", title, strings.ReplaceAll(markup(body), `\`, `\\`)}
	case "gdbus":
		return []string{"call", "--session", "--dest", "org.freedesktop.Notifications", "--object-path", "/org/freedesktop/Notifications",
			"--method", "org.freedesktop.Notifications.Notify", "--", variant("Postroom"), "uint32 0", variant(""), variant(title), variant(markup(body)), "@as []", "@a{sv} {}", "int32 -1"}
	case "terminal-notifier":
		return []string{"-title", dashless(title), "-message", dashless(body), "-group", "postroom"}
	case "osascript":
		return []string{"-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run", dashless(title), dashless(body)}
	}
	return []string{"-NoProfile", "-NonInteractive", "-EncodedCommand", encoded(toast)}
}

// toast is the whole of what PowerShell runs; the words come in the environment.
const toast = `$ErrorActionPreference = 'Stop'
[void][Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]
$xml = [Windows.UI.Notifications.ToastNotificationManager]::GetTemplateContent([Windows.UI.Notifications.ToastTemplateType]::ToastText02)
$text = $xml.GetElementsByTagName('text')
[void]$text.Item(0).AppendChild($xml.CreateTextNode($env:POSTROOM_TITLE))
[void]$text.Item(1).AppendChild($xml.CreateTextNode($env:POSTROOM_BODY))
$id = '{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\WindowsPowerShell\v1.0\powershell.exe'
[Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier($id).Show([Windows.UI.Notifications.ToastNotification]::new($xml))
`

// encoded is a script as PowerShell takes it: base64 of UTF-16.
func encoded(script string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(script)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// markup keeps text from being read as the small HTML that notices may hold.
func markup(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// variant is text as GVariant's text format has it.
func variant(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\t", `\t`).Replace(s) + "'"
}

// dashless keeps text from being read as an option.
func dashless(s string) string {
	if strings.HasPrefix(s, "-") {
		return " " + s
	}
	return s
}
