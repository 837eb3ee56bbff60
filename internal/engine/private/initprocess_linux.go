package private

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"tare/internal/process"
	"tare/internal/timelimit"
)

// logName is the file in an engine's directory to which its daemon and its first process write.
const logName = "engine.log"

// initProcess is the first process of a private engine, seen from outside. It is the first process
// of a PID namespace, so all processes of the engine exit with it. It exits when its stdin is
// closed, and so with this process.
type initProcess struct {
	*process.Process
	reason func() string // set once done: how it exited
}

// engineEnvironment returns the environment of an engine's processes. It has nothing of the user's,
// because DOCKER_*, proxies and the sockets of a service manager would affect the engine. Its temporary
// files are its own: dockerd makes a containerd that does not answer dump its stacks into one.
func engineEnvironment(path string) []string {
	environment := []string{"PATH=" + path, "HOME=/run", "TMPDIR=/run", "LC_ALL=C"}
	if onRamdisk() {
		// runc then does without pivot_root(2), which the kernel's first file system rejects.
		environment = append(environment, "DOCKER_RAMDISK=1")
	}
	return environment
}

// startInit starts the running program as the first process of an engine. flags are Init's between
// the engine's directory and the command of its program, and start chooses the network namespace.
func startInit(run, dir string, flags, environment []string, start func(*exec.Cmd) error, command []string) (*initProcess, error) {
	logFile := filepath.Join(dir, logName)
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := process.NewSelf("its first process", slices.Concat([]string{InitCommand, "--run", run, "--dir", dir}, flags, []string{"--"}, command)...)
	p.Stdin = true
	p.Cmd.Stdout, p.Cmd.Stderr = log, log
	p.Cmd.Env = environment
	p.Cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true, // not affected by Ctrl-C in the terminal
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS,
	}
	p.Cmd.WaitDelay = endTimeout() // of all processes in the namespace
	if err := p.Start(start); err != nil {
		return nil, fmt.Errorf("create PID and mount namespaces: %w", err)
	}
	return &initProcess{p, sync.OnceValue(func() string {
		return cmp.Or(logExitReason(logFile), "its first process has exited ("+p.State()+")")
	})}, nil
}

// onRamdisk reports whether the root is the kernel's first file system, as in a guest of tare.
func onRamdisk() bool {
	mounts, err := mounted()
	return err == nil && mounts["/"] == "rootfs"
}

// root returns the path of the engine's root file system.
func (p *initProcess) root() string {
	return filepath.Join("/proc", strconv.Itoa(p.PID()), "root")
}

// endTimeout bounds the wait for killed processes to exit.
func endTimeout() time.Duration { return timelimit.Scaled(10 * time.Second) }

// logExitReason reads from an engine's log how it exited and, if it exited by itself, its last
// message. It is "" if no process remained to write that.
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

// usagePrefixes starts the line in which dockerd reports an unknown flag.
const usagePrefixes = "Status: "

// isEcho reports whether a line is RootlessKit's, and only tells that one of its processes has exited.
func isEcho(line string) bool {
	_, said, ok := strings.Cut(line, "] error: ")
	return ok && strings.HasPrefix(line, "[rootlesskit:") && (said == "EOF" || strings.HasPrefix(said, "child exited") || strings.HasPrefix(said, "command ["))
}

// exitReasonIn does that for the end of a log. The lines of an engine are plain or of the form time="..."
// level=fatal msg="...".
func exitReasonIn(text string) string {
	var reason, last string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if own, ok := strings.CutPrefix(line, initPrefix); ok {
			reason = own
		} else if isEcho(line) {
			continue
		} else if why, ok := strings.CutPrefix(last, usagePrefixes); ok && why != "" {
			continue // a usage hint follows
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
