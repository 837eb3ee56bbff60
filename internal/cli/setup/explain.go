package setup

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/study/suggest"
	"tare/internal/warning"
)

func (a commands) explainCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "explain [CODE...]", Short: "Say what a warning means and what to do",
		Example: "  tare explain two_bands\n  tare explain",
		Args:    cobra.ArbitraryArgs,
		Long: "Say of warnings of a run when each is given, what it does to the result, and how it is fixed, as docs/warnings.md does; without\n" +
			"codes, list them all. The code of a warning stands in report.html and in run.json.",
		RunE: func(_ *cobra.Command, codes []string) error {
			if len(codes) == 0 {
				return listWarnings(a.Stdout)
			}
			for i, code := range codes {
				e, _, ok := warning.Find(code)
				if !ok {
					return command.Usage(fmt.Errorf("%s", suggest.Unknown("warning", code, "", warningCodes())))
				}
				if i > 0 {
					fmt.Fprintln(a.Stdout)
				}
				explainWarning(a.Stdout, e)
			}
			return nil
		},
	}
	command.CompleteArguments(c, warningCodes)
	return c
}

func warningCodes() []string {
	return command.Names(warning.All(), func(e warning.Entry) warning.Code { return e.Code })
}

// listWarnings prints the codes by section, with what each means in a line.
func listWarnings(out io.Writer) error {
	section := warning.Section("")
	for _, e := range warning.All() {
		if e.Section != section {
			if section != "" {
				fmt.Fprintln(out)
			}
			section = e.Section
			fmt.Fprintln(out, section)
		}
		// What braces enclose has the values of a run in a report.
		if _, err := fmt.Fprintf(out, "  %-22s %s\n", e.Code, strings.NewReplacer("{", "", "}", "").Replace(e.Short)); err != nil {
			return err
		}
	}
	return nil
}

// explainWarning prints one entry of the registry.
func explainWarning(out io.Writer, e warning.Entry) {
	fmt.Fprintf(out, "%s (%s, about %s)\n", e.Code, e.Severity, about(e.Scope))
	for _, line := range []struct{ head, text string }{{"When", e.When}, {"Effect", e.Effect}, {"Fix", e.Fix}} {
		if line.text == "" {
			continue
		}
		head := line.head
		for _, part := range command.Wrapped(withoutMarkup(line.text), command.LineWidth-8) {
			fmt.Fprintf(out, "%-7s %s\n", head, part)
			head = ""
		}
	}
	var causes []string
	for _, c := range e.Causes {
		causes = append(causes, string(c))
	}
	if len(causes) > 0 {
		fmt.Fprintf(out, "%-7s %s, where the run has that warning, too\n", "Cause", strings.Join(causes, " or "))
	}
}

// about says what a scope of the registry names.
func about(scope string) string {
	if words := strings.Fields(scope); len(words) > 1 {
		return "a " + strings.Join(words[:len(words)-1], ", a ") + " and a " + words[len(words)-1]
	}
	if scope == "run" || scope == "" {
		return "the run"
	}
	return "a " + scope
}

// links are the links of a Markdown text.
var links = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// withoutMarkup is a text of the registry for a terminal.
func withoutMarkup(text string) string {
	return strings.ReplaceAll(links.ReplaceAllString(text, "$1"), "`", "")
}
