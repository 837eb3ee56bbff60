// Package winetest runs Windows builds of this program and of its tests under Wine, in a prefix
// that ends with the test. scripts/setup-wine makes the prefix that it copies.
package winetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/process"
	"tare/internal/program/agentfile"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/testneed"
	"tare/internal/timelimit"
)

// loaders and servers are Wine's programs, where Debian's packages have them and where others do.
func loaders() []string { return []string{"/usr/lib/wine/wine64", "wine64", "wine"} }
func servers() []string { return []string{"/usr/lib/wine/wineserver64", "wineserver"} }

// stopTimeout bounds how long Wine's own processes may take to exit.
func stopTimeout() time.Duration { return timelimit.Scaled(20 * time.Second) }

// Prefix is a Wine prefix with its own registry and its own wineserver, which starts with the first
// program. The wineserver opens all sockets, so all of them are in the network namespace of the
// first program.
type Prefix struct {
	dir, loader, server string
	start               func(*exec.Cmd) error
}

// Need is for tests with Wine; see testneed.
func Need(t testing.TB) {
	t.Helper()
	testneed.NotShort(t)
	_, err := find(loaders())
	if err == nil {
		_, err = os.Stat(filepath.Join(base(t), "made"))
	}
	if err != nil {
		testneed.Missing(t, testneed.Wine, err)
	}
}

// New makes a prefix. start starts its programs, for instance in a network namespace; nil starts them
// in this process's own. The prefix and its programs end with the test.
func New(t testing.TB, start func(*exec.Cmd) error) *Prefix {
	t.Helper()
	Need(t)
	p := &Prefix{dir: t.TempDir(), start: start}
	var err error
	if p.loader, err = find(loaders()); err != nil {
		t.Fatal(err)
	}
	if p.server, err = find(servers()); err != nil {
		t.Fatal(err)
	}
	if err := p.copyFrom(base(t)); err != nil {
		t.Fatalf("make a Wine prefix: %v", err)
	}
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Errorf("end Wine: %v", err)
		}
	})
	if err := p.boot(t.Context()); err != nil {
		t.Fatalf("start Wine: %v", err)
	}
	return p
}

// bootTimeout bounds the start of Wine on a busy machine.
func bootTimeout() time.Duration { return timelimit.Scaled(time.Minute) }

// boot starts Wine's own processes. Otherwise the first program would, and they would keep its output
// open.
func (p *Prefix) boot(ctx context.Context) error {
	pr := process.New("wineboot", p.loader, "wineboot")
	pr.Cmd.Env, pr.Cmd.Stderr = p.env(), nil
	if err := pr.Start(p.start); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, bootTimeout(), fmt.Errorf("wineboot did not end within %s", bootTimeout()))
	defer cancel()
	return errors.Join(pr.Wait(ctx), pr.Kill(), pr.Err())
}

// copyFrom copies the registry and links to the files.
func (p *Prefix) copyFrom(base string) error {
	for _, name := range []string{"system.reg", "user.reg", "userdef.reg", ".update-timestamp"} {
		b, err := os.ReadFile(filepath.Join(base, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(p.dir, name), b, 0o600); err != nil {
			return err
		}
	}
	if err := os.Mkdir(filepath.Join(p.dir, "dosdevices"), 0o700); err != nil {
		return err
	}
	for name, target := range map[string]string{
		"drive_c": filepath.Join(base, "drive_c"), "dosdevices/c:": "../drive_c", "dosdevices/z:": "/",
	} {
		if err := os.Symlink(target, filepath.Join(p.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// stop ends all programs of the prefix, and waits until the wineserver no longer writes to it.
func (p *Prefix) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout())
	defer cancel()
	for _, flag := range []string{"-k", "-w"} {
		cmd := exec.CommandContext(ctx, p.server, flag)
		cmd.Env = p.env()
		// -k fails if no program was started.
		if err := cmd.Run(); err != nil && flag == "-w" {
			return fmt.Errorf("wineserver %s: %w", flag, err)
		}
	}
	return nil
}

func (p *Prefix) env() []string {
	env := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "DISPLAY=") })
	return append(env, "WINEPREFIX="+p.dir, "HOME="+p.dir, "WINEDEBUG=-all", "WINEDLLOVERRIDES=mscoree,mshtml=;winemenubuilder.exe=d")
}

// Process returns a Windows program to start with Start. Its path is one of this system.
func (p *Prefix) Process(program string, args ...string) *process.Process {
	pr := process.New(filepath.Base(program)+" under Wine", p.loader, append([]string{program}, args...)...)
	pr.Cmd.Env, pr.Group, pr.Cmd.WaitDelay = p.env(), true, stopTimeout()
	return pr
}

// Start starts a program in the prefix's place.
func (p *Prefix) Start(pr *process.Process) error { return pr.Start(p.start) }

// Launcher starts the Windows build of this program.
func (p *Prefix) Launcher(program string) transport.Launcher { return launcher{p, program} }

type launcher struct {
	p       *Prefix
	program string
}

func (l launcher) Launch(_ context.Context, args ...string) (transport.Conn, error) {
	pr := l.p.Process(l.program, args...)
	pr.Cmd.Env = append(pr.Cmd.Env, transport.Environment)
	pr.Stdin, pr.Stdout = true, true
	if err := l.p.Start(pr); err != nil {
		return nil, err
	}
	return conn{pr}, nil
}

// HandshakeTimeout includes the start of the wineserver.
func (launcher) HandshakeTimeout() time.Duration { return timelimit.Scaled(time.Minute) }

type conn struct{ *process.Process }

func (c conn) Close(ctx context.Context) error {
	c.CloseStdin()
	_ = c.Wait(ctx) // if it has not exited, Kill ends it
	return c.Kill()
}

// Program builds this program for Windows and returns its path.
func Program(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tare.exe")
	build(t, "build", "-o", path, "./cmd/tare")
	return path
}

// Tests builds the tests of packages, such as ./internal/process, for Windows and returns their
// directory. The tests of that package are process.test.exe.
func Tests(t testing.TB, packages ...string) string {
	t.Helper()
	dir := t.TempDir()
	build(t, append([]string{"test", "-c", "-o", dir + "/"}, packages...)...)
	return dir
}

func build(t testing.TB, args ...string) {
	t.Helper()
	args = slices.Insert(args, 1, "-tags="+agentfile.Tags(), "-trimpath", "-buildvcs=false")
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root(t)
	cmd.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// base returns the directory of the prefix that scripts/setup-wine makes.
func base(t testing.TB) string { return filepath.Join(drivertest.Cache(t), "wine") }

// root returns the directory of the module.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil && dir != "/"; dir = filepath.Dir(dir) {
		if _, none := os.Stat(filepath.Join(dir, "go.mod")); none == nil {
			return dir
		}
	}
	t.Fatalf("the tests do not run in a directory of the module: %v", err)
	return ""
}

func find(names []string) (string, error) {
	var err error
	for _, name := range names {
		var path string
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", err
}
