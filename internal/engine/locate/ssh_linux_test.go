package locate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/agent"
	"tare/internal/engine"
	"tare/internal/engine/locate"
	"tare/internal/machine"
	"tare/internal/testkit/enginetest"
	"tare/internal/testkit/machinetest"
	"tare/internal/testkit/must"
)

// dialled is the environment variable with the socket that TestDialStdio connects its stdio to.
const dialled = "TARE_TEST_DIALLED"

// TestDialStdio acts as `docker system dial-stdio` on the other side of ssh, in a child process; by
// itself it does nothing.
func TestDialStdio(t *testing.T) {
	socket := os.Getenv(dialled)
	if socket == "" {
		return
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.CloseWrite()
	}()
	_, _ = io.Copy(os.Stdout, conn)
	os.Exit(0)
}

// sshStandIn puts a command named ssh into PATH that records its arguments and then runs the
// script.
func sshStandIn(t *testing.T, script string) (arguments string) {
	t.Helper()
	dir := t.TempDir()
	arguments = filepath.Join(dir, "arguments")
	text := fmt.Sprintf("#!/bin/sh\necho \"$@\" >>%s\n%s\n", arguments, script)
	must.Do(t, os.WriteFile(filepath.Join(dir, "ssh"), []byte(text), 0o700))
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return arguments
}

// An engine works through ssh as through its socket, including containers, agents and the end of
// their stdin.
func TestConnectBySSH(t *testing.T) {
	b := enginetest.New(t)
	self := must.Get(os.Executable())(t)
	arguments := sshStandIn(t, fmt.Sprintf("%s=%s exec %s -test.run '^TestDialStdio$'", dialled, b.Socket(), self))
	e := must.Get(locate.Connect(t.Context(), "ssh://me@there:2222"))(t)
	defer func() { must.Do(t, e.Disconnect()) }()
	c := must.Get(e.Run(t.Context(), b.Spec("client")))(t)
	must.Do(t, must.Get(agent.Start(t.Context(), c, b.ID, "there/client"))(t).Close())
	must.Do(t, e.RemoveRun(t.Context(), b.ID))
	calls := must.Get(os.ReadFile(arguments))(t)
	for _, want := range []string{"-l me", "-p 2222", "there docker system dial-stdio"} {
		if !strings.Contains(string(calls), want) {
			t.Errorf("ssh was called with %q, without %q", calls, want)
		}
	}
}

// The error output of ssh or of the other side is reported, with what to try.
func TestConnectBySSHRefused(t *testing.T) {
	for script, words := range map[string][]string{
		"echo 'me@there: Permission denied (publickey).' >&2; exit 255": {"Permission denied (publickey)", "ssh me@there docker version"},
		"echo 'sh: 1: docker: not found' >&2; exit 127":                 {"docker: not found", "ssh me@there docker version"},
		"echo 'permission denied while trying to connect to the docker API at unix:///var/run/docker.sock' >&2; exit 1": {
			"permission denied", "usermod -aG docker"},
	} {
		sshStandIn(t, script)
		_, err := locate.Connect(t.Context(), "ssh://me@there")
		if _, ok := engine.AsUnavailable(err); !ok {
			t.Errorf("%v is not an Unavailable error", err)
			continue
		}
		t.Log(err)
		for _, w := range words {
			if !strings.Contains(err.Error(), w) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q lacks %q", err, w)
			}
		}
	}
	t.Setenv("PATH", t.TempDir())
	must.Fail(t, must.Err(locate.Connect(t.Context(), "ssh://me@there")), "ssh command was not found")
}

// An engine works through the connection to a machine, on which no docker command is needed.
func TestMachinesConnectThrough(t *testing.T) {
	b := enginetest.New(t)
	far := machinetest.New(t, machinetest.Spec{Name: "a", Share: []string{filepath.Dir(b.Socket())}})
	m := far.Connect("a")
	e, err := locate.ConnectThrough(t.Context(), "ssh://a", func(ctx context.Context) (net.Conn, error) { return m.Dial(ctx, b.Socket(), false) })
	must.Do(t, err)
	c := must.Get(e.Run(t.Context(), b.Spec("client")))(t)
	must.Do(t, must.Get(agent.Start(t.Context(), c, b.ID, "there/client"))(t).Close())
	must.Do(t, errors.Join(e.RemoveRun(t.Context(), b.ID), e.Disconnect()))
	_, err = locate.ConnectThrough(t.Context(), "ssh://a", func(ctx context.Context) (net.Conn, error) { return m.Dial(ctx, machine.EngineSocket, false) })
	if _, ok := engine.AsUnavailable(err); !ok || !strings.Contains(err.Error(), "no socket of a Docker Engine") || !strings.Contains(err.Error(), "systemctl start docker") {
		t.Errorf("without an engine: %v", err)
	}
}
