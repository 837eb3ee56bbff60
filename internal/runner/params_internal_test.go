package runner

import (
	"reflect"
	"slices"
	"testing"

	"tare/internal/plan"
	"tare/internal/study"
	"tare/internal/traffic/workloads"
)

// Every parameter that a workload takes reaches its generator, unless the run itself
// sees to it.
func TestParamsReachTheGenerator(t *testing.T) {
	own := []string{
		"pairs", "family", "placement", "every", "times", "duration_min", "duration_max", "verify_with", "slice", // of the run and its plan
		"rates", "loss_goals", "goal", "exceed_ratio", "step", "step_sum", "precision", "pause", "min_rate", "max_rate", "max_search", // of the search and the sweep
	}
	literals := []study.Literal{
		{Kind: study.WholeLiteral, Text: "7"}, {Kind: study.FractionLiteral, Text: "0.5"}, {Kind: study.TextLiteral, Text: "7s"},
		{Kind: study.TextLiteral, Text: "7Mbit/s"}, {Kind: study.TruthLiteral, Text: "true"},
	}
	for _, w := range workloads.All() {
		spec := w.Spec().WorkloadSpec
		for _, key := range slices.Concat(spec.Params, spec.Optional) {
			if slices.Contains(own, key) {
				continue
			}
			without := study.Workload{Kind: spec.Kind}
			with := without
			f, ok := study.Find(with.Fields(), key)
			if !ok {
				t.Errorf("%s takes %s, which no study has", spec.Kind, key)
				continue
			}
			p, ok := f.Value.(study.Plain)
			if c, either := f.Value.(study.CountsValue); either {
				p, ok = c.One, true
			}
			if !ok {
				t.Fatalf("%s of %s is no plain value", key, spec.Kind)
			}
			reaches := false
			for _, tr := range append(literals, texts(p.Rule().Enum)...) {
				reaches = reaches || p.Read(tr) && !reflect.DeepEqual(params(plan.Trial{Workload: with}), params(plan.Trial{Workload: without}))
			}
			if !reaches {
				t.Errorf("%s of %s does not reach its generator", key, spec.Kind)
			}
		}
	}
}

func texts(all []string) []study.Literal {
	var out []study.Literal
	for _, text := range all {
		out = append(out, study.Literal{Kind: study.TextLiteral, Text: text})
	}
	return out
}
