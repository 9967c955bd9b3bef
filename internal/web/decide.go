package web

import (
	"errors"
	"net/http"
	"strings"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/mail"
)

// decide takes a person's decision, by the code of `post answer`: the first one
// stands, whoever else decides at the same time, here or elsewhere.
func (s *Site) decide(w http.ResponseWriter, r *http.Request) {
	desk, err := s.desk()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	a, before, err := approval.Get(desk.Office.FS, r.PathValue("id"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	form := r.PostForm
	if before == nil && form.Get("seen") != seen(a) {
		s.fail(w, r, &mail.Error{Op: "decide", Kind: mail.KindConflict, Addr: a.ID, Err: errors.New("it is not as this page had shown it"), Hint: "look at it again, then decide"})
		return
	}
	d := approval.Decision{Choice: form.Get("choice"), Text: strings.TrimSpace(strings.ReplaceAll(form.Get("text"), "\r\n", "\n"))}
	switch form.Get("verdict") {
	case "no":
		d.Verdict, d.Choice = approval.VerdictRejected, ""
	case "yes":
		d.Choice, d.Text = "", strings.TrimSpace("Yes.\n\n"+d.Text)
	}
	done, err := desk.Dispatcher().Decide(r.Context(), a.ID, d, s.patience())
	switch mail.KindOf(err) {
	case "":
		to := "/inbox/" + a.ID
		if form.Get("back") == "list" {
			to = "/inbox"
		}
		s.goOn(w, r, to, decidedLine(done))
	case mail.KindConflict:
		s.showApproval(w, r, http.StatusConflict, d.Text) // it says who decided what and when
	case mail.KindInvalid, mail.KindAmbiguous:
		s.showUndecided(w, r, err, d.Text)
	default:
		s.fail(w, r, err)
	}
}

// patience is how the page waits for whoever routes.
func (s *Site) patience() dispatch.Patience {
	return dispatch.Patience{Op: "page", For: s.Env.Patience, Sleep: s.Env.Sleep}
}

// showUndecided shows the form again, with what was typed.
func (s *Site) showUndecided(w http.ResponseWriter, r *http.Request, err error, typed string) {
	t := troubleOf(err)
	q := r.URL.Query()
	q.Set("said", s.said.put(s.session(r), []string{t.What + ". " + t.Hint + "."}))
	r.URL.RawQuery = q.Encode()
	s.showApproval(w, r, status(mail.KindOf(err)), typed)
}

func decidedLine(d dispatch.Decided) string {
	asker := mail.Neutralise(d.Approval.Asker, false)
	switch {
	case d.Told:
		return "Decided. " + asker + " has the answer."
	case !d.Owing():
		return "Decided."
	case d.Pass != nil:
		return "Decided. " + asker + " is told " + d.Tells() + ": " + mail.Neutralise(d.Pass.Error(), false)
	}
	return "Decided. " + asker + " is told " + d.Tells() + "."
}
