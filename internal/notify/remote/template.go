package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
)

// What the services take at most, in bytes: Discord counts 2,000 characters, ntfy
// turns more than 4,096 bytes into an attachment, Slack cuts at 40,000.
const (
	slackMax    = 8000
	discordMax  = 1900
	ntfyMax     = 3900
	genericMax  = 8000
	maxTemplate = 64 << 10 // of a template's file
)

// request is what is posted.
type request struct {
	contentType string
	header      map[string]string
	body        []byte
}

// template makes a request of a pointer.
type template func(notify.Pointer) (request, error)

// templateOf finds the template that an argument names: generic, slack, discord,
// ntfy, or @/absolute/path of a file.
func templateOf(name string) (template, error) {
	switch name {
	case "", "generic":
		return generic, nil
	case "slack":
		return slack, nil
	case "discord":
		return discord, nil
	case "ntfy":
		return ntfy, nil
	}
	file, ok := strings.CutPrefix(name, "@")
	if !ok || !filepath.IsAbs(file) {
		return nil, usage("no such template", "write template:slack, discord, ntfy, generic or @/absolute/path")
	}
	return fromFile(file)
}

func asJSON(v any) (request, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return request{contentType: "application/json", body: bytes.TrimSuffix(b.Bytes(), []byte("\n"))}, err
}

// payload is the generic form.
type payload struct {
	V        int            `json:"v"`
	Agent    string         `json:"agent"`
	Count    int            `json:"count"`
	IDs      []mail.ID      `json:"ids"`
	Command  string         `json:"command"`
	OfficeID string         `json:"office_id"`
	Text     string         `json:"text"`
	Asks     []notify.Asked `json:"asks,omitempty"`
	Test     bool           `json:"test,omitempty"`
}

func generic(p notify.Pointer) (request, error) {
	return asJSON(payload{1, p.Agent, p.Count, p.IDs, p.Command, p.OfficeID, p.Text, p.Asks, p.Test})
}

// slack: of text only & < > mean something there, and they are what a mention or
// a link that lies is made with.
func slack(p notify.Pointer) (request, error) {
	text := p.Title() + "\n" + p.Body(slackMax)
	return asJSON(map[string]any{"text": strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text), "unfurl_links": false, "unfurl_media": false})
}

// discord: no text can mention anybody.
func discord(p notify.Pointer) (request, error) {
	return asJSON(map[string]any{"content": p.Title() + "\n" + p.Body(discordMax-len(p.Title())-1), "username": "Postroom",
		"allowed_mentions": map[string]any{"parse": []string{}}})
}

// ntfy: the topic is the URL's; the text is the body as it is, and the title a
// header.
func ntfy(p notify.Pointer) (request, error) {
	return request{contentType: "text/plain; charset=utf-8", header: map[string]string{"Title": ascii(p.Title())}, body: []byte(p.Body(ntfyMax))}, nil
}

// ascii keeps a title fit for a header. It holds our words and names only.
func ascii(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}

// fields are what a template's file may name, as {{NAME}} within a string. Each is
// put in escaped for JSON.
func fields(p notify.Pointer) map[string]string {
	ids := make([]string, len(p.IDs))
	for i, id := range p.IDs {
		ids[i] = string(id)
	}
	approvals := make([]string, len(p.Asks))
	for i, a := range p.Asks {
		approvals[i] = a.Approval
	}
	return map[string]string{"title": p.Title(), "text": p.Body(genericMax), "count": strconv.Itoa(p.Count), "ids": strings.Join(ids, ","),
		"approvals": strings.Join(approvals, ","), "command": p.Command, "office_id": p.OfficeID, "agent": p.Agent}
}

// fromFile reads a template. What it makes has to be JSON, whatever the values.
func fromFile(file string) (template, error) {
	fi, err := os.Stat(file)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > maxTemplate {
		return nil, usage("cannot use the template "+file, "make it a readable file of JSON")
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, usage("cannot use the template "+file, "make it a readable file of JSON")
	}
	text := string(data)
	if _, err := fill(text, fields(notify.Pointer{})); err != nil {
		return nil, usage("the template "+file+" "+err.Error(), "see docs/person.md")
	}
	return func(p notify.Pointer) (request, error) {
		body, err := fill(text, fields(p))
		return request{contentType: "application/json", body: body}, err
	}, nil
}

// fill puts values into a template, once: what stands in a value is no template.
func fill(text string, values map[string]string) ([]byte, error) {
	var b bytes.Buffer
	for {
		before, rest, found := strings.Cut(text, "{{")
		b.WriteString(before)
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}}")
		value, known := values[strings.TrimSpace(name)]
		if !closed || !known {
			return nil, fmt.Errorf("names {{%.40s}}, which is no field", name)
		}
		quoted, err := asJSON(value)
		if err != nil {
			return nil, err
		}
		b.Write(quoted.body[1 : len(quoted.body)-1]) // its quotes are the template's
		text = after
	}
	if !json.Valid(b.Bytes()) {
		return nil, errors.New("makes no JSON; fields stand within strings")
	}
	return b.Bytes(), nil
}
