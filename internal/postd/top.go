package postd

import (
	"context"
	"errors"
	"flag"
	"os/signal"
	"strings"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/top"
)

func topCommand() cli.Command {
	return cli.Command{
		Name: "top", Summary: "the floor in a terminal: agents, mail moving, approvals to decide", Usage: "[--once]", Person: true,
		Long: `Shows live what waits for a person, how the agents stand, what moves and what is
overdue. Enter opens a message with its life, an approval with its thread, or an
agent; at an approval a digit chooses an option, m writes an answer, x says no,
and y confirms: the first decision stands, as with post answer. "/" filters, "?"
shows the keys, q quits.

Mail moves while it runs, as with post watch. Nothing counts as read by being
shown. NO_COLOR is honoured; without a terminal, and with --once, one snapshot is
printed.`,
		Examples: []string{"post top", "post top --once", "post top --json | jq '.approvals[].id'"},
		Setup: func(fs *flag.FlagSet) cli.Run {
			once := fs.Bool("once", false, "print one snapshot and end")
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if err := e.NeedArgs(args, 0, 0); err != nil {
					return err
				}
				return runTop(ctx, e, *once)
			}
		},
	}
}

func runTop(ctx context.Context, e *cli.Env, once bool) error {
	if e.As != "" && e.As != mail.NameHuman {
		return e.Fail(mail.KindPerson, "--as "+cli.Line(e.As), errors.New("the floor is a person's"), "leave --as out")
	}
	o, err := e.Office()
	if err != nil {
		return err
	}
	disp := dispatch.New(o, Adapters(e), e.FindPost())
	disp.Alive, disp.Speaks = e.Runs, e.Speaks
	room := &top.Room{Office: o, Dispatcher: disp, Patience: e.Turn(), View: e.View(o)}
	if once || e.JSON || !e.StdinTTY || !e.StdoutTTY || e.Getenv("TERM") == "dumb" || e.Getenv("TERM") == "" {
		return floorOnce(ctx, e, room)
	}
	return floorLive(ctx, e, room)
}

// frames is how often the screen may change, in a second.
const frames = 30

// floorLive runs the screen until the person quits. The terminal is given back
// whatever ends it: a key, a signal, a fault of ours.
func floorLive(ctx context.Context, e *cli.Env, room *top.Room) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	floors := make(chan top.Floor, 1)
	failed := make(chan error, 1)
	go func() {
		defer close(floors)
		failed <- room.Watch(ctx, func(f top.Floor) error {
			select { // the screen is slower: it gets the newest
			case <-floors:
			default:
			}
			floors <- f
			return nil
		})
	}()
	m := top.New(ctx, top.Options{Desk: room, Floors: floors, Place: shortHome(e, room.Office), Colour: e.Getenv("NO_COLOR") == ""})
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithoutSignalHandler(), tea.WithInput(e.Stdin), tea.WithOutput(e.Stdout),
		tea.WithEnvironment(e.Environ), tea.WithFPS(frames)).Run()
	told := ctx.Err() != nil
	cancel()
	if werr := <-failed; werr != nil && !errors.Is(werr, context.Canceled) {
		return e.Fail(mail.KindStore, room.Office.Dir, werr, "start it again; post doctor looks at the office")
	}
	if err != nil && !told {
		return e.Fail(mail.KindStore, "terminal", err, "post top --once prints one snapshot")
	}
	return nil
}

// shortHome is the office's path as people write it.
func shortHome(e *cli.Env, o *office.Office) string {
	if rest, ok := strings.CutPrefix(o.Dir, e.Getenv("HOME")+"/"); ok {
		return "~/" + rest
	}
	return o.Dir
}

// floorView is `post top --json` (docs/json.md).
type floorView struct {
	At        time.Time          `json:"at"`
	Office    string             `json:"office"`
	OfficeID  string             `json:"office_id"`
	Approvals []cli.ApprovalView `json:"approvals"`
	Agents    []cli.AgentView    `json:"agents"`
	Moves     []cli.MoveView     `json:"moves"`
	Owed      []cli.OwedView     `json:"owed"`
	Faults    []string           `json:"faults"`
}

// snapshotMoves is how many moves a snapshot has.
const snapshotMoves = 20

func floorOnce(ctx context.Context, e *cli.Env, room *top.Room) error {
	f := room.Once(ctx)
	f.Moves = f.Moves[:min(len(f.Moves), snapshotMoves)]
	if e.JSON {
		e.Out.Object(viewFloor(e, room.Office, f))
		return nil
	}
	out := e.Out
	section := func(title string, n int, none string, table func()) {
		if n == 0 {
			out.Printf("%s: %s\n\n", out.Bold(title), none)
			return
		}
		out.Printf("%s\n", out.Bold(title))
		table()
		out.Printf("\n")
	}
	out.Printf("%s  %s\n\n", cli.Line(shortHome(e, room.Office)), f.At.UTC().Format("2006-01-02 15:04 UTC"))
	section("waiting for a person", len(f.Waiting), "nothing", func() { e.ApprovalTable(f.Waiting) })
	section("agents", len(f.Agents), "none", func() { e.AgentTable(f.Agents) })
	section("moving", len(f.Moves), "nothing", func() { moveTable(e, f.Moves) })
	late := f.Overdue()
	section("overdue", len(late), "nothing", func() { e.DebtTable(late) })
	for _, fault := range f.Faults {
		e.Warn("%s", fault)
	}
	return nil
}

func moveTable(e *cli.Env, moves []top.Move) {
	var rows [][]string
	for _, v := range moves {
		rows = append(rows, []string{v.At.UTC().Format("2006-01-02 15:04:05"), v.Event, v.Route(), v.Act, v.ID.Short(), mail.CutSubject(v.Subject, 60)})
	}
	e.Out.Table([]string{"TIME (UTC)", "EVENT", "WHO", "ACT", "ID", "SUBJECT"}, rows)
}

func viewFloor(e *cli.Env, o *office.Office, f top.Floor) floorView {
	v := floorView{At: f.At.UTC(), Office: o.Dir, OfficeID: o.Config.ID, Agents: append([]cli.AgentView{}, f.Agents...),
		Moves: []cli.MoveView{}, Owed: []cli.OwedView{}, Faults: append([]string{}, f.Faults...)}
	v.Approvals, _ = e.ViewApprovals(o, f.Waiting)
	for _, m := range f.Moves {
		for _, to := range m.To {
			v.Moves = append(v.Moves, cli.MoveView{At: m.At, Event: m.Event, ID: m.ID, From: m.From, To: to, Act: m.Act, Subject: m.Subject, Approval: m.Approval})
		}
	}
	for _, o := range f.Debts {
		v.Owed = append(v.Owed, cli.ViewOwed(o))
	}
	return v
}
