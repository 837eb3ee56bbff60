package guest_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/guest"
	"tare/internal/guest/initramfs"
	"tare/internal/guest/kernel"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/timelimit"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// spec returns a guest without an adapter.
func spec(t *testing.T) guest.Spec {
	t.Helper()
	k := must.Get(kernel.Find(drivertest.NeedGuest(t)))(t)
	l := drivertest.Lab(t, nil)
	return guest.Spec{Run: l.Spec.Claim.ID, Label: "test", Place: "a/vm", Host: l.A.NS, Kernel: k, Accel: guest.TCG}
}

// endTimeout bounds what takes a moment on an idle machine.
func endTimeout() time.Duration { return timelimit.Scaled(time.Minute) }

// A guest boots, sets up its network as requested, runs programs, reports how they exited, reports
// its network stack, and powers itself off when its port is closed.
func TestBoot(t *testing.T) {
	s := spec(t)
	const word = "carried in\n"
	s.Modules = []string{"veth"}
	s.AddFiles = func(a *initramfs.Archive) error {
		return a.File("etc/word", 0o644, strings.NewReader(word), int64(len(word)))
	}
	m := must.Get(guest.Boot(t.Context(), s))(t)
	t.Cleanup(func() {
		for range 2 { // repeating it works
			must.Do(t, m.Close())
		}
	})
	t.Logf("handshake after %s: %+v", m.BootTime, m.Hello)
	confined(t, m)
	must.EqualFor(t, "the guest runs", s.Kernel.Version, m.Hello.Kernel)
	must.Do(t, m.Configure(t.Context(), guest.Net{Settings: (&lab.Lab{IPv6: true}).Settings()}))
	links := must.Get(m.Stack("").Links(t.Context(), []string{"lo"}))(t)
	must.EqualFor(t, "devices", 1, len(links))
	if _, err := m.Stack("nowhere").Links(t.Context(), []string{"lo"}); err == nil || !strings.Contains(err.Error(), `no sandbox "nowhere"`) {
		t.Errorf("a missing sandbox: %v", err)
	}
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{guest.Program, "-test.run", "TestInside", "-test.v"}, 0, word},
		{[]string{guest.Program, "-test.run", "["}, 1, "invalid regexp"},
		{[]string{"/bin/nothing"}, -1, "no such file"},
	} {
		var out bytes.Buffer
		code, err := m.Exec(t.Context(), &out, tt.args, "TARE_INSIDE=yes")
		if err != nil {
			out.WriteString(err.Error())
		}
		if code != tt.code || !strings.Contains(out.String(), tt.says) {
			t.Errorf("%v: exit code %d, want %d; printed %s, want %q", tt.args, code, tt.code, &out, tt.says)
		}
	}
	conn := must.Get(m.In("").Launch(t.Context(), agent.Arguments(s.Run, "a/vm")...))(t)
	ctx, cancel := context.WithTimeout(t.Context(), endTimeout())
	defer cancel()
	if err := conn.Close(ctx); err != nil || conn.ExitReason() == "" {
		t.Errorf("a process whose stdin ended: %q, %v", conn.ExitReason(), err)
	}
	m.HangUp()
	select {
	case <-m.Ended():
	case <-time.After(endTimeout()):
		t.Errorf("the guest still runs: %s", m.Console())
	}
}

// status is the value of a field of /proc/PID/status.
func status(t *testing.T, pid int, field string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status")))(t)
	_, rest, _ := strings.Cut(string(text), "\n"+field+":")
	value, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(value)
}

// confined checks that a guest's QEMU has no rights: a user of its own, no capability, and only the
// system calls that it needs.
func confined(t *testing.T, m *guest.Machine) {
	t.Helper()
	must.EqualFor(t, "Seccomp of QEMU and its sandbox", []string{"2", "seccomp"}, []string{status(t, m.PID(), "Seccomp"), m.Sandbox})
	if !linuxnet.RealRoot() {
		return // its user is that of this program, which has no rights outside its namespace
	}
	for _, field := range []string{"Uid", "Gid"} {
		for _, id := range strings.Fields(status(t, m.PID(), field)) {
			if n, err := strconv.Atoi(id); err != nil || n < 61184 || n > 65519 {
				t.Errorf("%s of QEMU is %s (%s), want one that nobody else has", field, status(t, m.PID(), field), m.User)
				break
			}
		}
	}
	for _, field := range []string{"CapEff", "CapPrm", "CapInh"} {
		if got := status(t, m.PID(), field); strings.Trim(got, "0") != "" {
			t.Errorf("%s of QEMU is %s, want none", field, got)
		}
	}
}

// A QEMU without a system call filter, and one that only this user can start, run a guest all the
// same, and the machine says what is missing.
func TestWeakerConfinement(t *testing.T) {
	s := spec(t)
	real := must.Get(exec.LookPath(guest.Emulator))(t)
	dir := t.TempDir()
	script := "#!/bin/sh\ncase \"$*\" in *-sandbox*) echo 'qemu: -sandbox support is not enabled in this QEMU build' >&2; exit 1;; esac\nexec " + real + " \"$@\"\n"
	must.Do(t, os.Chmod(dir, 0o700), os.WriteFile(filepath.Join(dir, guest.Emulator), []byte(script), 0o700))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	m := must.Get(guest.Boot(t.Context(), s))(t)
	defer func() { must.Do(t, m.Close()) }()
	if got := status(t, m.PID(), "Seccomp"); got != "0" || m.Sandbox != "none (QEMU does not run with -sandbox: qemu: -sandbox support is not enabled in this QEMU build)" {
		t.Errorf("Seccomp of QEMU is %s, want 0; its sandbox is %q", got, m.Sandbox)
	}
	if got := status(t, m.PID(), "Uid"); linuxnet.RealRoot() && (!strings.HasPrefix(got, "0\t") || !strings.HasPrefix(m.User, "uid 0 (QEMU cannot be started as another user: permission denied")) {
		t.Errorf("Uid of QEMU is %s, its user is %q", got, m.User)
	}
}

// TestInside runs in the guest.
func TestInside(t *testing.T) {
	if os.Getenv("TARE_INSIDE") == "" || os.Getpid() == 1 {
		testneed.Missing(t, testneed.Other, "it runs in the guest that TestBoot boots")
	}
	text := must.Get(os.ReadFile("/etc/word"))(t)
	t.Logf("%s", text)
	if !linuxnet.RealRoot() || linuxnet.Try() != nil {
		t.Error("labs cannot be created in the guest")
	}
}

// Every failure ends within its limit with an error on one line, and leaves nothing but the guest's
// console output, if there is any.
func TestBootFails(t *testing.T) {
	good := spec(t)
	silent := good
	silent.Accel = "none"
	adapter := good
	adapter.Model, adapter.Attach.Netdev, adapter.MAC = guest.Model{Name: "odd", Device: "odd-net", Module: "virtio_net"}, "user", "52:54:00:00:00:01"
	port := adapter
	port.Model, port.Attach.Netdev = guest.Models()[0], "user,hostfwd=tcp:203.0.113.9:80-:80"
	for _, tt := range []struct {
		name    string
		spec    guest.Spec
		want    string
		lacking bool
		keeps   bool
	}{
		{"it panics", good.With(guest.Hooks{Init: "/nothing"}), "Kernel panic - not syncing", false, true},
		{"it never answers", good.With(guest.Hooks{Frozen: true, Within: 300 * time.Millisecond}), "the handshake timed out after 300ms", false, false},
		{"no such accelerator", silent, "none", false, false},
		{"no such adapter", adapter, "this QEMU has no network adapter odd-net", true, false},
		{"a port that is unavailable", port, "203.0.113.9", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			m, err := guest.Boot(t.Context(), tt.spec)
			if err == nil {
				t.Fatal(m.Close(), "it booted")
			}
			if _, lacking := guest.AsUnavailable(err); lacking != tt.lacking || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, unavailable %t; want %q on one line", err, lacking, tt.want)
			}
			kept, _ := filepath.Glob(filepath.Join(temp, "*"))
			if (len(kept) > 0) != tt.keeps || tt.keeps && !strings.Contains(err.Error(), kept[0]) {
				t.Errorf("kept files are %v, after %v", kept, err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if m, err := guest.Boot(ctx, good); err == nil {
		t.Error(m.Close(), "it booted, although the boot was cancelled")
	}
	left(t, good.Run)
}

func left(t *testing.T, run string) {
	t.Helper()
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, l := range lines {
		if text, err := os.ReadFile(l); err == nil && strings.Contains(string(text), lab.Prefix+run) {
			t.Errorf("left: %s", strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
}

// KVM is used only if a guest has booted with it, and otherwise there is a reason.
func TestChoose(t *testing.T) {
	s := spec(t)
	var a guest.Accelerators
	for range 2 { // it is determined once
		name, why, err := a.Choose(t.Context(), "", s.Host, s.Run, s.Kernel)
		if err != nil || name != guest.KVM && name != guest.TCG || (name == guest.TCG) == (why == "") {
			t.Errorf("chosen is %q (%s): %v", name, why, err)
		}
		t.Logf("%s: %s", name, why)
	}
	if _, _, err := a.Choose(t.Context(), "fast", s.Host, s.Run, s.Kernel); err == nil {
		t.Error("an invalid accelerator was chosen")
	}
	left(t, s.Run)
}
