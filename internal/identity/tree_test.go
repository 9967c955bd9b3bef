package identity

import "strings"

// chain is a fake process tree: the command lines above this process, the
// nearest first.
type chain struct {
	above []Process
	tty   *Terminal
}

func parents(lines ...string) chain {
	var c chain
	for _, l := range lines {
		args := strings.Fields(l)
		name := args[0][strings.LastIndexByte(args[0], '/')+1:]
		c.above = append(c.above, Process{Name: name, Args: args})
	}
	return c
}

func (chain) Self() int { return 101 }

func (c chain) Process(pid int) (Process, bool) {
	i := 100 - pid
	if i == -1 {
		return Process{PID: pid, PPID: 100, Name: "post"}, true
	}
	if i < 0 || i >= len(c.above) {
		return Process{}, false
	}
	p := c.above[i]
	p.PID, p.PPID = pid, pid-1
	return p, true
}

func (c chain) Terminal() (Terminal, bool) {
	if c.tty == nil {
		return Terminal{}, false
	}
	return *c.tty, true
}

// env makes a getenv of "A=x B=y".
func env(text string) func(string) string {
	m := map[string]string{}
	for _, f := range strings.Fields(text) {
		k, v, _ := strings.Cut(f, "=")
		m[k] = v
	}
	return func(k string) string { return m[k] }
}
