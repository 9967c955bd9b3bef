package unit

import "strings"

// unit is a systemd user unit. Exit codes that a restart cannot change (usage,
// refused: another serve is there, the office has moved) end it for good.
func (s Service) unit() string {
	var b strings.Builder
	b.WriteString("[Unit]\nDescription=Postroom router of office " + specifiers(s.OfficeID) + "\n\n[Service]\n")
	b.WriteString("ExecStart=" + program(s.Program) + " serve --office " + argument(s.Office) + "\n")
	b.WriteString("Environment=" + quoted("PATH="+s.Path) + "\n")
	if s.StateHome != "" {
		b.WriteString("Environment=" + quoted("XDG_STATE_HOME="+s.StateHome) + "\n")
	}
	b.WriteString("Restart=on-failure\nRestartSec=5\nRestartPreventExitStatus=2 5\nTimeoutStopSec=30\nUMask=0077\n")
	b.WriteString("\n[Install]\nWantedBy=default.target\n")
	return b.String()
}

// specifiers keeps systemd from replacing %x (systemd.unit(5), Specifiers).
func specifiers(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// quoted is one word of systemd's (systemd.syntax(7), Quoting).
func quoted(s string) string {
	s = strings.ReplaceAll(s, `\`, `\\`)
	s = strings.ReplaceAll(s, `"`, `\"`)
	return `"` + specifiers(s) + `"`
}

// program is the first word of a command line, in which $ stands for itself.
func program(s string) string { return quoted(s) }

// argument is any other word, in which $ would begin a variable
// (systemd.service(5), Command lines).
func argument(s string) string { return strings.ReplaceAll(quoted(s), "$", "$$") }
