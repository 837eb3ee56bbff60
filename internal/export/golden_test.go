package export

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/must"
)

var update = flag.Bool("update", false, "write the golden files")

// What each format makes of a recorded run is pinned to the byte, but for run.json,
// which is the run's own, and Markdown, which the report's tests pin.
func TestGolden(t *testing.T) {
	run, trials := recorded(t)
	for _, f := range All() {
		if f.Name == "json" || f.Name == "md" {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			var out bytes.Buffer
			must.Do(t, f.Write(&out, run, trials))
			file := filepath.Join("testdata", "golden."+f.Name)
			if *update {
				must.Do(t, os.WriteFile(file, out.Bytes(), 0o644))
			}
			want := must.Get(os.ReadFile(file))(t)
			if d := cmp.Diff(string(want), out.String()); d != "" {
				t.Errorf("%s (-want +got):\n%s", file, d)
			}
		})
	}
}
