package setup

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/engine"
	"tare/internal/engine/locate"
	"tare/internal/engine/private"
	"tare/internal/hosts"
	"tare/internal/study"
	"tare/internal/wording"
)

// foundEngine is an entry of `tare engines`. What is not known is absent.
type foundEngine struct {
	// Use is how a study names it: {lab: NAME} in the engine of a mode, or an address for the
	// study's own engine.
	Use        string   `json:"use"`
	Current    bool     `json:"current"`        // a study may also name it current
	Path       string   `json:"path,omitempty"` // of dockerd
	Version    string   `json:"version,omitempty"`
	Released   string   `json:"released,omitempty"` // a date
	Containerd string   `json:"containerd,omitempty"`
	Runc       string   `json:"runc,omitempty"`
	Runsc      string   `json:"runsc,omitempty"`             // of gVisor, for programs
	Firewalls  []string `json:"firewall_backends,omitempty"` // those that it can use, or the one of a running engine
	Rootless   bool     `json:"rootless"`                    // a running engine is; for programs, an ordinary user can run them
	// Rootlesskit is the version of RootlessKit that is installed with programs.
	Rootlesskit string `json:"rootlesskit,omitempty"`
	Error       string `json:"error,omitempty"` // why it cannot be used

	released time.Time
}

func (a commands) enginesCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "engines", Short: "List the Docker Engines that docker modes can use, and the Podman of podman modes",
		Long: "List the Docker Engines that docker modes can use, and the Podman of podman modes: programs that tare can start for a lab,\n" +
			"which a mode of a study names as engine: {lab: NAME}, and engines that run, which --engine names. The age is that of the first release of a version's line,\n" +
			"such as 20.10. Nothing is started or changed.",
		Example: "  tare engines\n  tare engines --json",
		Args:    command.Exactly(0),
		RunE: func(c *cobra.Command, _ []string) error {
			all := enginesHere(c.Context())
			if asJSON {
				return a.PrintJSON(all)
			}
			return printFound(a.Stdout, all, time.Now())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// enginesHere returns the private engines, then those that run.
func enginesHere(ctx context.Context) []foundEngine {
	installed, running := private.Installations(), hosts.RunningEngines()
	all := make([]foundEngine, len(installed)+len(running), len(installed)+len(running)+1)
	var wg sync.WaitGroup
	for i, in := range installed {
		wg.Go(func() {
			all[i] = describeInstalled(ctx, in)
			current, err := private.Find(study.CurrentEngine)
			all[i].Current = err == nil && current.Dir == in.Dir
		})
	}
	for i, name := range running {
		wg.Go(func() { all[len(installed)+i] = describeRunning(ctx, name) })
	}
	wg.Wait()
	if f, found := podmanHere(ctx); found {
		all = append(all, f)
	}
	return all
}

// podmanHere describes the Podman that the podman modes start, if there is one. One that the
// environment names is listed even if it does not exist.
func podmanHere(ctx context.Context) (f foundEngine, found bool) {
	f = foundEngine{Use: "podman modes", Rootless: true}
	c, err := private.DescribePodman(ctx)
	switch {
	case err != nil && os.Getenv(private.PodmanVariable) == "":
		return f, false
	case err != nil:
		f.Error = command.OneLine(err.Error())
	case c.Version == "":
		f.Error = "it does not report its version"
	}
	f.Path, f.Version = c.Path, c.Version
	return f, true
}

func describeInstalled(ctx context.Context, in private.Installation) foundEngine {
	d := in.Describe(ctx)
	f := foundEngine{Use: "lab: " + in.Name, Path: d.Path, Version: d.Version, Containerd: d.Containerd, Runc: d.Runc, Runsc: d.Runsc,
		Firewalls: d.Firewalls, Rootless: d.Rootless, Rootlesskit: d.Rootlesskit}
	f.date(d.Released)
	if d.Version == "" {
		f.Error = "it does not report its version"
	}
	return f
}

func describeRunning(ctx context.Context, name string) foundEngine {
	f := foundEngine{Use: name}
	e, err := locate.Connect(ctx, name)
	if err != nil {
		f.Error = command.OneLine(err.Error())
		if u, is := engine.AsUnavailable(err); is {
			f.Error = command.OneLine(u.Reason)
		}
		return f
	}
	defer func() { _ = e.Disconnect() }() // it only has idle connections
	v := e.Versions
	f.Version, f.Containerd, f.Runc, f.Rootless = v.Engine, v.Containerd, v.Runc, v.Rootless
	f.Path = e.Address
	if v.Firewall != "" {
		f.Firewalls = []string{v.Firewall}
	}
	f.date(v.Released)
	return f
}

func (f *foundEngine) date(at time.Time) {
	if !at.IsZero() {
		f.released, f.Released = at, at.Format(time.DateOnly)
	}
}

func printFound(w io.Writer, all []foundEngine, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ENGINE\tVERSION\tAGE\tCONTAINERD\tRUNC\tRUNSC\tFIREWALL\tROOTLESS\tWHERE")
	for _, f := range all {
		if f.Current {
			f.Use += " or " + study.CurrentEngine
		}
		if f.Error != "" && f.Version == "" {
			fmt.Fprintf(t, "%s\t-\t-\t-\t-\t-\t-\t-\t%s\n", f.Use, strings.TrimSpace(f.Path+" "+f.Error))
			continue
		}
		age, rootless, noRunsc := "unknown", "no", "unknown"
		if strings.HasPrefix(f.Use, "lab: ") {
			noRunsc = "none"
		}
		if !f.released.IsZero() {
			age = wording.Age(now.Sub(f.released))
		}
		if f.Rootless {
			rootless = cmp.Or(f.Rootlesskit, "yes")
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Use, f.Version, age, cmp.Or(f.Containerd, "unknown"), cmp.Or(f.Runc, "unknown"), cmp.Or(f.Runsc, noRunsc),
			cmp.Or(strings.Join(f.Firewalls, ", "), "unknown"), rootless, f.Path)
	}
	return t.Flush()
}
