package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"tare/internal/wording"
)

// The exit codes.
const (
	ExitOK          = 0
	exitFailed      = 1
	ExitUsage       = 2   // usage or study error; nothing was created
	ExitEnvironment = 3   // rights, kernel or engine lack what is needed
	ExitUnfit       = 4   // measured, but too noisy to judge
	ExitRegression  = 10  // check found one, or a claim does not hold
	ExitIncomplete  = 11  // check cannot compare what the earlier run has, or a claim cannot be told
	ExitInterrupted = 130 // after teardown
	ExitUnread      = 141 // nobody reads stdout any more: what a shell reports for SIGPIPE, which ends a command that has nothing to remove
)

// codeError is an error with its exit code.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }

func (e *codeError) Unwrap() error { return e.err }

// ExitCode is the exit code of a command that ended with an error, or with none.
func ExitCode(err error) int {
	var coded *codeError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &coded):
		return coded.code
	}
	return exitFailed
}

// IsCoded reports whether an error has an exit code of its own.
func IsCoded(err error) bool { return errors.As(err, new(*codeError)) }

// WithCode gives an error an exit code. An empty text has been printed already.
func WithCode(code int, err error) error { return &codeError{code, err} }

// Usage is an error of usage or of a study.
func Usage(err error) error { return WithCode(ExitUsage, err) }

// Environment is an error about rights, a kernel or an engine that lack what is needed.
func Environment(err error) error { return WithCode(ExitEnvironment, err) }

// NotReadable is the error for a run that cannot be read: a wrong name, a broken file or a
// missing permission.
func NotReadable(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return Environment(fmt.Errorf("%w: read it as the user who made it, or make it readable", err))
	}
	return Usage(err)
}

// ErrSilent is the text of [Done].
var ErrSilent = errors.New("")

// Done ends a command whose outcome is printed, such as by another process that did its work, with an exit code, which may be 0.
func Done(code int) error { return WithCode(code, ErrSilent) }

// mostError is how many columns of an error are shown. A file can contain any name.
const mostError = 4000

// Shown is an error cleaned for a terminal.
func Shown(err error) string { return wording.Cut(wording.CleanLines(err.Error()), mostError) }

// Quote makes an argument safe to paste into a shell.
func Quote(arg string) string {
	if arg != "" && strings.Trim(arg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:,=@") == "" {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// OrDash is a text for a table, in which a dash stands for none.
func OrDash(s string) string { return cmp.Or(s, "-") }

// OneLine keeps a reason from breaking a table.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// LineWidth is where warnings are broken, so that they can be read on any terminal.
const LineWidth = 100

// Wrapped breaks a text at its spaces into lines of at most width bytes. A longer word
// has a line of its own.
func Wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}
