package drivertest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/driver/topologygolden"
)

// writeDrawn is the variable of the environment with which the paths are written, in
// place of being compared: see `make drawings`.
const writeDrawn = "TARE_WRITE_DRAWN"

// CheckGolden holds the path that stands to what package drawn says of its mode.
func (s *Setup) CheckGolden(t *testing.T, mode string) {
	t.Helper()
	top, err := s.Path.Topology()
	if err != nil {
		t.Fatal(err)
	}
	CheckGoldenPath(t, mode, topologygolden.Normalise(top, s.Path.Findings(nil, nil, nil)))
}

// UpdateGolden is whether what is built is written in place of being compared.
func UpdateGolden() bool { return os.Getenv(writeDrawn) != "" }

// CheckGoldenPath holds a path to what package drawn says of its mode.
func CheckGoldenPath(t *testing.T, mode string, built topologygolden.Path) {
	t.Helper()
	if UpdateGolden() {
		text, err := built.Encode()
		if err != nil {
			t.Fatal(err)
		}
		_, here, _, _ := runtime.Caller(0)
		if err := os.WriteFile(filepath.Join(filepath.Dir(here), "..", "drawn", "paths", topologygolden.File(mode)), text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	known, err := topologygolden.ForMode(mode)
	if err != nil {
		t.Fatalf("%v: write it by `make drawings`", err)
	}
	if d := cmp.Diff(known, built); d != "" {
		t.Errorf("%s is built otherwise than it is drawn; if that is right, `make drawings` (-drawn +built):\n%s", mode, d)
	}
}
