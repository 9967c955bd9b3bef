package config

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

const bareOffice = "format = 1\noffice = \"o-1\"\n"

func TestPersonTable(t *testing.T) {
	t.Parallel()
	o, err := DecodeOffice([]byte(bareOffice + `
[person] # how I am reached
notify = ["desktop", 'bell:/dev/pts/3', ["webhook", "@/home/me/a \"b\", c", "template:slack"],]
quiet = "22:00-07:00 Europe/Berlin"   # nights
remind_after = "off"
show = "subject"
later = 1
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Person{Notify: [][]string{{"desktop"}, {"bell", "/dev/pts/3"}, {"webhook", `@/home/me/a "b", c`, "template:slack"}},
		Quiet: "22:00-07:00 Europe/Berlin", RemindAfter: "off", Show: "subject"}
	if !reflect.DeepEqual(o.Person, want) {
		t.Errorf("%+v", o.Person)
	}
	if o.Person.Reminder() != 0 || (Person{}).Reminder() != DefaultRemindAfter || (Person{RemindAfter: "90m"}).Reminder() != 90*time.Minute {
		t.Error("the reminder comes at another time")
	}
	if !reflect.DeepEqual(o.Unknown, []string{"person.later"}) {
		t.Errorf("unknown: %q", o.Unknown)
	}
	data, err := o.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := DecodeOffice(data)
	if err != nil || !reflect.DeepEqual(again.Person, want) {
		t.Errorf("%v\n%s", err, data)
	}
}

func TestPersonTableIsChecked(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`notify = "desktop"`, `notify = [`, `notify = ["a" "b"]`, `notify = [1]`, `notify = ["a"] x`, `notify = [[["a"]]]`, `notify = [""]`,
		`notify = [[]]`, `notify = ["a`, `remind_after = "soon"`, `remind_after = "-1h"`, `show = "all"`, `quiet = 7`, `show = {}`,
	} {
		if _, err := DecodeOffice([]byte(bareOffice + "[person]\n" + line + "\n")); err == nil {
			t.Errorf("%s is taken", line)
		}
	}
}

// Setting one table leaves every other byte: comments, and what a later version
// keeps.
func TestSetPerson(t *testing.T) {
	t.Parallel()
	before := "# mine\n" + bareOffice + "\n[policy]\ndue = \"2h\" # short\n\n[person]\n# phone\nnotify = [\"desktop\"]\nlater = 1\n\n[links]\nhub = \"x\"\n"
	got, err := SetPerson([]byte(before), Person{Notify: [][]string{{"webhook", "@/x", "template:ntfy"}}, Show: ShowBody})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(before, "[person]\n# phone\nnotify = [\"desktop\"]\n", "[person]\nnotify = [[\"webhook\", \"@/x\", \"template:ntfy\"]]\nshow = \"body\"\n# phone\n", 1)
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, err = SetPerson(got, Person{}); err != nil || !strings.Contains(string(got), "[person]\n# phone\nlater = 1\n\n[links]") {
		t.Errorf("%v\n%s", err, got)
	}
	fresh, err := SetPerson([]byte(bareOffice), Person{Quiet: "1:00-2:00"})
	if err != nil || string(fresh) != bareOffice+"\n[person]\nquiet = \"1:00-2:00\"\n" {
		t.Errorf("%v\n%s", err, fresh)
	}
	if _, err := SetPerson([]byte(bareOffice), Person{Show: "all"}); err == nil {
		t.Error("a wrong table is written")
	}
}
