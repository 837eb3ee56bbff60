package command

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"tare/internal/printable"
	"tare/internal/report"
)

// Streams are what a command reads and writes.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// output is a stream to which the program prints. Through [Streams.cleaned] it gets text of any
// origin without what a terminal would interpret; [raw] is for data that other programs read,
// and for what moves the cursor.
type output struct {
	io.Writer
	broken atomic.Pointer[func()] // called when nobody reads the stream any more
	closed atomic.Bool            // whether the pipe that it is has no reader any more
}

// Write tells when nobody reads the stream any more.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		o.closed.Store(true)
	}
	if tell := o.broken.Load(); tell != nil && (errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.EIO)) {
		(*tell)()
	}
	return n, err
}

// Unread reports whether err is only that nobody reads stdout any more, as after head. Whoever closed the pipe knows.
func (s Streams) Unread(err error) bool {
	out, ok := Raw(s.Stdout).(*output)
	return ok && out.closed.Load() && errors.Is(err, syscall.EPIPE)
}

// Cleaned returns streams that remove from text what a terminal would
// interpret, wherever the text is from: names on an engine, messages of other programs, files.
// It is the one place where that is done for all commands.
func (s Streams) Cleaned() Streams {
	s.Stdout = printable.NewWriter(&output{Writer: s.Stdout})
	s.Stderr = printable.NewWriter(&output{Writer: s.Stderr})
	return s
}

// Raw returns the stream below the one that cleans text. What is written there must be data for
// another program or be cleaned already.
func Raw(w io.Writer) io.Writer {
	if clean, ok := w.(*printable.Writer); ok {
		return clean.Raw()
	}
	return w
}

// File returns the file that a stream writes to, if it is one.
func File(w any) (f *os.File, ok bool) {
	if clean, is := w.(*printable.Writer); is {
		w = clean.Raw()
	}
	if out, is := w.(*output); is {
		w = out.Writer
	}
	f, ok = w.(*os.File)
	return f, ok
}

// Ending returns a context that is cancelled when the program is told to end: by a signal, or
// because nobody reads its output any more. What it has created is then removed in order. Until
// stop is called, further signals have no effect.
func (s Streams) Ending(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ctx, deaf := signal.NotifyContext(ctx, ends()...)
	// A signal for a failed write would end the program at once. Nobody receives it, because any
	// pipe or socket can be its reason: the error of the write tells which. It stays so until the
	// end of the program, which may still have to print.
	signal.Notify(make(chan os.Signal, 1), writeSignals()...)
	for _, w := range []io.Writer{s.Stdout, s.Stderr} {
		if out, ok := Raw(w).(*output); ok {
			tell := func() { cancel(errUnread) }
			out.broken.Store(&tell)
		}
	}
	return ctx, func() {
		deaf()
		cancel(nil)
	}
}

// ends are the signals that tell the program to end.
func ends() []os.Signal {
	all := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup wants it
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// errUnread is why a context of Ending is cancelled if it was no signal.
var errUnread = errors.New("nobody reads the output any more")

// Signalled reports whether a context of Ending was cancelled by a signal.
func Signalled(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), errUnread)
}

// LastSignals returns a context that a signal to end cancels from now on, for a program that has nothing left to do but to print: Printed
// ends with it. stop gives signals back to what received them before.
func LastSignals(background context.Context) (_ context.Context, stop func()) {
	return signal.NotifyContext(background, ends()...)
}

// Printed calls print, which only writes to stdout, and returns its error. After a signal to end it does not wait for a reader who does
// not read: it then returns false, and print goes on until the program ends.
func Printed(ended context.Context, print func() error) (bool, error) {
	done := make(chan error, 1)
	go func() { done <- print() }()
	select {
	case err := <-done:
		return true, err
	case <-ended.Done():
	}
	select {
	case err := <-done:
		return true, err
	default:
		return false, nil
	}
}

// Colours is stdout for a report, which has cleaned its texts: on a terminal its own colours pass.
func (s Streams) Colours() io.Writer {
	if s.TextOptions().Color {
		return Raw(s.Stdout)
	}
	return s.Stdout
}

// TextOptions are the width and the colours of a report on stdout.
func (s Streams) TextOptions() report.TextOptions {
	tty, width, _ := Terminal(s.Stdout)
	if width == 0 {
		width = report.MaxWidth
	}
	return report.TextOptions{Width: min(width, report.MaxWidth), Color: tty && os.Getenv("NO_COLOR") == ""}
}

// PrintJSON prints a value as data for another program.
func (s Streams) PrintJSON(value any) error {
	e := json.NewEncoder(Raw(s.Stdout))
	e.SetIndent("", "  ")
	return e.Encode(value)
}
