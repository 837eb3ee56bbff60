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
)

// program is what stands between a sandbox and its host.
type program interface {
	// name is what the program is called, and packaged is the Debian package it is in.
	name() string
	packaged() string
	// identify finds the version in what it says of itself; an error is of another
	// program, or of one that is too old.
	identify(said string) (string, error)
	// guest is which of its subnet's addresses the sandbox has.
	guest() int
	// args are its arguments for a sandbox.
	args(b sandboxConfig) []string
	// publish opens the port of the host, where args have not done so already.
	publish(ctx context.Context, proc *daemon.Process, b sandboxConfig) error
}

// sandboxConfig is a sandbox with what the program is told of it.
type sandboxConfig struct {
	space   *linuxnet.NS
	address netip.Prefix // of the sandbox
	gateway netip.Addr   // of the program itself, in the same subnet
	mtu     int
	public  netip.AddrPort // of the host, published; zero where nothing is
}

// installed is a program that was found.
type installed struct {
	program
	path, version string
}

// lookUp finds a program and its version.
func lookUp(ctx context.Context, prog program) (installed, error) {
	got := installed{program: prog}
	var err error
	if got.path, err = daemon.Find(prog.name()); err != nil {
		return got, fmt.Errorf("it needs %s, and there is none: %w; install it (Debian: apt-get install %s)", prog.name(), err, prog.packaged())
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	said, err := exec.CommandContext(ctx, got.path, "--version").Output()
	if err == nil {
		got.version, err = prog.identify(strings.TrimSpace(string(said)))
	}
	if err != nil {
		return got, fmt.Errorf("ask %s for its version: %w; install a current %s (Debian: apt-get install %s)", got.path, err, prog.name(), prog.packaged())
	}
	return got, nil
}

// firstLine is a text's first line, or what of it is told.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.ToValidUTF8(line[:min(len(line), 80)], "")
}

// errOther is of a program that is not the one its name says.
var errOther = errors.New("it says nothing that is known")

// readyTimeout bounds how long a program may take to be there. Either takes 0.1 s.
const readyWithin = 10 * time.Second

// netns is where the program finds the sandbox's network: in the /run that it has to
// itself.
const netns = "/run/sandbox"

// tap is the sandbox's device.
const tap = "tap0"

// firstPort is the first published port.
const firstPort = pathspec.FirstPort
