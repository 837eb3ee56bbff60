package machine_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/machine"
	"tare/internal/machine/machinetest"
	"tare/internal/runid"
)

// left lists what is on a machine of a bench by its name: files, namespaces and processes.
func left(t *testing.T, m *machinetest.Machine) string {
	t.Helper()
	return m.Run(t, `for d in /tmp /var/tmp /root /root/.cache /home/* /dev/shm /run/netns; do ls -d "$d"/tare-* 2>/dev/null; done; `+
		`for p in /proc/[0-9]*; do c=$(tr '\0' ' ' <"$p/cmdline" 2>/dev/null); case "$c" in *tare-*|*'tare '*) [ "${p#/proc/}" = $$ ] || echo "$c" ;; esac; done; true`)
}

// gone waits until nothing is left on a machine.
func gone(t *testing.T, m *machinetest.Machine) {
	t.Helper()
	var now string
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if now = left(t, m); now == "" {
			return
		}
	}
	t.Errorf("left on machine %s:\n%s", m.Name, now)
}

// newRun returns the id of a run that is alive during the test.
func newRun(t *testing.T) string {
	t.Helper()
	run, err := runid.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(run.Release)
	return run.ID
}

func connect(t *testing.T, b *machinetest.Bench, run, name string) *machine.Machine {
	t.Helper()
	m, err := machine.Connect(t.Context(), run, name, machine.Address{Host: name}, b.Options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, m) })
	return m
}

func closed(t *testing.T, m *machine.Machine) {
	t.Helper()
	if err := m.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// Agents run on the other machine, which is not this one, end with their stdin, and nothing is left
// when the machine is closed.
func TestConnect(t *testing.T) {
	b := machinetest.New(t, machinetest.Spec{Name: "a"})
	far := b.Machine("a")
	run := newRun(t)
	began := time.Now()
	m := connect(t, b, run, "a")
	cold := time.Since(began)
	if m.System != machine.Local("").System || m.Root == nil || m.NoRoot != "" {
		t.Errorf("the machine is %s, root %v (%s)", m.System, m.Root, m.NoRoot)
	}
	if found := left(t, far); !strings.Contains(found, "/tmp/tare-"+run) || strings.Count(found, "/tare machine --run "+run+" guard") != 1 {
		t.Fatalf("a guard in its directory is expected:\n%s", found)
	}
	var warm time.Duration
	for range 3 {
		began = time.Now()
		a, err := agent.Start(t.Context(), m.User, run, "a/client")
		if err != nil {
			t.Fatal(err)
		}
		warm = time.Since(began)
		if found := left(t, far); !strings.Contains(found, "agent --run "+run) {
			t.Errorf("no agent is there:\n%s", found)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("connected in %s, an agent in %s", cold.Round(time.Millisecond), warm.Round(time.Millisecond))
	if err := m.Err(); err != nil {
		t.Error(err)
	}
	closed(t, m)
	gone(t, far)
	if m.Err() == nil {
		t.Error("a closed machine has a connection")
	}
}

// A socket of the other machine is reached, in both directions until each side has ended.
func TestDial(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() { // answers with what it was sent, once the sender has ended
		for {
			conn, err := listener.AcceptUnix()
			if err != nil {
				return
			}
			said, err := io.ReadAll(conn)
			if err == nil {
				_, err = conn.Write(append([]byte("you wrote "), said...))
			}
			if err := errors.Join(err, conn.Close()); err != nil {
				t.Error(err)
			}
		}
	}()
	b := machinetest.New(t, machinetest.Spec{Name: "a", Share: []string{dir}})
	m := connect(t, b, newRun(t), "a")
	for _, asRoot := range []bool{false, true} {
		conn, err := m.Dial(t.Context(), socket, asRoot)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte("hello")); err != nil {
			t.Error(err)
		}
		half, ok := conn.(interface{ CloseWrite() error })
		if !ok {
			t.Fatal("the connection cannot be closed for writing")
		}
		if err := half.CloseWrite(); err != nil {
			t.Error(err)
		}
		if said, err := io.ReadAll(conn); err != nil || string(said) != "you wrote hello" {
			t.Errorf("read %q, %v", said, err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	conn, err := m.Dial(t.Context(), socket, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after its deadline a read returns %v", err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	for socket, words := range map[string]string{"/run/none.sock": "no such file", machine.EngineSocket: "start the engine"} {
		if _, err := m.Dial(t.Context(), socket, false); err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", socket, err)
		}
	}
}
