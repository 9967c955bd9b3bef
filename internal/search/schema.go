package search

import "fmt"

// The states of one delivery. unread is 0, so that an index of those alone stays
// small.
const (
	unread = iota
	read
	done
)

// What became of a message as a whole.
const (
	bounced = iota + 1
	asked   // it waits before a person
	decided
	expired
)

// schema makes an empty index. Rows are numbered in the order in which the
// office took the messages in, so the newest have the greatest numbers; what the
// journal does not tell of has numbers below zero. The text itself is not kept:
// it is in the office.
func schema() string {
	return fmt.Sprintf(`
PRAGMA journal_mode = WAL;
PRAGMA application_id = %d;
PRAGMA user_version = %d;
CREATE TABLE meta (
	office TEXT NOT NULL,
	file TEXT NOT NULL DEFAULT '', end INTEGER NOT NULL DEFAULT 0, length INTEGER NOT NULL DEFAULT 0,
	n INTEGER NOT NULL DEFAULT 0, hash TEXT NOT NULL DEFAULT '',
	swept INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE message (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, digest TEXT NOT NULL, at INTEGER NOT NULL, thread INTEGER NOT NULL);
CREATE INDEX turn ON message (thread, row);
CREATE TABLE thread (n INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, first INTEGER NOT NULL DEFAULT 0, last INTEGER NOT NULL DEFAULT 0, messages INTEGER NOT NULL DEFAULT 0);
CREATE INDEX newest ON thread (last);
CREATE TABLE agent (n INTEGER PRIMARY KEY, aid TEXT NOT NULL UNIQUE, inode INTEGER NOT NULL DEFAULT 0, end INTEGER NOT NULL DEFAULT 0);
CREATE TABLE delivery (row INTEGER, agent INTEGER, state INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (row, agent)) WITHOUT ROWID;
CREATE INDEX open ON delivery (row, agent) WHERE state = 0;
CREATE TABLE early (agent INTEGER, id TEXT, state INTEGER NOT NULL, PRIMARY KEY (agent, id)) WITHOUT ROWID;
CREATE TABLE mark (row INTEGER, mark INTEGER, PRIMARY KEY (row, mark)) WITHOUT ROWID;
CREATE INDEX marked ON mark (mark, row);
CREATE TABLE missing (id TEXT PRIMARY KEY, digest TEXT NOT NULL, why TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE span (span INTEGER PRIMARY KEY, oldest INTEGER NOT NULL, newest INTEGER NOT NULL);
CREATE VIRTUAL TABLE text USING fts5 (subject, body, facet, content = '', tokenize = "unicode61 remove_diacritics 2");
`, applicationID, format)
}

// spanBits: a span is the times of 1024 rows, so that a search by date looks at
// few of them.
const spanBits = 10

// Least and greatest rows are asked for apart: both at once are a look at every
// row.
const (
	newestRows = `SELECT 1 + coalesce((SELECT max(row) FROM message), 0), coalesce((SELECT min(row) FROM message), 0)`
	markedRows = `SELECT (SELECT min(row) FROM mark WHERE mark = ?1), (SELECT max(row) FROM mark WHERE mark = ?1)`
	unreadRows = `SELECT (SELECT min(row) FROM delivery INDEXED BY open WHERE state = 0), (SELECT max(row) FROM delivery INDEXED BY open WHERE state = 0)`
)
