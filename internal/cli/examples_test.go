package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// Every command has examples in its help, and each is taken: the command and its flags
// are there, and so many arguments are right.
func TestExamplesAreTaken(t *testing.T) {
	t.Parallel()
	var walk func(c *cobra.Command)
	examples := 0
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if c.Hidden || !c.HasParent() || c.Name() == "completion" || c.Parent().Name() == "completion" || c.Name() == "help" {
			return
		}
		must.True(t, c.Example != "", "tare %s --help shows no example", c.Name())
		for line := range strings.Lines(c.Example) {
			command, ok := ours(line)
			if !ok {
				t.Errorf("tare %s --help: no tare in %q", c.Name(), line)
				continue
			}
			examples++
			words := arguments(command)
			found, args, err := New(result.Build{}).root().Find(words[1:])
			if err == nil {
				err = found.ParseFlags(args)
			}
			if err == nil {
				err = found.ValidateArgs(found.Flags().Args())
			}
			must.True(t, err == nil && found.Name() == c.Name(), "tare %s --help: %q is tare %s and %v", c.Name(), line, found.Name(), err)
		}
	}
	root := New(result.Build{}).root()
	root.InitDefaultCompletionCmd()
	walk(root)
	must.True(t, examples >= 15, "only %d examples", examples)
}

// arguments are the words of a command line, of which some are within single quotes.
func arguments(line string) (out []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}

// ours is the part of a command line that calls tare, without what shells do with its
// output.
func ours(line string) (string, bool) {
	for part := range strings.SplitSeq(line, "|") {
		part, _, _ = strings.Cut(strings.TrimSpace(part), " >")
		part, _, _ = strings.Cut(part, " #")
		if strings.HasPrefix(part, "tare") {
			return part, true
		}
	}
	return "", false
}
