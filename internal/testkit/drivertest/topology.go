package drivertest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/driver/topologygolden"
)

// updateGoldenEnv is the environment variable that makes the tests write the golden paths
// instead of comparing: see `make drawings`.
const updateGoldenEnv = "TARE_WRITE_DRAWN"

// CheckGolden compares the path with its golden file in package topologygolden.
func (s *Setup) CheckGolden(t *testing.T, mode string) {
	t.Helper()
	top, err := s.Path.Topology()
	if err != nil {
		t.Fatal(err)
	}
	CheckGoldenPath(t, mode, topologygolden.Normalise(top, s.Path.Findings(nil, nil, nil)))
}

// UpdateGolden reports whether golden files are written instead of compared.
func UpdateGolden() bool { return os.Getenv(updateGoldenEnv) != "" }

// CheckGoldenPath compares a built path with the golden file of its mode.
func CheckGoldenPath(t *testing.T, mode string, built topologygolden.Path) {
	t.Helper()
	if UpdateGolden() {
		text, err := built.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(Root(t), "internal", "driver", "topologygolden", "paths", topologygolden.File(mode)), text, 0o644); err != nil {
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
