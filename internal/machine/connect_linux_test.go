package machine_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/machine"
	"tare/internal/runid"
	"tare/internal/testkit/machinetest"
	"tare/internal/testkit/must"
)

// left lists what is on a machine of a bench by its name: files, namespaces and processes.
func left(t *testing.T, m *machinetest.Machine) string {
	t.Helper()
	return m.Run(t, `set +e; for d in /tmp /var/tmp /root /root/.cache /home/* /dev/shm /run/netns; do ls -d "$d"/tare-* 2>/dev/null; done; `+
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
	run := must.Get(runid.New())(t)
	t.Cleanup(run.Release)
	return run.ID
}

func connect(t *testing.T, b *machinetest.Bench, run, name string) *machine.Machine {
	t.Helper()
	m := must.Get(machine.Connect(t.Context(), run, name, machine.Address{Host: name}, b.Options()))(t)
	t.Cleanup(func() { closed(t, m) })
	return m
}

// runsAgent checks that an agent runs on the machine.
func runsAgent(t *testing.T, m *machine.Machine) {
	t.Helper()
	a := must.Get(agent.Start(t.Context(), m.User, newRun(t), m.Name+"/client"))(t)
	must.Do(t, a.Close())
}

func closed(t *testing.T, m *machine.Machine) {
	t.Helper()
	must.Do(t, m.Close(context.Background()))
}

// Agents run on the other machine, which is not this one, end with their stdin, and nothing is left
// when the machine is closed.
func TestConnect(t *testing.T) {
	socket := echoSocket(t)
	b := machinetest.New(t, machinetest.Spec{Name: "a", Share: []string{filepath.Dir(socket)}, Server: "MaxSessions 2"})
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
		a := must.Get(agent.Start(t.Context(), m.User, run, "a/client"))(t)
		warm = time.Since(began)
		must.ContainFor(t, "what is there", left(t, far), "agent --run "+run)
		must.Do(t, a.Close())
	}
	t.Logf("connected in %s, an agent in %s", cold.Round(time.Millisecond), warm.Round(time.Millisecond))
	must.Do(t, m.Err())
	testArguments(t, b, m)
	testDial(t, m, socket)
	testMany(t, m)
	b.Alias("behind", far, "ProxyJump a")
	behind := connect(t, b, newRun(t), "behind")
	runsAgent(t, behind)
	if logins := far.Run(t, "ss -Htn state established dst "+far.Control.String()+" | wc -l"); logins == "0" {
		t.Error("the machine behind the jump host was reached without it")
	}
	closed(t, behind)
	closed(t, m)
	gone(t, far)
	if m.Err() == nil {
		t.Error("a closed machine has a connection")
	}
}

// An argument that a shell could misunderstand is refused.
func testArguments(t *testing.T, b *machinetest.Bench, m *machine.Machine) {
	t.Helper()
	for _, bad := range []string{"it's", `a\b`, "wow!", "two\nlines", "\x1b"} {
		if conn, err := m.User.Launch(t.Context(), "agent", bad); err == nil {
			t.Errorf("%q was passed on", bad)
			_ = conn.Close(t.Context())
		}
	}
	conn := must.Get(m.User.Launch(t.Context(), "agent", "--at", "$HOME `id` \"a b\" ; $(id) * {a,b} ~ # %PATH% ^& | é"))(t)
	if _, err := conn.Read(make([]byte, 1)); err != nil { // it runs
		t.Error(err)
	}
	must.ContainFor(t, "the argument", left(t, b.Machine("a")), "$HOME `id` \"a b\" ; $(id) * {a,b} ~ # %PATH% ^& | é")
	must.Do(t, conn.Close(t.Context()))
	var e *machine.Error
	if _, err := machine.Connect(t.Context(), "x", "a", machine.Address{Host: "a"}, b.Options()); err == nil || errors.As(err, &e) {
		t.Errorf("without a run: %v", err)
	}
}

// echoSocket returns a socket that answers with what it was sent, once the sender has ended.
func echoSocket(t *testing.T) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener := must.Get(net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"}))(t)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.AcceptUnix()
			if err != nil {
				return
			}
			said, err := io.ReadAll(conn)
			if err == nil {
				_, err = conn.Write(append([]byte("you wrote "), said...))
			}
			must.Equal(t, nil, errors.Join(err, conn.Close()))
		}
	}()
	return socket
}

// A socket of the other machine is reached, in both directions until each side has ended.
func testDial(t *testing.T, m *machine.Machine, socket string) {
	t.Helper()
	for _, asRoot := range []bool{false, true} {
		conn := must.Get(m.Dial(t.Context(), socket, asRoot))(t)
		must.Equal(t, nil, must.Err(conn.Write([]byte("hello"))))
		half, ok := conn.(interface{ CloseWrite() error })
		if !ok {
			t.Fatal("the connection cannot be closed for writing")
		}
		must.Do(t, half.CloseWrite())
		if said, err := io.ReadAll(conn); err != nil || string(said) != "you wrote hello" {
			t.Errorf("read %q, %v", said, err)
		}
		must.Do(t, conn.Close())
	}
	conn := must.Get(m.Dial(t.Context(), socket, false))(t)
	must.Do(t, conn.SetReadDeadline(time.Now().Add(-time.Second)))
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after its deadline a read returns %v", err)
	}
	must.Do(t, conn.Close())
	for socket, words := range map[string]string{"/run/none.sock": "no such file", machine.EngineSocket: "start the engine"} {
		must.FailLine(t, socket, must.Err(m.Dial(t.Context(), socket, false)), words)
	}
}

// More agents run at once than the ssh server allows channels in a connection.
func testMany(t *testing.T, m *machine.Machine) {
	t.Helper()
	run := newRun(t)
	var agents [5]*agent.Client
	var errs [len(agents)]error
	var all sync.WaitGroup
	for i := range agents {
		all.Go(func() { agents[i], errs[i] = agent.Start(t.Context(), m.User, run, "a/client") })
	}
	all.Wait()
	for i, a := range agents {
		if errs[i] != nil {
			t.Error(errs[i])
			continue
		}
		if _, _, err := a.CPU(t.Context()); err != nil {
			t.Error(err)
		}
		must.Do(t, a.Close())
	}
}

// gc on the machine spares what carries the id of a run that is held there, also after the
// connection was made again, and nothing of it is left in the end.
func TestHold(t *testing.T) {
	b := machinetest.New(t, machinetest.Spec{Name: "a"})
	far := b.Machine("a")
	m := connect(t, b, newRun(t), "a")
	run := newRun(t)
	spared := func() {
		t.Helper()
		conn := must.Get(m.User.Launch(t.Context(), "agent", "--run", run, "--at", "a/client"))(t)
		must.ContainFor(t, "what is there", left(t, far), "agent --run "+run)
		lines, _, err := machine.CollectDead(t.Context(), "a", m.Address, b.Options(), true)
		if err != nil || strings.Contains(strings.Join(lines, "\n"), run) {
			t.Errorf("gc would remove %q, %v", lines, err)
		}
		must.Do(t, conn.Close(t.Context()))
	}
	must.Do(t, m.Hold(t.Context(), run))
	spared()
	far.Run(t, endConnections)
	must.Do(t, m.Reconnect(t.Context()))
	spared()
	closed(t, m)
	gone(t, far)
}
