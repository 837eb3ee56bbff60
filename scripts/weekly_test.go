package scripts_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// scripts/weekly measures each study, lists those with a regression, and goes on after one that
// failed.
func TestWeeklyScript(t *testing.T) {
	for name, c := range map[string]struct {
		run, check   string // exit codes of tare run and tare check for the study b
		fails        bool
		regression   bool
		histories    string
		told, absent string
	}{
		"steady":      {"0", "0", false, false, "a b", "", "not"},
		"regression":  {"0", "10", false, true, "a b", "", "not"},
		"missing":     {"0", "11", false, true, "a b", "", "not"},
		"too noisy":   {"4", "4", false, false, "a b", "", "not"},
		"not run":     {"3", "0", true, false, "a", "b was not measured: tare run ended with 3", "not checked"},
		"not checked": {"0", "2", true, false, "a b", "b was not checked: tare check ended with 2", "not measured"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tare := filepath.Join(dir, "tare")
			stub := `#!/bin/bash
case $1 in
run) mkdir -p "${@: -1}"; [ $2 != b ] || [ ` + c.run + ` != 3 ] && touch "${@: -1}/run.json"; [ $2 != b ] || exit ` + c.run + ` ;;
check) echo "report of ${@: -1}"; case $5 in */b) exit ` + c.check + ` ;; esac ;;
history) [ -n "$8" ] && [ $8 != md ] || echo summary; echo "$4" >>` + dir + `/histories ;;
prune) [ "$2 $3 $4" = "--yes --keep 104" ] || exit 1 ;;
*) exit 9 ;;
esac
`
			must.Do(t, os.WriteFile(tare, []byte(stub), 0o755))
			cmd := exec.Command("./weekly")
			cmd.Env = append(os.Environ(), "TARE="+tare, "HISTORY="+filepath.Join(dir, "history"), "STUDIES=a b", "GITHUB_OUTPUT="+filepath.Join(dir, "output"), "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary"))
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) || (err != nil) != c.fails || !strings.Contains(string(out), c.told) || strings.Contains(string(out), c.absent) {
				t.Errorf("%v, want a failure %v with %q:\n%s", err, c.fails, c.told, out)
			}
			read := func(name string) string {
				text, err := os.ReadFile(filepath.Join(dir, name))
				must.Require(t, err == nil || os.IsNotExist(err), "%v", err)
				return string(text)
			}
			list := strings.Fields(read("histories"))
			seen := map[string]bool{}
			var studies []string
			for _, s := range list {
				if !seen[s] {
					seen[s], studies = true, append(studies, s)
				}
			}
			must.EqualFor(t, fmt.Sprintf("the histories written: %q", list), []any{c.histories, 2 * len(studies)}, []any{strings.Join(studies, " "), len(list)})
			found := read("history/regressions.md")
			if (found != "") != c.regression || (read("output") == "regression=true\n") != c.regression || c.regression && !strings.Contains(found, "## b\n\nreport of ") {
				t.Errorf("the regressions are %q, the output %q", found, read("output"))
			}
		})
	}
}
