package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/internal/report/doc"
	"tare/internal/result"
	"tare/internal/wording"
)

// oldEngine is the age from which an engine stands in the first lines of a report.
const oldEngine = 2 * 365 * 24 * time.Hour

// oldEngines are the engines of the run's modes that were old when it started, each with its modes.
func oldEngines(v View) []doc.Notice {
	type engine struct{ version, released string }
	var found []engine
	modes := map[engine][]string{}
	for _, m := range v.Run.Modes {
		for _, e := range enginesOf(m.Facts) {
			at, err := time.Parse(time.DateOnly, e[1])
			if err != nil || v.Run.Started.Sub(at) < oldEngine {
				continue
			}
			old := engine{e[0], e[1]}
			if !slices.Contains(found, old) {
				found = append(found, old)
			}
			if !slices.Contains(modes[old], m.ID) {
				modes[old] = append(modes[old], m.ID)
			}
		}
	}
	var out []doc.Notice
	for _, e := range found {
		at, _ := time.Parse(time.DateOnly, e.released)
		out = append(out, doc.Notice{Text: fmt.Sprintf("Docker Engine %s of %s is of a line first released %s before this run: engines of today may differ.",
			e.version, strings.Join(modes[e], ", "), wording.Age(v.Run.Started.Sub(at)))})
	}
	return out
}

// enginesOf returns version and release date of the engines in a mode's facts, of each host.
func enginesOf(facts []result.Fact) (all [][2]string) {
	value := func(name string) string {
		i := slices.IndexFunc(facts, func(f result.Fact) bool { return f.Name == name })
		if i < 0 {
			return ""
		}
		return facts[i].Value
	}
	for _, f := range facts {
		if host, is := strings.CutSuffix(f.Name, result.FactEngineReleased); is {
			all = append(all, [2]string{value(host + result.FactEngine), f.Value})
		}
	}
	return all
}
