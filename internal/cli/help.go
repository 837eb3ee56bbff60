package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/internal/cli/command"
	"tare/internal/study/suggest"
)

// unknownCommand is the error for a name that is no command below c.
func unknownCommand(c *cobra.Command, name string) error {
	meant := ""
	if like := c.SuggestionsFor(name); len(like) > 0 {
		meant = fmt.Sprintf(" (did you mean %s?)", suggest.Either(like))
	}
	return command.Usage(fmt.Errorf("unknown command %s%s; see %s --help", suggest.Quote(name), meant, c.CommandPath()))
}

// wrongFlag is the error for a flag of c that cannot be read.
func wrongFlag(c *cobra.Command, err error) error {
	help := "; see " + c.CommandPath() + " --help"
	if e, is := errors.AsType[*pflag.NotExistError](err); is {
		if in := e.GetSpecifiedShortnames(); in != "" {
			return command.Usage(fmt.Errorf("unknown flag %s%s", suggest.Quote("-"+e.GetSpecifiedName()), help))
		}
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if near, ok := suggest.Nearest(e.GetSpecifiedName(), names); ok {
			help = "; did you mean --" + near + "? see " + c.CommandPath() + " --help"
		}
		return command.Usage(fmt.Errorf("unknown flag %s%s", suggest.Quote("--"+e.GetSpecifiedName()), help))
	}
	if e, is := errors.AsType[*pflag.ValueRequiredError](err); is {
		return command.Usage(fmt.Errorf("--%s has no value; want %s%s", e.GetFlag().Name, wantOf(e.GetFlag()), help))
	}
	if e, is := errors.AsType[*pflag.InvalidValueError](err); is {
		return command.Usage(fmt.Errorf("--%s is %s; want %s%s", e.GetFlag().Name, suggest.Quote(e.GetValue()), wantOf(e.GetFlag()), help))
	}
	if e, is := errors.AsType[*pflag.InvalidSyntaxError](err); is {
		return command.Usage(fmt.Errorf("%s is not a flag; want --NAME or --NAME=VALUE%s", suggest.Quote(e.GetSpecifiedFlag()), help))
	}
	return command.Usage(fmt.Errorf("%w%s", err, help))
}

// wantOf says which values a flag takes.
func wantOf(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "true or false, or no value"
	case "duration":
		return "a time with its unit, such as 10m or 300us"
	case "int", "uint64":
		return "a whole number"
	case "float64":
		return "a number"
	case "stringSlice":
		return "names, separated by commas"
	}
	return "--" + f.Name + " VALUE"
}

// helpCommand prints the help of a command. Cobra's own ends with exit code 0 for one that there is not.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Print the help of a command",
		Long:    "Print the help of a command, as its --help does.",
		Example: "  tare help run",
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if at, _, err := c.Root().Find(args); err == nil {
				for _, sub := range at.Commands() {
					if sub.IsAvailableCommand() {
						names = append(names, sub.Name())
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			at, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 && at.HasSubCommands() {
				return unknownCommand(at, rest[0])
			}
			at.InitDefaultHelpFlag()
			return at.Help()
		},
	}
}

// completionShells makes cobra's command for shells report a shell that it does not know.
func completionShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			var shells []string
			for _, sub := range c.Commands() {
				shells = append(shells, sub.Name())
			}
			return command.Usage(errors.New(suggest.Unknown("shell", args[0], "", shells)))
		}
		for _, shell := range c.Commands() {
			shell.Args = command.Exactly(0)
		}
	}
}
