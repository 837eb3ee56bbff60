package text

import (
	"testing"

	"tare/internal/testkit/must"
)

func TestCommand(t *testing.T) {
	for in, want := range map[string]string{
		"tare run":                                       "Repeat:\n  tare run\n",
		"tare run --modes a,b --seed 42 -o x":            "Repeat:\n  tare run --modes a,b --seed 42 -o \\\n  x\n",
		"tare run 'a  study with a long name' --seed 42": "Repeat:\n  tare run 'a  study with a long name' --seed 42\n",
	} {
		p := &printer{width: 38}
		p.command(in)
		must.Equal(t, want, p.buf.String())
	}
}
