package cli_test

import (
	"bytes"
	"testing"

	"tare/internal/cli"
	"tare/internal/cli/command"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// A run that is too noisy to judge keeps no limit and breaks none.
func TestLimitOfNoisyRun(t *testing.T) {
	t.Parallel()
	run := onMachines(t, 0.01, "A")[0]
	check := func(limit string) (string, int) {
		var stdout bytes.Buffer
		app := cli.New(result.Build{Version: "test"})
		app.Stdout, app.Stderr = &stdout, &stdout
		code := app.Main(t.Context(), []string{"check", "--limit", "netns/m1.tcp_stream.change " + limit, run})
		return stdout.String(), code
	}
	for _, c := range []struct {
		noisy        string
		kept, broken int
	}{{"", 0, command.ExitRegression}, {"half of its trials are invalid", command.ExitUnfit, command.ExitUnfit}} {
		edit(t, run, func(r *result.Run) { r.Noisy = c.noisy })
		told, code := check(">= -90%")
		must.EqualFor(t, told, c.kept, code)
		told, code = check(">= +90%")
		must.EqualFor(t, told, c.broken, code)
	}
}
