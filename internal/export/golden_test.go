package export

import (
	"bytes"
	"flag"
	"path/filepath"
	"testing"

	"tare/internal/testkit/must"
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
			must.File(t, filepath.Join("testdata", "golden."+f.Name), out.Bytes(), *update)
		})
	}
}
