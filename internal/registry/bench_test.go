package registry

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/vfs"
)

func benchEntry(i int) Entry {
	name := fmt.Sprintf("worker-%04d", i)
	e := Entry{
		AID: fmt.Sprintf("a-%08x", i*2654435761), Name: name, Role: "reviews and tests changes",
		InboxPath:  "/home/someone/.local/share/postroom/office/agents/" + name + "/inbox",
		Transcript: "_inbox_" + name + ".md", Workspace: "/home/someone/src/project/worktrees/" + name,
		Runtime: "claude", Notify: []string{"claude"}, Joined: time.Date(2026, 5, 30, 14, 3, 11, 0, time.UTC),
	}
	if i%10 == 0 {
		e.Aliases = []string{fmt.Sprintf("old-%04d", i)}
	}
	return e
}

func BenchmarkLoad1000(b *testing.B) {
	d := &document{}
	for i := range 1000 {
		d.agents = append(d.agents, benchEntry(i))
	}
	dir := b.TempDir()
	raw := encode(d)
	if err := os.WriteFile(dir+"/"+File, raw, 0o600); err != nil {
		b.Fatal(err)
	}
	fsys, err := vfs.OpenReal(dir)
	if err != nil {
		b.Fatal(err)
	}
	last := d.agents[999]
	b.SetBytes(int64(len(raw)))
	for name, fn := range map[string]func(*Registry){
		"load":             func(*Registry) {},
		"load+lookups":     func(r *Registry) { r.Agent(last.Name); r.ByAID(d.agents[500].AID) },
		"load+worst":       func(r *Registry) { r.Agent("nobody"); r.ByAID(last.AID) },
		"load+entry":       func(r *Registry) { r.Entry(last.Name) },
		"load+active":      func(r *Registry) { r.Active() },
		"load+all-entries": func(r *Registry) { r.Entries() },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := Load(fsys)
				if err != nil {
					b.Fatal(err)
				}
				fn(r)
				r.Close()
			}
		})
	}
}
