package drivertest

import (
	"os"
	"path/filepath"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/testkit/must"
)

// Refused is a mode that cannot be built.
type Refused struct {
	Mode string
	MTU  int
	// Program is a program of the mode that is a shell script instead; empty to leave all as they are.
	Program, Script string
	Want            string // in the error, which is one line
	Unsupported     bool   // the mode is unsupported; otherwise setting it up fails
}

// CheckRefused checks that each mode is refused in one line.
func CheckRefused(t *testing.T, d labdriver.Driver, all map[string]Refused) {
	t.Helper()
	NeedLab(t)
	for name, r := range all {
		t.Run(name, func(t *testing.T) {
			if r.Program != "" {
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, r.Program), []byte("#!/bin/sh\n"+r.Script+"\n"), 0o755); err != nil { //nolint:gosec // it is to be run
					t.Fatal(err)
				}
				t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			}
			_, err := d.Provision(t.Context(), SpecOn(Spec(t, nil), driver.Order{Mode: r.Mode, Pairs: 1, MTU: r.MTU}))
			must.FailLine(t, "error", err, r.Want)
			if _, is := driver.AsUnsupported(err); is != r.Unsupported {
				t.Errorf("unsupported: %t, want %t: %v", is, r.Unsupported, err)
			}
		})
	}
}
