package private

import (
	"strings"
	"testing"

	"tare/internal/lab"
)

// Labels that differ only after the truncation do not share an engine's directory, and every name
// starts with the run's id.
func TestNamesOfEnginesDiffer(t *testing.T) {
	spec := func(label string) lab.Spec { return lab.Spec{Claim: lab.Claim{ID: "0123abcd"}, Label: label} }
	long := strings.Repeat("x", 60)
	seen := map[string]string{}
	for _, label := range []string{"docker/bridge", long, long + "1", long + "2", long[:longestLabel]} {
		name := nameOf(spec(label), "a")
		if was, again := seen[name]; again {
			t.Errorf("%s and %s are both %s", was, label, name)
		}
		seen[name] = label
		if len(name) > len("0123abcd--a")+longestLabel || !strings.HasPrefix(name, "0123abcd-") || strings.Contains(name, "/") {
			t.Errorf("%s is named %s", label, name)
		}
	}
}
