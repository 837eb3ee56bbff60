package measure

import (
	"bytes"
	"fmt"
	"testing"

	"tare/internal/cli/command"
	"tare/internal/result"
	"tare/internal/runner"
	"tare/internal/testkit/must"
)

// The exit code of a run tells whether it has a result, and its last line why not.
func TestExitOfARun(t *testing.T) {
	nothing := fmt.Errorf("%w: 4 of 4 trials are invalid; the first, host tcp_rr in block 1: other programs", runner.ErrNothing)
	for name, c := range map[string]struct {
		run  result.Run
		err  error
		code int
		want string // of the error or of what is printed
	}{
		"complete":             {result.Run{Status: result.RunComplete, Trials: result.Tally{OK: 4}}, nil, 0, ""},
		"all invalid":          {result.Run{Status: result.RunFailed, Noisy: "load", Trials: result.Tally{Invalid: 4}}, nothing, command.ExitUnfit, "host tcp_rr in block 1: other programs; stop other programs"},
		"all void":             {result.Run{Status: result.RunFailed, Trials: result.Tally{Failed: 2}}, fmt.Errorf("%w: host is void: no proof", runner.ErrNothing), command.ExitEnvironment, "host is void: no proof"},
		"too noisy":            {result.Run{Status: result.RunComplete, Noisy: "load", Trials: result.Tally{OK: 4, Invalid: 4}}, nil, command.ExitUnfit, "too noisy to judge: load"},
		"signalled at the end": {result.Run{Status: result.RunComplete, Trials: result.Tally{OK: 4}}, nil, command.ExitInterrupted, "interrupted after the last trial; the run in dir is complete"},
		"interrupted":          {result.Run{Status: result.RunInterrupted, Trials: result.Tally{Invalid: 1}}, nil, command.ExitInterrupted, "tare run --resume"},
	} {
		var said bytes.Buffer
		err := commands{Streams: command.Streams{Stderr: &said}}.ended(c.run, c.err, "dir", name == "signalled at the end")
		if err != nil {
			said.WriteString(err.Error())
		}
		must.EqualFor(t, name, c.code, command.ExitCode(err))
		must.Contain(t, said.String(), c.want)
	}
}
