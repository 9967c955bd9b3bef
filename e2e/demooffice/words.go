package demooffice

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// words fills the braces of one story.
func words(r *rand.Rand) *strings.Replacer {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	part := pick("checkout", "payments", "search", "basket", "accounts", "exports", "mailer", "prices", "stock", "login", "vouchers", "returns")
	title := strings.ToUpper(part[:1]) + part[1:]
	devs := []string{"backend", "frontend", "database"}
	r.Shuffle(2, func(i, k int) { devs[i], devs[k] = devs[k], devs[i] })
	return strings.NewReplacer(
		"{dev}", devs[0], "{mate}", devs[1+r.IntN(2)], "{part}", part,
		"{file}", part+"/"+pick("client", "handler", "store", "session", "limits", "worker", "query")+".go",
		"{test}", "Test"+title+pick("AfterRestart", "Twice", "Empty", "Concurrent", "Timeout", "Large", "Guest"),
		"{ticket}", fmt.Sprintf("SHOP-%d", 1100+r.IntN(800)), "{pr}", fmt.Sprintf("#%d", 300+r.IntN(600)),
		"{table}", pick("orders", "invoices", "vouchers", "baskets", "returns", "addresses", "messages"), "{what}", pick("the global", "the second cache", "the old flag", "the copy of the table", "the retry loop"),
		"{topic}", pick("exports", "imports", "refunds", "mailings", "bookings"),
		"{n}", fmt.Sprint(20+r.IntN(880)), "{small}", fmt.Sprint(2+r.IntN(8)), "{ms}", fmt.Sprint(180+r.IntN(720)),
		"{ver}", fmt.Sprintf("2.%d", 10+r.IntN(8)))
}
