// Package web is tests only: the page in a real browser (e2e/README.md). They
// need Chromium, and axe-core from npm; make e2e-web runs them.
package web
