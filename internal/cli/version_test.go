package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/cli"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// --version, which scripts of other tools use, prints the first line of the command.
func TestVersion(t *testing.T) {
	t.Parallel()
	said := func(args ...string) string {
		var stdout bytes.Buffer
		app := cli.New(result.Build{Version: "1.2.3", Commit: "abc"})
		app.Stdout = &stdout
		must.Equal(t, 0, app.Main(t.Context(), args))
		return stdout.String()
	}
	first, rest, _ := strings.Cut(said("version"), "\n")
	must.Equal(t, "tare 1.2.3 (abc)", first)
	must.Contain(t, rest, "agent protocol")
	must.Equal(t, first+"\n", said("--version"))
}
