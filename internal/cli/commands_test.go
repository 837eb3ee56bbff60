package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// docs/commands.md has what --help prints, for readers without the program. `make man`
// writes it together with the man pages.
func TestManPagesMarkdown(t *testing.T) {
	t.Parallel()
	const file = "../../docs/commands.md"
	var page strings.Builder
	page.WriteString("# Commands\n\n*Reference. Answers: which commands, flags and exit codes does tare have?*\n\n" +
		"This page is generated from `tare --help` by `make man`, like the man pages in [man](man). [Exit codes](results.md#exit-codes) are\n" +
		"the same for all commands.\n")
	root := New(result.Build{}).root()
	root.InitDefaultCompletionCmd()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || !c.IsAvailableCommand() && c != root || c.Name() == "help" || c.Parent() != nil && c.Parent().Name() == "completion" {
			return
		}
		c.InitDefaultHelpFlag()
		said := c.Long
		if said == "" {
			said = c.Short
		}
		fmt.Fprintf(&page, "\n## %s\n\n```\n%s\n\n%s```\n", c.CommandPath(), strings.TrimSpace(said), strings.TrimLeft(c.UsageString(), "\n"))
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	if *updateMan {
		must.Do(t, os.WriteFile(file, []byte(page.String()), 0o644))
	}
	there, err := os.ReadFile(file)
	must.Do(must.Named(t, "-update-man writes it"), err)
	if diff := cmp.Diff(string(there), page.String()); diff != "" {
		t.Errorf("%s is not what --help prints (-there +help); -update-man writes it:\n%s", file, diff)
	}
}
