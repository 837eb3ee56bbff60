// Package command is what every command of tare is made with: the streams and the terminal, its arguments and flags, and errors
// with their exit codes.
package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/study/suggest"
)

// The headings of the commands in the help of the program.
const (
	Measure = "Measure:"
	Explain = "Explain:"
	Compare = "Compare:"
	Manage  = "Manage:"
)

// Under puts commands under a heading.
func Under(heading string, all ...*cobra.Command) []*cobra.Command {
	for _, c := range all {
		c.GroupID = heading
	}
	return all
}

// Exactly allows n arguments of a command, and no other number.
func Exactly(n int) cobra.PositionalArgs { return numbered(n, n) }

// AtMostOne allows one argument or none.
func AtMostOne() cobra.PositionalArgs { return numbered(0, 1) }

// AtLeast allows n arguments or more.
func AtLeast(n int) cobra.PositionalArgs { return numbered(n, -1) }

// numbered allows from least to most arguments, without a limit if most is negative. The error names the arguments
// that the command takes.
func numbered(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		wrong := ""
		switch n := len(args); {
		case n == least-1:
			wrong = "an argument is missing"
		case n < least:
			wrong = "arguments are missing"
		case most >= 0 && n > most:
			wrong = fmt.Sprintf("the argument %s is one too many", suggest.Quote(args[most]))
			if n > most+1 {
				wrong = fmt.Sprintf("the arguments from %s on are too many", suggest.Quote(args[most]))
			}
		default:
			return nil
		}
		return Usage(ContextHint(c, args, fmt.Errorf("%s; use %s; see %s --help", wrong, formOf(c), c.CommandPath())))
	}
}

// formOf is how a command is called, with its arguments.
func formOf(c *cobra.Command) string {
	if c.HasParent() {
		return c.Parent().CommandPath() + " " + c.Use
	}
	return c.Use
}

// CurrentContext is the value of --kube without one. No context can be called so in a kubeconfig
// that a shell writes.
const CurrentContext = " "

// ContextHint adds to an error about arguments how a context is written, where the last argument
// may have been meant as one: --kube takes a value only after an equals sign.
func ContextHint(c *cobra.Command, args []string, err error) error {
	f := c.Flags().Lookup("kube")
	if f == nil || f.Value.String() != CurrentContext || len(args) == 0 {
		return err
	}
	return fmt.Errorf("%w; if %s is a context of the kubeconfig, write --kube=%[2]s", err, args[len(args)-1])
}

// OneOf returns an error of usage unless the value of a flag is allowed.
func OneOf[S ~string](flag string, value S, allowed ...S) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return Usage(fmt.Errorf("--%s is %q; allowed: %s", flag, value, strings.Join(Names(allowed, func(s S) S { return s }), ", ")))
}

// Names are the names of things in their order.
func Names[T any, S ~string](all []T, of func(T) S) []string {
	var out []string
	for _, one := range all {
		out = append(out, string(of(one)))
	}
	return out
}

// CompleteFlag completes a flag of a command, if it has it. Of a list parted by commas the
// last part is completed.
func CompleteFlag(c *cobra.Command, flag string, names func() []string) {
	if c.Flags().Lookup(flag) == nil {
		return
	}
	// It fails only for a flag that already has a completion.
	_ = c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		var out []string
		for _, n := range beginning(names(), typed[len(before):]) {
			out = append(out, before+n)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	})
}

func beginning(names []string, typed string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(n, typed) })
}

// CompleteArguments completes the arguments of a command.
func CompleteArguments(c *cobra.Command, names func() []string) {
	c.ValidArgsFunction = func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		// Files are the most common arguments, so the shell completes them, too.
		return beginning(names(), typed), cobra.ShellCompDirectiveDefault
	}
}

// CompleteFormats completes the flag --format of a command.
func CompleteFormats(c *cobra.Command, formats ...string) {
	CompleteFlag(c, "format", func() []string { return formats })
}
