package notify_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// playCLI is a CLI with a prompt. It shows and does what the file "mode" in dir
// says at each key.
func playCLI(dir string) int {
	stty := exec.Command("stty", "raw", "-echo")
	stty.Stdin = os.Stdin
	if err := stty.Run(); err != nil {
		return 9
	}
	draft, sent := "", 0
	buf := make([]byte, 256)
	for {
		mode, _ := os.ReadFile(filepath.Join(dir, "mode"))
		drawCLI(string(mode), draft)
		n, err := os.Stdin.Read(buf)
		if err != nil {
			return 0
		}
		mode, _ = os.ReadFile(filepath.Join(dir, "mode"))
		for _, c := range buf[:n] {
			switch {
			case c == '\r' && strings.HasPrefix(string(mode), "swallow"):
				left, _ := strconv.Atoi(strings.TrimPrefix(string(mode), "swallow "))
				mode = fmt.Appendf(nil, "swallow %d", left-1)
				if left <= 1 {
					mode = nil
				}
				if os.WriteFile(filepath.Join(dir, "mode"), mode, 0o600) != nil {
					return 9
				}
			case c == '\r':
				sent++
				name := filepath.Join(dir, fmt.Sprintf("seen-%d", sent))
				if os.WriteFile(name, []byte(draft), 0o600) != nil {
					return 9
				}
				draft = ""
			case c == 0x15:
				draft = ""
			case c >= ' ':
				draft += string(rune(c))
			}
		}
	}
}

func drawCLI(mode, draft string) {
	rule := strings.Repeat("─", 100)
	var b strings.Builder
	b.WriteString("\x1b[2J\x1b[H")
	if mode == "dialog" {
		b.WriteString(rule + " Do you want to proceed?\r\n \u276f 1. Yes\r\n   2. No\r\n footer\x1b[2;2H")
		fmt.Print(b.String())
		return
	}
	b.WriteString("welcome\r\n" + rule)
	rest := "\u276f\u00a0" + draft
	width := []rune(rest)
	rows := 0
	for len(width) > 100 {
		b.WriteString(string(width[:100]))
		width = append([]rune("  "), width[100:]...)
		rows++
	}
	b.WriteString(string(width) + "\r\n" + rule + "  footer")
	if mode == "busy" {
		b.WriteString(" esc to interrupt")
	}
	fmt.Fprintf(&b, "\x1b[%d;%dH", 3+rows, 1+len(width))
	fmt.Print(b.String())
}
