package text

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommand(t *testing.T) {
	for in, want := range map[string]string{
		"tare run":                                       "Repeat:\n  tare run\n",
		"tare run --modes a,b --seed 42 -o x":            "Repeat:\n  tare run --modes a,b --seed 42 -o \\\n  x\n",
		"tare run 'a  study with a long name' --seed 42": "Repeat:\n  tare run 'a  study with a long name' --seed 42\n",
	} {
		p := &printer{width: 38}
		p.command(in)
		if diff := cmp.Diff(want, p.buf.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
