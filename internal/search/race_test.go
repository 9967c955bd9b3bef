//go:build race

package search

// SQLite is a translated C program: under the race detector it is thirty times
// slower, and little mail shows what races there are. The full amounts are for a
// run without it (make test).
func init() { fewer = 5 }
