package private

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"tare/internal/process"
)

// logName is the file in an engine's directory that dockerd writes to, and the
// process above it.
const logName = "dockerd.log"

// initProcess is the first process of a private engine, seen from outside. Its end
// is the end of all that the engine has started: it is the first in a namespace of
// process ids. Its stdin it takes for this process's life.
type initProcess struct {
	*process.Process
	reason func() string // once done: how it ended
}

// startInit starts the running program as the first process of an engine, by means
// of start, which chooses the network.
func startInit(run, dir string, start func(*exec.Cmd) error, dockerd []string) (*initProcess, error) {
	path := filepath.Join(dir, logName)
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := process.NewSelf("its first process", append([]string{InitCommand, "--run", run, "--dir", dir, "--"}, dockerd...)...)
	p.Stdin = true
	p.Cmd.Stdout, p.Cmd.Stderr = log, log
	// Nothing of this environment: DOCKER_*, proxies and the sockets of a service
	// manager would all reach dockerd.
	p.Cmd.Env = []string{"PATH=" + searchPath(), "HOME=/run", "LC_ALL=C"}
	p.Cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true, // out of the terminal's Ctrl-C
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS,
	}
	p.Cmd.WaitDelay = endTimeout // of all that is in the namespace
	if err := p.Start(start); err != nil {
		return nil, fmt.Errorf("make its processes and mounts a place of their own: %w", err)
	}
	return &initProcess{p, sync.OnceValue(func() string {
		return cmp.Or(logExitReason(path), "its first process is gone ("+p.State()+")")
	})}, nil
}

// root is the file system as the engine sees it.
func (p *initProcess) root() string {
	return filepath.Join("/proc", strconv.Itoa(p.PID()), "root")
}

// endTimeout bounds the wait for the end of killed processes.
const endTimeout = 10 * time.Second

// logExitReason finds in an engine's log how it ended and, where it ended by itself,
// what it said last. It is "" where nobody was left to write that down.
func logExitReason(log string) string {
	f, err := os.Open(log)
	if err != nil {
		return ""
	}
	defer f.Close()
	const enough = 8 << 10
	if end, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, end-enough), io.SeekStart)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return ""
	}
	return exitReasonIn(string(text))
}

// usagePrefixes begin the line in which dockerd says that it does not take a flag.
const usagePrefixes = "Status: "

// exitReasonIn does so for the end of a log. dockerd's lines are plain or of the form
// time="..." level=fatal msg="...".
func exitReasonIn(text string) string {
	var reason, last string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if own, ok := strings.CutPrefix(line, initPrefix); ok {
			reason = own
		} else if why, ok := strings.CutPrefix(last, usagePrefixes); ok && why != "" {
			continue // what follows is how to ask for help
		} else if line != "" {
			last = line
		}
	}
	last = strings.TrimPrefix(last, usagePrefixes)
	if _, msg, ok := strings.Cut(last, ` msg="`); ok {
		quoted, err := strconv.QuotedPrefix(`"` + msg)
		if err == nil {
			last, _ = strconv.Unquote(quoted)
		}
	}
	const longest = 400
	if len(last) > longest {
		last = strings.ToValidUTF8(last[:longest], "") + "..."
	}
	if reason == "" || last == "" || strings.Contains(reason, "signal: ") {
		return reason
	}
	return reason + ": " + last
}
