//go:build e2e && linux

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// idAt is an id of an agent's own, at a time of its choice.
func (d *desk) idAt(agent string, at time.Time, n int) string {
	head := at.UTC().Format("2006-01-02T15-04-05") + fmt.Sprintf("-%03dZ-%04d", at.UnixMilli()%1000, n)
	sum := sha256.Sum256([]byte(d.look().boxes[agent].aid + "\n" + head))
	return head + "-" + hex.EncodeToString(sum[:])[:8]
}

// setClock makes a mailbox's clock stand where the wall clock was.
func (d *desk) setClock(agent, id string) {
	d.t.Helper()
	must(d.t, os.WriteFile(d.box(agent, ".clock"), []byte(id+strings.Repeat(" ", 63-len(id))+"\n"), 0o600))
}

// The wall clock is set back by a day: what is written later sorts later all the
// same, and nothing is hidden.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	d.setClock("ann", d.idAt("ann", time.Now().Add(23*time.Hour), 3))
	var ids []string
	question := d.send("ann", "bob", "yesterday's clock", "--act", "query")
	if question < time.Now().Add(22*time.Hour).UTC().Format("2006-01-02T15") {
		t.Fatalf("%s forgets what its clock had seen", question)
	}
	ids = append(ids, question, d.ok("reply", question, "--as", "bob", "--act", "query", "-m", "an answer").id())
	ids = append(ids, d.ok("reply", ids[1], "--as", "ann", "-m", "and the last word").id())
	if !slices.IsSorted(ids) {
		t.Fatalf("a reply sorts before what it answers: %v", ids)
	}
	// A third agent, whose clock is right, is not hidden behind them.
	d.join("carl")
	late := d.send("carl", "bob", "by a right clock")
	out := d.ok("inbox", "--as", "bob", "--json").out
	for _, id := range []string{question, ids[2], late} {
		if !strings.Contains(out, id) {
			t.Fatalf("%s is not shown:\n%s", id, out)
		}
	}
	if got := d.order("bob"); !slices.Equal(got, []string{question, ids[2], late}) {
		t.Fatalf("order of the inbox: %v", got)
	}
	d.post("wait", "--as", "ann", "--reply-to", question, "--timeout", "10s").want(0, "query from bob")
	for range 3 {
		d.ok("read", "next", "--as", "bob")
	}
	d.post("read", "next", "--as", "bob").want(6, "no unread mail")
	d.whole()
}

// order is the order in which an inbox is shown.
func (d *desk) order(agent string) []string {
	var out []string
	for _, line := range lines(d.ok("inbox", "--as", agent, "--json").out) {
		var it struct{ ID string }
		must(d.t, json.Unmarshal([]byte(line), &it))
		out = append(out, it.ID)
	}
	return out
}

// An id from the far future is accepted, and drags nobody's clock along.
func TestFarFuture(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	future := d.idAt("ann", time.Now().AddDate(5, 0, 0), 0)
	d.drop("ann", future+".json", `{"id":"`+future+`","to":"bob","act":"query","subject":"s","body":"from the future"}`)
	d.ok("route")
	id := d.once("from the future", "bob")
	d.ok("read", "last", "--as", "bob")
	reply := d.ok("reply", id, "--as", "bob", "-m", "from today").id()
	tomorrow := time.Now().AddDate(0, 0, 2).UTC().Format("2006-01-02T15")
	if reply > tomorrow {
		t.Fatalf("bob's clock went along: %s", reply)
	}
	if next := d.send("ann", "bob", "after that"); next > tomorrow {
		t.Fatalf("ann's clock went along: %s", next)
	}
	d.post("wait", "--as", "ann", "--reply-to", id, "--timeout", "5s").want(0, "inform from bob")
	d.once("after that", "bob")
	d.whole()
}
