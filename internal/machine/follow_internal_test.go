package machine

import (
	"os"
	"path/filepath"
	"testing"

	"tare/internal/testkit/must"
)

// Only a program in the directory of a copy follows its guard: the variable may be set for another reason.
func TestFollowItsOwnGuard(t *testing.T) {
	own := filepath.Dir(must.Get(os.Executable())(t))
	for dir, follows := range map[string]bool{"": false, "yes": false, "/nowhere": false, t.TempDir(): false, own: true, own + "/../" + filepath.Base(own): true} {
		t.Setenv(envDirectory, dir)
		// There is no guard, so that what follows one has lost it.
		if err := Follow(); (err != nil) != follows {
			t.Errorf("%q: %v", dir, err)
		}
		if _, kept := os.LookupEnv(envDirectory); kept == follows {
			t.Errorf("%q: the variable is kept: %v", dir, kept)
		}
	}
}
