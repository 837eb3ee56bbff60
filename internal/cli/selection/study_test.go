package selection

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/internal/testkit/must"
)

// Each flag that says what to measure counts as a choice, which a resumed run does not allow.
func TestEveryFlagIsAChoice(t *testing.T) {
	values := map[string]string{"bool": "true", "duration": "1s", "int": "1", "uint64": "1"}
	var all cobra.Command
	new(StudyFlags).Register(&all)
	n := 0
	all.Flags().VisitAll(func(flag *pflag.Flag) {
		var f StudyFlags
		var c cobra.Command
		f.Register(&c)
		value := values[flag.Value.Type()]
		if value == "" {
			value = "x"
		}
		must.Do(t, c.Flags().Set(flag.Name, value))
		if want := flag.Name != "yes"; f.Changed(&c) != want {
			t.Errorf("--%s: %v", flag.Name, !want)
		}
		n++
	})
	if n < 20 {
		t.Errorf("%d flags", n)
	}
}
