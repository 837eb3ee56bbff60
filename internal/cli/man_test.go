package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

var updateMan = flag.Bool("update-man", false, "write the man pages")

// The man pages say what --help says. They lie in the repository, so that the program
// needs nothing to make them: go test ./internal/cli -run TestManPages -update-man.
func TestManPages(t *testing.T) {
	const dir = "../../docs/man"
	t.Setenv("SOURCE_DATE_EPOCH", "0")
	root := New(result.Build{}).root()
	root.InitDefaultCompletionCmd()
	var names []string
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || !c.IsAvailableCommand() && c != root || c.Name() == "help" {
			return
		}
		c.DisableAutoGenTag = true
		var page bytes.Buffer
		day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
		must.Do(t, doc.GenMan(c, &doc.GenManHeader{Section: "1", Source: "tare", Manual: "tare", Date: &day}, &page))
		name := manName(c)
		names = append(names, name)
		if *updateMan {
			must.Do(t, os.WriteFile(filepath.Join(dir, name), page.Bytes(), 0o644))
		}
		there, err := os.ReadFile(filepath.Join(dir, name))
		must.Do(must.Named(t, "-update-man writes it"), err)
		if diff := cmp.Diff(string(there), page.String()); diff != "" {
			t.Errorf("%s is not what --help says (-there +help); -update-man writes it:\n%s", name, diff)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	there := must.Get(os.ReadDir(dir))(t)
	for _, e := range there {
		must.True(t, slices.Contains(names, e.Name()), "%s is of no command", e.Name())
	}
}

func manName(c *cobra.Command) string {
	if !c.HasParent() {
		return c.Name() + ".1"
	}
	name := manName(c.Parent())
	return name[:len(name)-2] + "-" + c.Name() + ".1"
}
