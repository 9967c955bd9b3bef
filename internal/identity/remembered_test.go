package identity

import "testing"

// counted counts the look-ups in a tree.
type counted struct {
	chain
	looks map[int]int
}

func (c counted) Process(pid int) (Process, bool) {
	c.looks[pid]++
	return c.chain.Process(pid)
}

func TestRemembered(t *testing.T) {
	t.Parallel()
	c := counted{parents("bash", "claude", "zsh"), map[int]int{}}
	tree := Remembered(c)
	for range 3 {
		if r, _ := Surroundings(env(""), tree); r != "claude" {
			t.Fatalf("the runtime is %q", r)
		}
		if _, ok := tree.Process(1); ok {
			t.Fatal("a process that is not there was found")
		}
	}
	for pid, n := range c.looks {
		if n != 1 {
			t.Errorf("process %d was looked up %d times", pid, n)
		}
	}
	if _, ok := tree.(Census); ok {
		t.Error("a tree that lists nothing became one that does")
	}
}
