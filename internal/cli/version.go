package cli

import "context"

func versionCommand() Command {
	return Command{
		Name: "version", Summary: "show the version",
		Setup: plain(func(_ context.Context, e *Env, args []string) error {
			if err := needArgs(e, args, 0, 0); err != nil {
				return err
			}
			if e.JSON {
				e.Out.Object(struct {
					Version string `json:"version"`
				}{e.System.Version})
				return nil
			}
			e.Out.Printf("%s\n", e.System.Version)
			return nil
		}),
	}
}
