package private

import "testing"

// What is to be installed is the package of a missing program.
func TestDebianPackage(t *testing.T) {
	for program, want := range map[string]string{"conmon": "conmon", "pasta": "passt", "rootlessport": "podman"} {
		if got := debianPackage(program); got != want {
			t.Errorf("%s is in %s, want %s", program, got, want)
		}
	}
}
