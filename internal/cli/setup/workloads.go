package setup

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/cli/selection"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/suggest"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

func (a commands) workloadsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "workloads [WORKLOAD...]", Short: "List the workloads, and which traffic each stands for",
		Example: "  tare workloads\n  tare workloads tcp_rr",
		Args:    cobra.ArbitraryArgs,
		Long: "List the workloads, which traffic each stands for and what it measures, and the applications that --for knows; with names, the keys\n" +
			"that a study can set of each, with their defaults.",
		RunE: func(_ *cobra.Command, args []string) error {
			all := workloads.Offered()
			if len(args) == 0 {
				return listWorkloads(a.Stdout, all)
			}
			for i, name := range args {
				at := slices.IndexFunc(all, func(w traffic.Workload) bool { return w.Spec().Kind == name })
				if at < 0 {
					return command.Usage(fmt.Errorf("%s", suggest.Unknown("workload", name, "", a.hosts.Catalog().Kinds())))
				}
				if i > 0 {
					fmt.Fprintln(a.Stdout)
				}
				if err := listKeys(a.Stdout, all[at].Spec()); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// listWorkloads prints the workloads and the purposes.
func listWorkloads(out io.Writer, all []traffic.Workload) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WORKLOAD\tSTANDS FOR\tMEASURES")
	for _, workload := range all {
		s := workload.Spec()
		m, _ := result.MetricNamed(s.Metric)
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Kind, s.StandsFor, strings.ToLower(m.Title))
	}
	fmt.Fprintln(w, "\n--for\tTRAFFIC OF\tWORKLOADS")
	for _, p := range study.Purposes() {
		var of []string
		for _, workload := range p.Workloads {
			of = append(of, strings.TrimSpace(workload.Kind+" "+selection.Parameters(workload)))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, p.Title, strings.Join(of, "; "))
	}
	return w.Flush()
}

// listKeys prints the keys of a workload with their defaults.
func listKeys(out io.Writer, s traffic.Spec) error {
	fmt.Fprintf(out, "%s: %s\n%s\n\n", s.Kind, s.Title, s.StandsFor)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KEY\tDEFAULT\tWHAT IT IS")
	for _, k := range s.Described() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", k.Key, command.OrDash(k.Default), k.Doc)
	}
	return w.Flush()
}
