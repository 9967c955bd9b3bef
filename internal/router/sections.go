package router

import (
	"errors"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/transcript"
)

// section is one transcript section that is about to be written.
type section struct {
	intent transcript.Intent
	text   []byte
}

// prepareSections fixes where each section goes, so that a crash can be told
// from a forgery. chained holds where the last section of each file ends.
func (p *pass) prepareSections(j *job, chained map[string]transcript.Intent) error {
	if !j.reached() {
		return nil // nothing was delivered yet, or ever will be
	}
	for _, a := range j.actions {
		t, ok := a.(policy.Transcript)
		if !ok || j.past != nil && j.past.sections[t.File] {
			continue
		}
		text := transcript.Render(t.Header, j.msg, p.now, p.o.Config.Policy.Arrow)
		last, ok := chained[t.File]
		in := last.Next(text)
		if !ok {
			var err error
			in, err = transcript.Prepare(p.o.FS, t.File, text)
			if mail.KindOf(err) == mail.KindStore {
				return err
			}
			if err != nil {
				// Somebody put something else there. The mail is not to wait for
				// that; verify and doctor show what the transcript lacks.
				p.problem("append transcript", t.File, err)
				j.records = append(j.records, lost(p.now, j.msg.ID, journal.Transcript, t.File, err))
				continue
			}
		}
		chained[t.File] = in
		j.sections = append(j.sections, &section{in, text})
		j.records = append(j.records, journal.Record{At: p.now, Event: journal.Transcript, ID: j.msg.ID, From: j.msg.From, File: in.File,
			Offset: in.Offset, Length: in.Length, Digest: in.Digest, Detail: map[string]string{"header": t.Header}})
	}
	return nil
}

// transcribe appends the sections, now that the journal knows of them.
func (p *pass) transcribe(jobs []*job) error {
	done, err := p.appendSections(jobs)
	return errors.Join(err, transcript.Sync(p.o.FS, done...))
}

// appendSections writes the sections, unsynced, and returns those that are there.
func (p *pass) appendSections(jobs []*job) (done []transcript.Intent, err error) {
	var errs []error
	for _, run := range runs(jobs) {
		ins, texts := make([]transcript.Intent, len(run)), make([][]byte, len(run))
		for i, s := range run {
			ins[i], texts[i] = s.intent, s.text
		}
		if err := transcript.AppendRun(p.o.FS, ins, texts); err != nil {
			errs = append(errs, err)
			continue
		}
		done = append(done, ins...)
	}
	return done, errors.Join(errs...)
}

// runs groups the sections that follow one another in the same transcript.
func runs(jobs []*job) (list [][]*section) {
	open := map[string]int{} // the run of each transcript that is written to, in list
	for _, j := range jobs {
		for _, s := range j.sections {
			n, ok := open[s.intent.File]
			if ok && list[n][len(list[n])-1].intent.End() == s.intent.Offset {
				list[n] = append(list[n], s)
				continue
			}
			open[s.intent.File] = len(list)
			list = append(list, []*section{s})
		}
	}
	return list
}
