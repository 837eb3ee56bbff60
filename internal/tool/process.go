package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"tare/internal/process"
	"tare/internal/timelimit"
	"tare/internal/traffic/thread"
)

// output is the output of a process.
type output struct {
	stdout, stderr []byte
	file           []byte // of the file that it wrote
}

// maxOutput bounds what is read from a process; more is an error.
const maxOutput = 4 << 20

// errOutput means that a process wrote more than maxOutput.
var errOutput = fmt.Errorf("it wrote more than %d MiB", maxOutput>>20)

// proc is a running tool. Its process group is killed with it.
type proc struct {
	*process.Process
	cancel         context.CancelCauseFunc
	ctx            context.Context //nolint:containedctx // of the process, which outlives the call that starts it
	stdout, stderr bounded
}

// start starts a process that ends with this one, pinned to cpu unless that is negative. On Linux a
// child inherits the affinity of the thread that starts it. It inherits passed unless that is nil.
func start(cpu int, passed *os.File, path string, args []string) (*proc, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	p := &proc{Process: process.New(path, path, args...), ctx: ctx, cancel: cancel}
	p.stdout.full = func() { cancel(errOutput) }
	p.stderr.full = p.stdout.full
	p.Group, p.Cmd.WaitDelay = true, timelimit.Scaled(time.Second)
	p.Cmd.Env = append(os.Environ(), "LC_ALL=C")
	p.Cmd.Stdout, p.Cmd.Stderr = &p.stdout, &p.stderr
	if passed != nil {
		p.Cmd.ExtraFiles = []*os.File{passed}
	}
	err := p.StartTied(func(fn func() error) error {
		runtime.LockOSThread() // never unlocked: a pinned thread ends here
		if err := thread.PinForChild(cpu); err != nil {
			return err
		}
		return fn()
	})
	if err != nil {
		cancel(nil)
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = p.Kill() }) // the caller that killed it waits for that
	return p, nil
}

// wait waits for the process to exit, and kills it when ctx ends. The exit code is not an error:
// tools exit with 0 after failures and with 1 after success.
func (p *proc) wait(ctx context.Context) (output, error) {
	stop := context.AfterFunc(ctx, func() { p.cancel(context.Cause(ctx)) })
	defer stop()
	<-p.Done()
	out := output{stdout: p.stdout.buf.Bytes(), stderr: p.stderr.buf.Bytes()}
	if cause := context.Cause(p.ctx); cause != nil {
		return out, fmt.Errorf("it was killed: %w%s", cause, out.hint())
	}
	return out, nil
}

// end kills the process unless it has ended.
func (p *proc) end() output {
	p.cancel(errors.New("it is no longer needed"))
	<-p.Done()
	return output{stdout: p.stdout.buf.Bytes(), stderr: p.stderr.buf.Bytes()}
}

// hint returns the last line that a process wrote to its standard error.
func (o output) hint() string {
	lines := strings.Split(strings.TrimSpace(string(o.stderr)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return fmt.Sprintf(" (last message: %.200s)", last)
	}
	return ""
}

// bounded keeps up to maxOutput bytes.
type bounded struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	full func()
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if room := maxOutput - b.buf.Len(); len(p) > room {
		b.buf.Write(p[:room])
		b.full()
		return room, errOutput
	}
	return b.buf.Write(p)
}

// build is an installed tool.
type build struct {
	path    string
	version string // as the tool prints it, such as "3.12"
	major   int
	minor   int
	help    string // its own list of options
}

// has reports whether the tool's own help lists an option.
func (b build) has(option string) bool { return strings.Contains(b.help, option) }

// before reports whether the version is older than major.minor.
func (b build) before(major, minor int) bool {
	return b.major < major || b.major == major && b.minor < minor
}

// find finds the tool and determines its version.
func (t Tool) find(ctx context.Context) (build, error) {
	path, err := exec.LookPath(t.executable)
	if err != nil {
		return build{}, fmt.Errorf("%s is not installed: %s", t.executable, t.install)
	}
	banner, err := runProbe(ctx, path, t.probeFlags.version)
	if err != nil {
		return build{}, err
	}
	help := banner
	if t.probeFlags.help != t.probeFlags.version {
		if help, err = runProbe(ctx, path, t.probeFlags.help); err != nil {
			return build{}, err
		}
	}
	b, err := t.probe(banner, help)
	if err != nil {
		return build{}, fmt.Errorf("%s: %w", path, err)
	}
	b.path, b.help = path, help
	return b, nil
}

func runProbe(ctx context.Context, path, option string) (string, error) {
	p, err := start(-1, nil, path, []string{option})
	if err != nil {
		return "", err
	}
	out, err := p.wait(ctx)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", path, option, err)
	}
	return string(out.stdout) + string(out.stderr), nil
}
