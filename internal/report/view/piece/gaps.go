package piece

import (
	"slices"
	"strings"

	"tare/internal/result"
)

// Ordered sorts items of modes into the order of these. Items of unknown modes are left out.
func Ordered[T any](modes []result.Mode, of []T, mode func(T) string) []T {
	var out []T
	for _, m := range modes {
		for _, x := range of {
			if mode(x) == m.ID {
				out = append(out, x)
			}
		}
	}
	return out
}

// WorkloadsIn lists the workloads of items, in the order in which they first appear.
func WorkloadsIn[T any](of []T, workload func(T) string) []string {
	var out []string
	for _, x := range of {
		if id := workload(x); !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// Gaps collects missing values, so that a reason of several modes is listed once.
type Gaps struct {
	reasons []string
	modes   map[string][]string
}

// Add adds a reason of a mode.
func (g *Gaps) Add(mode, reason string) {
	if g.modes == nil {
		g.modes = map[string][]string{}
	}
	if !slices.Contains(g.reasons, reason) {
		g.reasons = append(g.reasons, reason)
	}
	if !slices.Contains(g.modes[reason], mode) {
		g.modes[reason] = append(g.modes[reason], mode)
	}
}

// List is a sentence for each reason.
func (g *Gaps) List() []string {
	var out []string
	for _, r := range g.reasons {
		out = append(out, strings.Join(g.modes[r], ", ")+": "+r)
	}
	return out
}
