// Package stubmodel is a language model that does what a test tells it: an HTTP
// server on 127.0.0.1 that speaks enough of four APIs for the real coding CLIs
// to work with it, offline.
//
//	Anthropic Messages        /v1/messages, /v1/messages/count_tokens
//	OpenAI Responses          /v1/responses
//	OpenAI Chat Completions   /v1/chat/completions
//	Gemini                    /v1beta/models/M:generateContent, :streamGenerateContent, :countTokens
//
// Every request is kept, decoded into one neutral shape (Request), so that a
// test can ask what reached the model, when, and with whose authority. What the
// model answers is decided by the test's Script.
//
// Invariants. A text that reached the model is found by Request.Roles, also
// where the decoder doesn't know the place it stands in. The script is asked
// once per turn; requests on the side (titles, summaries, token counts) are
// answered with plain text and never reach it. The server listens on loopback
// only and calls nobody.
//
// For tests and measurements only.
package stubmodel
