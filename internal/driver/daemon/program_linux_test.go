package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/timelimit"
)

// The version of a program that fails, is another one or does not end is an error of one line.
func TestVersionLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	for name, tt := range map[string]struct{ script, want string }{
		"good":           {"echo program 1.2; echo more", ""},
		"on stderr":      {"echo program 1.2 >&2", ""},
		"another one":    {"echo other 1.2", `unexpected output "other 1.2"`},
		"fails":          {"echo program 1.2; exit 3", "exit status 3"},
		"child hangs on": {"sleep 60 & echo program 1.2; wait", "the test ends it"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte("#!/bin/sh\n"+tt.script+"\n"), 0o755); err != nil { //nolint:gosec // it is to be run
				t.Fatal(err)
			}
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if strings.Contains(tt.script, "wait") {
				t.Setenv(timelimit.Variable, "1") // its whole limit is waited for
				ctx, cancel = context.WithTimeoutCause(ctx, time.Second, errors.New("the test ends it"))
			}
			defer cancel()
			began := time.Now()
			line, err := VersionLine(ctx, path, "--version", "program ")
			switch {
			case tt.want == "" && (err != nil || line != "program 1.2"):
				t.Errorf("got %q, %v", line, err)
			case tt.want != "" && (err == nil || !strings.HasSuffix(err.Error(), tt.want) || strings.Contains(err.Error(), "\n")):
				t.Errorf("got %q, %v, want %s", line, err, tt.want)
			case time.Since(began) > 30*time.Second:
				t.Errorf("it took %v", time.Since(began))
			}
		})
	}
}
