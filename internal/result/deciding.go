package result

import (
	"cmp"
	"slices"
)

// Deciding returns a fact of a mode that decides its trials beside the settings of the study: a version or a
// configuration that comes from the machine and is the same at each set-up until somebody changes it. Trials of
// the mode with another value are of another experiment.
func Deciding(name, value string) Fact { return Fact{Name: name, Value: value, Decides: true} }

// DecidingFacts returns those of a mode's facts that decide its trials, in the order of their names.
func DecidingFacts(facts []Fact) []Fact {
	var out []Fact
	for _, f := range facts {
		if f.Decides {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b Fact) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value)) })
	return out
}

// FactsHash is the hash of those of a mode's facts that decide its trials, empty if there are none. It is formed
// like that of [Settings.Experiment], of a JSON array of the pairs of name and value.
func FactsHash(facts []Fact) string {
	var pairs [][2]string
	for _, f := range DecidingFacts(facts) {
		pairs = append(pairs, [2]string{f.Name, f.Value})
	}
	if len(pairs) == 0 {
		return ""
	}
	return hashOf(pairs)
}

// FactCauses lists how the facts that decide the trials of a mode differ, without Trials.
func FactCauses(mode string, then, now []Fact) []Cause {
	values := func(facts []Fact) map[string]string {
		out := map[string]string{}
		for _, f := range DecidingFacts(facts) {
			out[f.Name] = f.Value
		}
		return out
	}
	return causes(nil, causeFacts+mode, values(then), values(now))
}
