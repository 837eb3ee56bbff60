//go:build linux

package linuxnet

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// What runs in a user namespace is the command that is given, with its arguments, environment and streams, whatever
// this program is and was started with.
func TestRunInUserNamespace(t *testing.T) {
	testneed.NotShort(t)
	var out strings.Builder
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `id -u; cat; echo "$1 $GIVEN $#"; exit 7`, "sh", "argument")
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = append(os.Environ(), "GIVEN=variable"), strings.NewReader("input\n"), &out, &out
	code, err := RunInUserNamespace(cmd)
	if err != nil {
		testneed.Missing(t, testneed.Labs, err)
	}
	must.EqualFor(t, "exit code and output", []any{7, "0\ninput\nargument variable 1\n"}, []any{code, out.String()})
}
