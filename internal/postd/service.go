package postd

import (
	"context"
	"errors"
	"flag"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/unit"
)

func serviceCommand() cli.Command {
	return cli.Command{
		Name: "service", Summary: "run postd as a service of this user",
		Long: `Writes the file that has systemd or launchd run "post serve" for this office at
every login. It starts nothing: it prints the commands that do. A file that you
changed is never replaced or removed.`,
		Subs: []cli.Command{serviceInstallCommand(), {
			Name: "uninstall", Summary: "remove what install wrote", Person: true,
			Setup: cli.Plain(runServiceUninstall),
		}, {
			Name: "print", Summary: "print what install would write",
			Setup: cli.Plain(func(_ context.Context, e *cli.Env, args []string) error {
				if err := e.NeedArgs(args, 0, 0); err != nil {
					return err
				}
				return printService(e)
			}),
		}},
	}
}

func serviceInstallCommand() cli.Command {
	return cli.Command{
		Name: "install", Summary: "write the service's file and say how to start it", Usage: "[--print]", Person: true,
		Long: "Without systemd or launchd nothing is written: the unit is printed, to be\nadapted, and the exit code is 1.",
		Setup: func(fs *flag.FlagSet) cli.Run {
			only := fs.Bool("print", false, "print the file, write nothing")
			return func(_ context.Context, e *cli.Env, args []string) error {
				if err := e.NeedArgs(args, 0, 0); err != nil {
					return err
				}
				if *only {
					return printService(e)
				}
				return runServiceInstall(e)
			}
		},
	}
}

// serviceOf describes the service of the office at hand; m is "" if there is no
// manager here that we know.
func serviceOf(e *cli.Env) (s unit.Service, m unit.Manager, err error) {
	o, err := e.Office()
	if err != nil {
		return s, "", err
	}
	self, err := e.Executable()
	if err != nil {
		return s, "", e.Fail(mail.KindStore, "postd", err, "run it by its full path")
	}
	s = unit.Service{OfficeID: o.Config.ID, Office: o.Dir, Program: self, Path: e.Getenv("PATH"),
		Home: e.Getenv("HOME"), ConfigHome: e.Getenv("XDG_CONFIG_HOME"), StateHome: e.Getenv("XDG_STATE_HOME")}
	return s, manager(e), nil
}

func manager(e *cli.Env) unit.Manager {
	if runtime.GOOS == "darwin" {
		return unit.Launchd
	}
	for _, dir := range filepath.SplitList(e.Getenv("PATH")) {
		if _, err := exec.LookPath(filepath.Join(dir, "systemctl")); err == nil && filepath.IsAbs(dir) {
			return unit.Systemd
		}
	}
	return ""
}

func printService(e *cli.Env) error {
	s, m, err := serviceOf(e)
	if err != nil {
		return err
	}
	if m == "" {
		m = unit.Systemd
	}
	data, err := s.Render(m)
	if err != nil {
		return err
	}
	if e.JSON {
		e.Out.Object(serviceReport{Manager: m, File: s.File(m), Content: string(data), Next: s.Enable(m)})
		return nil
	}
	e.Out.Write(data)
	return nil
}

// serviceReport is the output with --json.
type serviceReport struct {
	Manager unit.Manager `json:"manager"`
	File    string       `json:"file"`
	Content string       `json:"content,omitempty"`
	Removed bool         `json:"removed,omitempty"`
	Next    []string     `json:"next"`
}

func runServiceInstall(e *cli.Env) error {
	s, m, err := serviceOf(e)
	if err != nil {
		return err
	}
	if m == "" {
		if err := printService(e); err != nil {
			return err
		}
		e.Warn("nothing was installed: there is neither systemd nor launchd here; above is a systemd unit to adapt")
		return cli.Said(mail.ExitStore)
	}
	path, err := s.Install(m)
	if err != nil {
		return err
	}
	if e.JSON {
		e.Out.Object(serviceReport{Manager: m, File: path, Next: s.Enable(m)})
		return nil
	}
	e.Out.Printf("written: %s\n", cli.Line(path))
	say(e, "next: start it with", s.Enable(m))
	return nil
}

func say(e *cli.Env, what string, commands []string) {
	e.Out.Say("%s", what)
	for _, c := range commands {
		e.Out.Say("  %s", cli.Line(c))
	}
}

func runServiceUninstall(_ context.Context, e *cli.Env, args []string) error {
	if err := e.NeedArgs(args, 0, 0); err != nil {
		return err
	}
	s, m, err := serviceOf(e)
	if err != nil {
		return err
	}
	if m == "" {
		return e.Fail(mail.KindNotFound, "", errors.New("there is neither systemd nor launchd here"), "nothing was ever installed")
	}
	path, removed, err := s.Uninstall(m)
	if err != nil {
		return err
	}
	switch {
	case e.JSON:
		e.Out.Object(serviceReport{Manager: m, File: path, Removed: removed, Next: s.Disable(m)})
	case removed:
		e.Out.Printf("removed: %s\n", cli.Line(path))
		say(e, "if it runs still, stop it with", s.Disable(m))
	default:
		e.Out.Printf("there is nothing to remove: %s\n", cli.Line(path))
	}
	return nil
}
