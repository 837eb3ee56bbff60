package rootless

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"time"

	"tare/internal/driver/daemon"
	"tare/internal/driver/pathspec"
	"tare/internal/linuxnet"
	"tare/internal/timelimit"
)

// program is the process between a sandbox and its host.
type program interface {
	// name is the program's name, and packaged is its Debian package.
	name() string
	packageName() string
	// identify returns the version from the program's output; it returns an error for
	// another program or one that is too old.
	identify(said string) (string, error)
	// hostNumber is the host number of the sandbox's address in its subnet.
	hostNumber() int
	// args returns its arguments for a sandbox.
	args(b sandboxConfig) []string
	// publish opens the port on the host unless args have done so.
	publish(ctx context.Context, proc *daemon.Process, b sandboxConfig) error
}

// sandboxConfig is a sandbox with the configuration of its program.
type sandboxConfig struct {
	space   *linuxnet.NS
	address netip.Prefix // of the sandbox
	gateway netip.Addr   // of the program, in the same subnet
	mtu     int
	public  netip.AddrPort // published address of the host; zero if there is none
}

// installed is an installed program.
type installed struct {
	program
	path, version string
}

// lookUp finds a program and its version.
func lookUp(ctx context.Context, prog program) (installed, error) {
	got := installed{program: prog}
	var err error
	if got.path, err = daemon.Find(prog.name()); err != nil {
		return got, fmt.Errorf("%s is not installed: %w; install it (Debian: apt-get install %s)", prog.name(), err, prog.packageName())
	}
	ctx, cancel := context.WithTimeout(ctx, timelimit.Scaled(5*time.Second))
	defer cancel()
	said, err := exec.CommandContext(ctx, got.path, "--version").Output()
	if err == nil {
		got.version, err = prog.identify(strings.TrimSpace(string(said)))
	}
	if err != nil {
		return got, fmt.Errorf("read the version of %s: %w; install a current %s (Debian: apt-get install %s)", got.path, err, prog.name(), prog.packageName())
	}
	return got, nil
}

// firstLine returns the first line of a text, shortened for messages.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.ToValidUTF8(line[:min(len(line), 80)], "")
}

// errWrongProgram reports a program that is not what its name says.
var errWrongProgram = errors.New("unknown output")

// readyTimeout limits how long a program may take to be ready. Either takes 0.1 s.
func readyTimeout() time.Duration { return timelimit.Scaled(10 * time.Second) }

// netns is the path of the sandbox's network namespace in the program's private /run.
const netns = "/run/sandbox"

// tap is the sandbox's device.
const tap = "tap0"

// firstPort is the first published port.
const firstPort = pathspec.FirstPort
