package mail

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseID(t *testing.T) {
	t.Parallel()
	const good = "2026-05-30T14-03-11-123Z-0004-a1b2c3d4"
	for _, s := range []string{good, "1970-01-01T00-00-00-000Z-0000-00000000", "9999-12-31T23-59-59-999Z-9999-ffffffff",
		"2024-02-29T00-00-00-000Z-0000-00000000"} {
		if id, err := ParseID(s); err != nil || string(id) != s {
			t.Errorf("ParseID(%q) = %q, %v", s, id, err)
		}
	}
	for _, s := range []string{
		"", "..", "../../registry.json", "../" + good, good + "/..", good + "\n", " " + good, good + ".json", good[1:],
		strings.ToUpper(good), strings.ToLower(good),
		strings.Replace(good, "a1b2", "A1B2", 1), strings.Replace(good, "a1b2", "g1b2", 1),
		strings.Replace(good, "0004", "00.4", 1), strings.Replace(good, "0004", "-004", 1),
		strings.Replace(good, "0004", "٠004"[:4], 1),
		"2026-02-30T14-03-11-123Z-0004-a1b2c3d4", "2026-13-30T14-03-11-123Z-0004-a1b2c3d4",
		"2026-00-30T14-03-11-123Z-0004-a1b2c3d4", "2026-05-00T14-03-11-123Z-0004-a1b2c3d4",
		"2026-05-30T24-03-11-123Z-0004-a1b2c3d4", "2026-05-30T14-60-11-123Z-0004-a1b2c3d4",
		"2026-05-30T14-03-60-123Z-0004-a1b2c3d4", "2025-02-29T00-00-00-000Z-0000-00000000",
		"1969-12-31T23-59-59-999Z-0000-00000000", "2026-05-30T14:03:11.123Z-0004-a1b2c3d4",
		"2026-05-30T14-03-11-123Z-0004/a1b2c3d4", "2026-05-30T14-03-11-123Z/0004-a1b2c3d4",
		"2026-05-30T14-03-11-123Z-0004-a1b2c3\x00\x00",
	} {
		id, err := ParseID(s)
		if id != "" {
			t.Errorf("ParseID(%q) accepted", s)
		}
		wantError(t, err, KindInvalid, "is not a message id", "; use the whole id")
	}
}

func TestIDParts(t *testing.T) {
	t.Parallel()
	id := ID("2026-05-30T14-03-11-123Z-0004-a1b2c3d4")
	want := time.Date(2026, 5, 30, 14, 3, 11, 123e6, time.UTC)
	if !id.Time().Equal(want) || id.Counter() != 4 || id.Tag() != "a1b2c3d4" || id.Month() != "2026-05" ||
		id.Stem() != "2026-05-30T14-03-11-123Z-0004" || id.Short() != "a1b2c3d4" {
		t.Errorf("parts: %v %d %s %s %s", id.Time(), id.Counter(), id.Tag(), id.Month(), id.Stem())
	}
	none := ID("nonsense")
	if !none.Time().IsZero() || none.Counter() != 0 || none.Tag() != "" || none.Month() != "" || none.Stem() != "" || none.OwnedBy("x") {
		t.Error("an invalid id has parts")
	}
}

// The tag is part of the format: other programs compute it too.
func TestOwnerTag(t *testing.T) {
	t.Parallel()
	stem := "2026-05-30T14-03-11-123Z-0004"
	// printf 'aid-1\n2026-05-30T14-03-11-123Z-0004' | sha256sum
	if got := OwnerTag("aid-1", stem); got != "4e0dd677" {
		t.Errorf("OwnerTag = %s", got)
	}
	id := ID(stem + "-" + "4e0dd677")
	if !id.OwnedBy("aid-1") || id.OwnedBy("aid-2") || id.OwnedBy("") {
		t.Error("OwnedBy")
	}
}

func TestMatchSuffix(t *testing.T) {
	t.Parallel()
	id := ID("2026-05-30T14-03-11-123Z-0004-a1b2c3d4")
	for s, want := range map[string]bool{
		"a1b2c3d4": true, "A1B2C3D4": true, "c3d4": true, "0004-a1b2c3d4": true, string(id): true,
		"": false, "a1b2": false, "x" + string(id): false, "b1b2c3d4": false, ".*": false,
	} {
		if MatchSuffix(id, s) != want {
			t.Errorf("MatchSuffix(%q) != %v", s, want)
		}
	}
}

func TestDerivedID(t *testing.T) {
	t.Parallel()
	cause := ID("2026-05-30T14-03-11-123Z-0004-a1b2c3d4")
	other := ID("2026-05-30T14-03-11-123Z-0004-a1b2c3d5") // same instant, another owner
	ids := map[ID]string{}
	for _, c := range []struct {
		cause ID
		parts []string
	}{
		{cause, nil}, {cause, []string{""}}, {cause, []string{"bounce"}}, {cause, []string{"bounce", "coder"}},
		{cause, []string{"bouncec", "oder"}}, {cause, []string{"bounce\ncoder"}}, {other, []string{"bounce"}},
		{other, []string{"bounce", "coder"}},
	} {
		id := DerivedID(c.cause, c.parts...)
		if id != DerivedID(c.cause, c.parts...) {
			t.Errorf("%v: not the same twice", c)
		}
		if !id.Valid() || id.Stem() != c.cause.Stem() || id == c.cause {
			t.Errorf("%v: %s", c, id)
		}
		if before, ok := ids[id]; ok {
			t.Errorf("%v and %s give the same id", c, before)
		}
		ids[id] = fmt.Sprint(c)
	}
	if DerivedID("../x", "bounce") != "" {
		t.Error("an invalid cause gives an id")
	}
}

func TestIDOrderIsStringOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := genTime().Draw(t, "a"), genTime().Draw(t, "b")
		n, m := rapid.IntRange(0, maxCounter).Draw(t, "n"), rapid.IntRange(0, maxCounter).Draw(t, "m")
		x, y := newID(a.UnixMilli(), n, "aid-x"), newID(b.UnixMilli(), m, "aid-y")
		if !x.Valid() || !x.Time().Equal(a) || x.Counter() != n || !x.OwnedBy("aid-x") {
			t.Fatalf("%s from %v %d", x, a, n)
		}
		before := a.Before(b) || a.Equal(b) && n < m
		if before && x >= y {
			t.Fatalf("%s should sort before %s", x, y)
		}
	})
}

func FuzzParseID(f *testing.F) {
	shape := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z-\d{4}-[0-9a-f]{8}$`)
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseID(s)
		if err != nil {
			if id != "" {
				t.Fatalf("an id and an error: %q", id)
			}
			return
		}
		if string(id) != s || !shape.MatchString(s) {
			t.Fatalf("accepted %q", s)
		}
		if again := stemOf(id.Time().UnixMilli(), id.Counter()); again != id.Stem() {
			t.Fatalf("%q reads as %q", s, again)
		}
	})
}
