package verify_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/verify"
	"github.com/postroom/postroom/internal/vfs"
)

// TestAfterAFailedPass: whatever call of a pass fails, the next pass leaves an
// office in which everything agrees.
func TestAfterAFailedPass(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	for n := 1; ; n += 3 { // each fault here lasts over several calls
		d := officetest.NewRealDesk(t, "researcher", "coder")
		d.Mail("researcher", "coder", mail.Inform, "Before", "x")
		d.Send("researcher", "coder", mail.Request, "During", "y")
		var fault vfs.Fault
		fault.FailAt(n, full)
		sys := d.Sys
		sys.Parallel = 1
		sys.OpenFS = func(dir string) (vfs.FS, error) {
			inner, err := d.Sys.OpenFS(dir)
			if err != nil {
				return nil, err
			}
			return fault.Wrap(inner), nil
		}
		calls := 0
		if o, err := office.Open(d.Dir, sys); err == nil {
			(&router.Router{Office: o}).Pass(context.Background(), router.Options{All: true}) // fails or not
			calls = len(fault.Calls())
		}
		d.Pass()
		var all []string
		rep, err := verify.Run(t.Context(), d.Office(), verify.Options{Found: func(f verify.Finding) { all = append(all, f.String()) }})
		if err != nil || rep.First != nil || rep.InFlight > 0 {
			t.Errorf("call %d (%v) failed: %+v %v\n%s", n, last(fault.Calls(), n), rep, err, strings.Join(all, "\n"))
		}
		if calls > 0 && n > calls {
			return
		}
	}
}

func last(calls []vfs.Call, n int) string {
	if n > len(calls) {
		return "none"
	}
	return calls[n-1].String()
}
