package unit

import (
	"encoding/xml"
	"path/filepath"
	"strings"
)

// plist is a launchd agent (launchd.plist(5)). It is started again only when it
// failed.
func (s Service) plist() string {
	var b strings.Builder
	b.WriteString(xml.Header)
	b.WriteString("<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n")
	b.WriteString("<plist version=\"1.0\">\n<dict>\n")
	key := func(name, value string) { b.WriteString("\t<key>" + name + "</key>\n\t" + value + "\n") }
	key("Label", text(s.Name(Launchd)))
	key("ProgramArguments", "<array>\n\t\t"+text(s.Program)+"\n\t\t"+text("serve")+"\n\t\t"+text("--office")+"\n\t\t"+text(s.Office)+"\n\t</array>")
	env := "<key>PATH</key>" + text(s.Path)
	if s.StateHome != "" {
		env += "\n\t\t<key>XDG_STATE_HOME</key>" + text(s.StateHome)
	}
	key("EnvironmentVariables", "<dict>\n\t\t"+env+"\n\t</dict>")
	key("RunAtLoad", "<true/>")
	key("KeepAlive", "<dict>\n\t\t<key>SuccessfulExit</key><false/>\n\t</dict>")
	key("ThrottleInterval", "<integer>10</integer>")
	key("ProcessType", text("Background"))
	key("Umask", "<integer>63</integer>") // 077
	key("StandardErrorPath", text(filepath.Join(s.Home, "Library", "Logs", s.Name(Launchd)+".log")))
	b.WriteString("</dict>\n</plist>\n")
	return b.String()
}

func text(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s)) // a Builder never fails
	return "<string>" + b.String() + "</string>"
}
