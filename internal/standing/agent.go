package standing

import (
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// Agent is one agent as `post agents` shows it (docs/json.md).
type Agent struct {
	Name      string     `json:"name"`
	AID       string     `json:"aid"`
	Role      string     `json:"role,omitempty"`
	Runtime   string     `json:"runtime,omitempty"`
	Station   string     `json:"station,omitempty"` // whose agent it is, if not this office's
	Presence  string     `json:"presence"`
	Evidence  string     `json:"evidence,omitempty"` // of the presence
	LastSeen  *time.Time `json:"last_seen,omitempty"`
	Session   *Session   `json:"session,omitempty"`
	Started   *Started   `json:"started,omitempty"`
	Unread    int        `json:"unread"`
	Oldest    *time.Time `json:"oldest_unread,omitempty"`
	Leaving   int        `json:"leaving,omitempty"` // mail for an agent elsewhere that has not arrived there
	Since     *time.Time `json:"leaving_since,omitempty"`
	Owes      int        `json:"owes"`
	Overdue   int        `json:"overdue,omitempty"`
	Behind    string     `json:"behind,omitempty"` // why
	Notify    []string   `json:"notify"`
	Wake      *Wake      `json:"wake,omitempty"`
	Workspace string     `json:"workspace,omitempty"`
	Mailbox   string     `json:"mailbox"`
	Archived  bool       `json:"archived,omitempty"`
	Aliases   []string   `json:"aliases,omitempty"`
	Launch    []string   `json:"launch,omitempty"`
	Joined    time.Time  `json:"joined"`
	Problem   string     `json:"problem,omitempty"` // the mailbox cannot be read
}

// Word is the word with its age, and whether the agent is behind.
func (v Agent) Word(now time.Time) string {
	text := v.Presence
	switch {
	case v.Archived:
		return Archived
	case v.Presence == AtDialog:
		text = "at a dialog"
	case v.Station != "":
		text = "at " + v.Station
	}
	if v.LastSeen != nil {
		text += " (" + mail.Age(now.Sub(*v.LastSeen)) + ")"
	}
	if v.Behind != "" {
		text += ", behind"
	}
	return text
}

func (v Agent) Mail(now time.Time) (unread, oldest string) {
	unread, oldest = strconv.Itoa(v.Unread), "-"
	if v.Station != "" { // what it has not read, only its own office knows
		if unread = "-"; v.Since != nil {
			unread, oldest = strconv.Itoa(v.Leaving)+" on the way", mail.Age(now.Sub(*v.Since))
		}
	}
	if v.Problem != "" {
		unread = "mailbox unreadable"
	}
	if v.Oldest != nil {
		oldest = mail.Age(now.Sub(*v.Oldest))
	}
	return unread, oldest
}

// WokenBy is how the agent is woken, and what is wrong with that.
func (v Agent) WokenBy(short bool) string {
	if v.Station != "" {
		return "-"
	}
	text := strings.Join(v.Notify, " ")
	if short && len(v.Notify) > 0 {
		text = v.Notify[0]
	}
	switch w := v.Wake; {
	case w == nil:
		return orDash(text)
	case w.State == WakeOK:
		return text + " (works)"
	case w.State == WakeFailing:
		return text + " (fails)"
	case w.State != WakeUnknown:
		return text + " (" + w.State + ")"
	}
	return text
}

// Note is what a person should know of the agent beyond its row.
func (v Agent) Note() string {
	var parts []string
	add := func(s string) { parts = append(parts, s) }
	if v.Problem != "" {
		add(v.Problem)
	}
	switch {
	case v.Archived:
		return ""
	case v.Presence == NotSeen && v.Evidence != "":
		add(NotSeen + ": " + v.Evidence)
	case v.Presence == AtDialog, v.Presence == Down && (v.Unread > 0 || v.Owes > 0):
		add(v.Evidence)
	}
	if v.Behind != "" {
		add("behind: " + v.Behind)
	}
	if w := v.Wake; w != nil && (w.State == WakeFailing || w.State == WakeHeld) {
		add("woken by " + w.Kind + ", which " + map[string]string{WakeFailing: "fails", WakeHeld: "waits"}[w.State] + because(w.Evidence))
	}
	return strings.Join(parts, "; ")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Fields is everything about the agent, with the names of the fields, for who
// wants to see all of it. What is empty is unknown.
func (v Agent) Fields(now time.Time) [][2]string {
	unread, oldest := v.Mail(now)
	owes := strconv.Itoa(v.Owes)
	if v.Overdue > 0 {
		owes += ", " + strconv.Itoa(v.Overdue) + " overdue"
	}
	session, started, wake := "", "", ""
	if s := v.Session; s != nil {
		session = s.Runtime + " " + s.ID
		if s.PID != 0 {
			session += ", process " + strconv.Itoa(s.PID) + " (" + s.Process + ")"
		}
	}
	if s := v.Started; s != nil {
		started = s.State + " since " + mail.Age(now.Sub(s.At)) + ", " + s.How + because(s.Why)
	}
	if w := v.Wake; w != nil {
		wake = w.State + because(w.Evidence)
		if w.At != nil {
			wake += ", tried " + mail.Age(now.Sub(*w.At)) + " ago"
		}
	}
	return [][2]string{
		{"name", v.Name}, {"station", v.Station}, {"id", v.AID}, {"role", v.Role}, {"aliases", strings.Join(v.Aliases, ", ")},
		{"runtime", v.Runtime}, {"presence", v.Word(now)}, {"evidence", v.Evidence}, {"session", session}, {"started", started},
		{"unread", unread}, {"oldest", oldest}, {"owes", owes}, {"behind", v.Behind},
		{"woken by", strings.Join(v.Notify, " ")}, {"waking", wake}, {"launch", strings.Join(v.Launch, " ")},
		{"workspace", v.Workspace}, {"mailbox", v.Mailbox}, {"joined", v.Joined.UTC().Format(time.DateTime) + " UTC"},
		{"problem", v.Problem},
	}
}
