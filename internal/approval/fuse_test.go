package approval

import (
	"testing"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

func TestFuse(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem(noon)
	key := ConversationFuse("conv-1")
	if len(key) != 16 || key == AgentFuse("conv-1") || key == ConversationFuse("conv-2") {
		t.Errorf("key %q", key)
	}
	if f, err := LoadFuse(m, key); f != (Fuse{}) || err != nil {
		t.Fatalf("%v, %v", f, err)
	}
	blown := Fuse{Approval: "ap-0123456789", Blown: true, Message: msgA}
	released := Fuse{Approval: "ap-0123456789", Allowed: 24, AllowedHour: 3, ReleasedAt: noon()}
	for _, f := range []Fuse{blown, released} {
		if err := SaveFuse(m, key, f); err != nil {
			t.Fatal(err)
		}
		for state := range m.CrashStates(100) {
			if got, err := LoadFuse(state, key); got != f || err != nil {
				t.Fatalf("%+v, %v", got, err)
			}
		}
	}
	if s := blown.State(); !s.Blown || s.Approval != blown.Approval || s.Message != msgA {
		t.Errorf("%+v", s)
	}
	for content, kind := range map[string]mail.Kind{
		"": mail.KindCorrupt, "{}": mail.KindCorrupt, `{"v":2}`: mail.KindForeign, `{"v":1,"allowed":-1}`: mail.KindCorrupt,
	} {
		write(t, m, fusePath(key), content)
		f, err := LoadFuse(m, key)
		wantKind(t, err, kind)
		if !f.Blown {
			t.Errorf("%q is a whole fuse", content)
		}
	}
}
