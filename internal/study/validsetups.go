package study

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/study/suggest"
)

// setUps checks what a study that measures set-ups names: modes whose set-up can be measured, with endpoints in the kernel's network
// stack, and workloads of one pair, because the others would be set up, too.
func (v *validator) setUps(s Study) {
	if !slices.ContainsFunc(s.Workloads, func(w Workload) bool { return w.Kind == SetupKind }) {
		return
	}
	for i, m := range s.Modes {
		spec, known := v.cat.Mode(m.Mode)
		path := fmt.Sprintf("modes[%d]", i)
		switch {
		case !known || spec.Absent != "" || !v.readable(path):
		case m.Engine.Runtime == RuntimeRunsc || m.Engine.Runtime == RuntimeRunscHostnet:
			v.add(v.key(path+".engine", "runtime"), "runtime: %s cannot be measured by the workload %s, which opens the sockets of client and server itself, and none in a sandbox of gVisor; use runtime: %s, or leave the mode out",
				m.Engine.Runtime, SetupKind, RuntimeRunc)
		case !spec.TimesSetup:
			v.add(v.key(path, "mode"), "%s cannot be measured by the workload %s, which needs endpoints in network namespaces of this machine or behind a service of a cluster; %s",
				m.Mode, SetupKind, orElse(suggest.Either(v.timed()), "no mode here", " can"))
		}
	}
	for i, w := range s.Workloads {
		if path := fmt.Sprintf("workloads[%d]", i); w.Endpoints() > 1 && v.readable(path) {
			v.add(path, "%s has several pairs of endpoints, whose set-up %s would measure, too; put one of them in a study of its own", w.Name(), SetupKind)
		}
	}
}

// timed lists the prefixes of the modes whose set-up can be measured.
func (v *validator) timed() (prefixes []string) {
	for _, id := range v.taking(func(o Offer) bool { return o.TimesSetup }) {
		if prefix, _, _ := strings.Cut(id, "/"); !slices.Contains(prefixes, prefix) {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes
}
