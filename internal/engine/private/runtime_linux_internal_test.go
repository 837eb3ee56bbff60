//go:build linux

package private

import (
	"testing"

	"tare/internal/testkit/must"
)

// Versions of gVisor's own releases and of builds of a commit are recognised.
func TestRunscVersions(t *testing.T) {
	for text, want := range map[string]string{
		"runsc version release-20250407.0\nspec: 1.1.0-rc.1\n":    "20250407.0",
		"runsc version 20260905-160fafc42237\nspec: 1.1.0-rc.1\n": "20260905-160fafc42237",
		"runsc version VERSION_MISSING\nspec: 1.1.0-rc.1\n":       "",
		"": "",
	} {
		must.EqualFor(t, text, want, runscVersionIn(text))
	}
}
