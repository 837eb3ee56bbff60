package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/cli/selection"
	"tare/internal/driver/setting"
	"tare/internal/driver/topologygolden"
	"tare/internal/linuxnet"
	"tare/internal/report"
)

func (a commands) modesCommand() *cobra.Command {
	var probe bool
	var f selection.HostFlags
	var k selection.KubeFlags
	c := &cobra.Command{
		Use: "modes [MODE...]", Short: "List the network modes",
		Example: "  tare modes\n  tare modes netns/vxlan\n  tare modes --probe docker/ipvlan netns/ipvlan\n  tare modes --probe --host local --host ssh://db1\n  tare modes --probe --kube",
		Args:    cobra.ArbitraryArgs,
		Long: "List the network modes, or those named with their packet path; with --kube, those of a Kubernetes cluster. With --probe,\n" +
			"build each on this machine, on the machines of --host or on the cluster, and remove it again, several at a time; the\n" +
			"reasons for modes that cannot be built are below the table.",
		RunE: func(c *cobra.Command, args []string) error {
			if err := k.CheckWith(f); err != nil {
				return command.Usage(err)
			}
			at, elsewhere, err := a.hosts.OnHosts(f, args)
			if err == nil && k.Kube != "" {
				at, _, err = a.hosts.OnCluster(k)
				elsewhere = true
			}
			if err != nil {
				return command.Usage(err)
			}
			a.hosts = at
			names, err := a.hosts.Chosen(args)
			if err != nil {
				return err
			}
			var tried []probed
			if probe {
				if tried, err = a.tryModes(c.Context(), names, elsewhere); err != nil {
					return err
				}
			}
			if err := a.listModes(names, tried); err != nil {
				return err
			}
			listReasons(a.Stdout, tried)
			if len(args) == 0 && !elsewhere {
				fmt.Fprintln(a.Stdout, "\nThose of a Kubernetes cluster: tare modes --kube")
			}
			if len(args) == 0 || probe {
				return nil
			}
			return a.listPaths(names)
		},
	}
	f.Register(c)
	k.Register(c)
	c.Flags().BoolVar(&probe, "probe", false, "try each mode: on this machine, on those of --host, or on the cluster of --kube")
	command.CompleteArguments(c, a.hosts.ModeNames)
	return c
}

// tryModes tries modes on this machine or, elsewhere, on the hosts that are chosen.
func (a commands) tryModes(background context.Context, names []string, elsewhere bool) (tried []probed, failed error) {
	ctx, stop := a.Ending(background)
	defer stop()
	if err := a.hosts.Reach(ctx); err != nil && (elsewhere || !errors.Is(err, linuxnet.ErrSystem)) {
		return nil, err
	}
	defer func() { failed = errors.Join(failed, a.hosts.Target.Close()) }()
	tried = a.probe(ctx, names)
	if ctx.Err() != nil {
		return nil, command.WithCode(command.ExitInterrupted, errors.New("modes: interrupted"))
	}
	return tried, nil
}

// listModes prints a table of the modes, with the result of trying them.
func (a commands) listModes(names []string, tried []probed) error {
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	head := "MODE\tBASELINE\tWHAT IS BUILT"
	if tried != nil {
		head = "MODE\tBASELINE\tHERE\tWHAT IS BUILT"
	}
	fmt.Fprintln(w, head)
	for i, name := range names {
		m, err := a.hosts.Mode(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%s\t", name, command.OrDash(m.Baseline))
		if tried != nil {
			fmt.Fprintf(w, "%s\t", short(tried[i]))
		}
		fmt.Fprintln(w, m.Title)
	}
	return w.Flush()
}

// listReasons prints why modes cannot be built: each reason once, with its modes.
func listReasons(out io.Writer, tried []probed) {
	var reasons []string
	modes := map[string][]string{}
	for _, p := range tried {
		if p.Reason == "" {
			continue
		}
		why := p.Status + ": " + p.Reason
		if modes[why] == nil {
			reasons = append(reasons, why)
		}
		modes[why] = append(modes[why], p.Mode)
	}
	for _, why := range reasons {
		fmt.Fprintf(out, "\n%s: %s\n", strings.Join(modes[why], ", "), why)
	}
}

// listPaths prints the packet path of each mode, place by place, from client to server.
func (a commands) listPaths(names []string) error {
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	for _, name := range names {
		p, err := topologygolden.ForMode(name)
		if err != nil {
			continue // of a mode with a name of the user's
		}
		fmt.Fprintf(w, "\nPATH OF %s\n", name)
		m := p.UnmeasuredMode(name, "")
		for _, at := range report.PathInWords(m) {
			where, steps, _ := strings.Cut(at, ": ")
			fmt.Fprintf(w, "%s\t%s\n", where, steps)
		}
		var rest []string
		for _, n := range p.Topology.Beside {
			rest = append(rest, strings.TrimSuffix(n.Host+"/"+n.Sandbox, "/")+"/"+n.Label)
		}
		if len(rest) > 0 {
			fmt.Fprintf(w, "must rest\t%s\n", strings.Join(rest, ", "))
		}
		if m, err := a.hosts.Mode(name); err == nil && m.Like != "" {
			fmt.Fprintf(w, "like\t%s, to which an engine adds rules, a resolver, seccomp and control groups\n", m.Like)
		}
		if err := a.listSettings(w, name); err != nil {
			return err
		}
	}
	return w.Flush()
}

// listSettings prints what a variant of the mode can change: the parts that can be left
// out, and the settings.
func (a commands) listSettings(w io.Writer, name string) error {
	m, err := a.hosts.Mode(name)
	if err != nil {
		return err
	}
	if len(m.Parts) > 0 {
		fmt.Fprintln(w, "\nPART (off leaves it out)\tWHAT IT IS")
	}
	for _, p := range m.Parts {
		fmt.Fprintf(w, "%s\t%s\n", p.ID, p.Title)
	}
	if len(m.Settings)+len(m.Own) > 0 {
		fmt.Fprintln(w, "\nSETTING\tVALUES\tWHAT IT DOES")
	}
	for _, s := range setting.All() {
		if slices.Contains(m.Settings, s.Name) {
			fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, s.Values, s.Title)
		}
	}
	for _, s := range m.Own {
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, s.Values, s.Title)
	}
	return nil
}

// short is the result of trying a mode in a word.
func short(p probed) string {
	if p.Status == probedOK {
		return "yes"
	}
	return p.Status
}
