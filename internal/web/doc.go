// Package web is the page: the window that a person has on the office (design
// §13). It is an http.Handler over one open office, which `postd serve` mounts
// beside /healthz and `post ui` opens in a browser.
//
// Invariants. Whoever asks is a person who came through a one-time link, or
// gets nothing but the way there: Host, Origin, session and, for what changes
// something, the form's own token are checked before a page sees the request.
// Nothing that stands in a message is ever HTML, script, style, or a request to
// somewhere else. What is sent and decided goes through the code of `post send`
// and `post answer`. Everything can be read and answered without script.
//
// Nothing is opened, parsed or started before the first request.
//
// It must never: run what an agent wrote, decide anything by itself, keep a
// secret on disk (only digests of sessions), or tell somebody without a session
// anything about the office.
package web
