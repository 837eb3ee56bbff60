package cli

import (
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// The workflow for an upgrade of a cluster is one, and the program takes its commands and those of the page with
// their output.
func TestClusterWorkflow(t *testing.T) {
	raw := must.Get(os.ReadFile("../../docs/ci.md"))(t)
	_, rest, _ := strings.Cut(string(raw), "```yaml\nname: cluster upgrade\n")
	text, _, _ := strings.Cut(rest, "\n```")
	var workflow struct {
		On   map[string]any
		Jobs map[string]struct {
			RunsOn string `yaml:"runs-on"`
			Steps  []struct {
				Name, Uses, Run string
				With, Env       map[string]string
			}
		}
	}
	must.Do(t, yaml.Unmarshal([]byte(text), &workflow))
	job := workflow.Jobs["network"]
	must.Require(t, workflow.On["pull_request"] != nil && job.RunsOn != "" && len(job.Steps) >= 8, "%+v", workflow)
	var lines []string
	for _, s := range job.Steps {
		must.True(t, (s.Uses == "") != (s.Run == ""), "step %q both uses an action and runs commands, or neither", s.Name)
		must.True(t, !strings.Contains(s.Run, "${{"), "step %q puts an expression into a script, where the shell would run its value", s.Name)
		lines = append(lines, strings.Split(s.Run, "\n")...)
	}
	for line := range strings.Lines(string(raw)) {
		if command, is := strings.CutPrefix(line, "$ "); is {
			lines = append(lines, strings.TrimSpace(command))
		}
	}
	verbs := map[string]int{}
	for _, line := range lines {
		line = strings.Replace(strings.TrimSpace(line), `"$RUNNER_TEMP/bin/tare" `, "tare ", 1)
		command, is := ours(line)
		if !is {
			continue
		}
		words := strings.Fields(command)
		found, args, err := New(result.Build{}).root().Find(words[1:])
		if err == nil {
			err = found.ParseFlags(args)
		}
		if err == nil {
			err = found.ValidateArgs(found.Flags().Args())
		}
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		verbs[found.Name()]++
	}
	must.True(t, verbs["run"] == 2 && verbs["check"] == 2 && verbs["image"] == 1 && verbs["compare"] == 2, "commands: %v", verbs)
}
