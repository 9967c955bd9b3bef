package reach

import (
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
)

// State says how far the person was told of one approval.
type State string

// The states.
const (
	Told    State = "told"     // an adapter took the notice
	Failed  State = "failed"   // none did; it is tried again at NextTry
	InDoubt State = "in doubt" // a crash came between the attempt and what became of it
	Hushed  State = "held"     // quiet hours, until Until
	Waiting State = "waiting"  // the next pass tells
	Nothing State = "nobody"   // nothing is set that tells the person
)

// Status is what is known of telling the person of one approval.
type Status struct {
	State      State     `json:"state"`
	At         time.Time `json:"at,omitzero"` // of the notice, or of its last try
	Evidence   string    `json:"evidence,omitempty"`
	RemindedAt time.Time `json:"reminded_at,omitzero"`
	NextTry    time.Time `json:"next_try,omitzero"`
	Until      time.Time `json:"until,omitzero"` // of quiet hours
}

// underWay is how long an attempt on record may still be being made.
const underWay = 10 * time.Second

// Statuses says of each approval whether the person was told. It changes nothing.
// Errors: KindCorrupt, KindStore.
func (r *Reacher) Statuses(open []approval.Approval) (map[string]Status, error) {
	b, err := load(r.FS)
	if err != nil {
		return nil, err
	}
	now := r.Now()
	quiet, _ := ParseQuiet(r.Person.Quiet)
	until, hush := quiet.Until(now)
	out := make(map[string]Status, len(open))
	for i := range open {
		s := b.Asked[open[i].ID].status()
		if s.State == InDoubt && now.Sub(s.At) < underWay {
			s = Status{State: Waiting}
		}
		switch {
		case s.State != Waiting:
		case !r.Wanted():
			s.State = Nothing
		case hush:
			s.State, s.Until = Hushed, until
		}
		out[open[i].ID] = s
	}
	return out, nil
}

func (e *entry) status() Status {
	if e == nil || e.Notice == nil {
		return Status{State: Waiting}
	}
	s := e.Notice.status()
	if e.Reminder != nil {
		last := e.Reminder.status()
		s.RemindedAt = last.At
		if last.State == Failed {
			s.State, s.Evidence = Failed, "the reminder: "+last.Evidence
		}
	}
	if s.State == Failed {
		s.NextTry = e.NextTry
	}
	return s
}

func (t *told) status() Status {
	s := Status{State: Failed, At: t.At, Evidence: t.Evidence}
	switch t.State {
	case notify.Notified:
		s.State = Told
	case trying:
		s.State, s.Evidence = InDoubt, "whoever told you ended before it said whether it had"
	}
	return s
}

const stampFormat = "2006-01-02 15:04 UTC"

// String says it to the person.
func (s Status) String() string {
	at := s.At.UTC().Format(stampFormat)
	text := ""
	switch s.State {
	case Told:
		text = "you were told at " + at + " (" + s.Evidence + ")"
	case InDoubt:
		text = "you may have been told at " + at + ": " + s.Evidence
	case Failed:
		text = "you could not be told: " + s.Evidence
		if !s.NextTry.IsZero() {
			text += "; tried again from " + s.NextTry.UTC().Format(stampFormat)
		}
	case Hushed:
		return "you are told after your quiet hours, from " + s.Until.UTC().Format(stampFormat)
	case Waiting:
		return "you are told by the next pass"
	default:
		return "nothing is set that tells you"
	}
	if !s.RemindedAt.IsZero() && s.State != Failed {
		text += ", and reminded at " + s.RemindedAt.UTC().Format(stampFormat)
	}
	return mail.Neutralise(text, false)
}

// Problems lists what keeps the person from being told as they wish, whatever
// waits: for doctor.
func (r *Reacher) Problems() []error {
	var out []error
	if _, err := ParseQuiet(r.Person.Quiet); err != nil {
		out = append(out, err)
	}
	for _, n := range r.Person.Notify {
		if _, err := r.Table.Adapter(n[0]); err != nil {
			out = append(out, err)
		}
	}
	b, err := load(r.FS)
	switch {
	case err != nil:
		out = append(out, err)
	case b.Torn != "":
		out = append(out, &mail.Error{Op: "read who was told", Kind: mail.KindCorrupt, Addr: r.FS.Path(dir + "/" + tornName),
			Err: tornError(b.Torn), Hint: "what waited was told of once more; remove that file"})
	}
	return out
}

type tornError string

func (e tornError) Error() string { return "was put aside: " + string(e) }
