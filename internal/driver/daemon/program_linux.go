package daemon

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tare/internal/timelimit"
)

// Program is an installed program to run.
type Program struct {
	Name  string // shown in messages
	Run   string // the run's id
	Path  string
	Args  []string
	Env   []string          // before PATH, HOME and LC_ALL, of which the first counts
	Dirs  []string          // directories to create in its /run
	Files map[string]string // files to create, by path below its /run; readable by root only
	Binds map[string]string // files of this machine to bind-mount, by path below its /run
	// Groups is the name of control groups that private.MakeGroups made, for a program that starts containers: it runs in them, sees
	// nothing above them, and has a /sys of its network. Empty for any other program.
	Groups string
	Start  func(*exec.Cmd) error
}

// initConfig is the line on stdin that passes to the init process what must not appear on a
// command line.
type initConfig struct {
	Env    []string          `json:"env"`
	Dirs   []string          `json:"dirs"`
	Files  map[string]string `json:"files"`
	Binds  map[string]string `json:"binds"`
	Groups string            `json:"groups"`
}

// Launch starts the program. Use the files in RunDir to find out when it is ready.
func (g Program) Launch() (*Process, error) {
	p := self(g.Name, append([]string{Command, RunFlag, g.Run, "--", g.Path}, g.Args...))
	p.Cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID
	p.Cmd.Stdout = p.Cmd.Stderr // stdout is not read
	p.said = func() string { return exitText(p.StderrTail()) }
	if err := p.Start(g.Start); err != nil {
		return nil, err
	}
	line, err := json.Marshal(initConfig{g.Env, g.Dirs, g.Files, g.Binds, g.Groups})
	if err == nil {
		_, err = p.Write(append(line, '\n'))
	}
	if err != nil {
		if fate := p.ExitReason(); fate != "" {
			err = fmt.Errorf("%s (%w)", fate, err)
		}
		p.Close()
		return nil, fmt.Errorf("start %s: %w", g.Name, err)
	}
	return p, nil
}

// Finish starts a program that ends by itself, and waits until it has ended. Any exit status but 0 is an error, with
// the last line of the program. It is killed when ctx is done, with the reason as the error.
func (g Program) Finish(ctx context.Context) error {
	p, err := g.Launch()
	if err != nil {
		return err
	}
	if p.Wait(ctx) != nil {
		return errors.Join(fmt.Errorf("wait for %s: %w", g.Name, context.Cause(ctx)), p.Close())
	}
	if said := p.said(); !strings.HasPrefix(said, filepath.Base(g.Path)+" ended (exit status 0)") {
		return fmt.Errorf("%s: %s", g.Name, cmp.Or(said, p.State()))
	}
	return p.Close()
}

// RunDir returns the path of the program's /run as seen from this process.
func (p *Process) RunDir() string {
	return filepath.Join("/proc", strconv.Itoa(p.PID()), "root/run")
}

// exitText extracts from the last output of a program and its init process how it exited and,
// if it exited by itself, its last line.
func exitText(text string) string {
	var fate, last string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if own, ok := strings.CutPrefix(line, initPrefix); ok {
			fate = own
		} else if line != "" {
			last = line
		}
	}
	if fate == "" || last == "" || strings.Contains(fate, "signal: ") {
		return fate
	}
	const longest = 300
	if len(last) > longest {
		last = strings.ToValidUTF8(last[:longest], "") + "..."
	}
	return fate + ": " + last
}

// versionTimeout limits how long a program may take to print its version.
func versionTimeout() time.Duration { return timelimit.Scaled(5 * time.Second) }

// longestVersion is the maximum length of the line with a version, in bytes.
const longestVersion = 200

// VersionLine returns the first line that an installed program prints when it is asked for its
// version. A program that fails, or whose line does not begin with prefix, is too old or another one.
func VersionLine(ctx context.Context, path, flag, prefix string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, versionTimeout(), fmt.Errorf("timed out after %s", versionTimeout()))
	defer cancel()
	cmd := exec.CommandContext(ctx, path, flag)
	cmd.WaitDelay = timelimit.Scaled(time.Second) // for a child that keeps its stdout open
	var aside bytes.Buffer
	cmd.Stderr = &aside
	said, err := cmd.Output()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if len(said) == 0 { // as nginx has it
		said = aside.Bytes()
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
	if err == nil && !strings.HasPrefix(line, prefix) {
		err = fmt.Errorf("unexpected output %.80q", line)
	}
	if err != nil {
		return "", fmt.Errorf("read the version of %s: %w", path, err)
	}
	return line[:min(len(line), longestVersion)], nil
}
