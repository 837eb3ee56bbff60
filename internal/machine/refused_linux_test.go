package machine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/machine"
	"tare/internal/testkit/machinetest"
	"tare/internal/testkit/must"
)

// refusal is a machine that cannot be used, and what the error must contain.
type refusal struct {
	name  string
	words []string
}

func (r refusal) check(t *testing.T, o machine.Options) {
	t.Helper()
	m, err := machine.Connect(t.Context(), newRun(t), r.name, machine.Address{Host: r.name}, o)
	if err == nil {
		closed(t, m)
		t.Errorf("%s: no error", r.name)
		return
	}
	t.Log(err)
	var e *machine.Error
	if !errors.As(err, &e) {
		t.Errorf("%s: %T is no *machine.Error", r.name, err)
	}
	must.ContainFor(t, r.name, err.Error(), append(r.words, "machine "+r.name+" (ssh://"+r.name+")", "; ")...)
	if strings.ContainsAny(err.Error(), "\n\r\x1b") || len(err.Error()) > 700 {
		t.Errorf("%s: %q is not one clean line", r.name, err)
	}
}

// A login that fails is explained on one line, with what to do. Nothing is asked, and no directory
// stays on this machine.
func TestLoginRefused(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	b := machinetest.New(t,
		machinetest.Spec{Name: "a"},
		machinetest.Spec{Name: "forced", Server: "ForceCommand echo backups only; echo \033[31mred >&2"},
		machinetest.Spec{Name: "nologin", Shell: "/usr/sbin/nologin"},
	)
	a, forced := b.Machine("a"), b.Machine("forced")
	b.Alias("refused", a, "IdentityFile "+b.Key("other"), "IdentitiesOnly yes")
	b.Alias("unknown", a, "UserKnownHostsFile /dev/null")
	b.Alias("changed", a, "UserKnownHostsFile "+b.KnownAs(a, forced))
	b.Alias("strict", a, "UserKnownHostsFile /dev/null", "StrictHostKeyChecking yes")
	b.Alias("closed", a, "Port 23")
	b.Alias("nowhere", a, "HostName 198.19.253.1")
	b.Alias("unnamed", a, "HostName no-such-host.invalid")
	b.Alias("jump", a, "ProxyJump refused")
	b.Alias("keyboard", a, "PubkeyAuthentication no")
	o := b.Options()
	for _, r := range []refusal{
		{"refused", []string{"refused the login", "ssh-add"}},
		{"keyboard", []string{"refused the login", "ssh-add"}},
		{"unknown", []string{"host key is unknown", "compare the fingerprint"}},
		{"strict", []string{"host key is unknown", "compare the fingerprint"}},
		{"changed", []string{"not the known one", "ssh-keygen -R"}},
		{"closed", []string{"connection refused", "start it"}},
		{"nowhere", []string{"no route", "check"}},
		{"unnamed", []string{"cannot be resolved", "correct the name"}},
		{"jump", []string{"refused the login"}},
		{"forced", []string{"another command was run there", "backups only", "ForceCommand"}},
		{"nologin", []string{"another command was run there", "not available", "nologin"}},
	} {
		r.check(t, o)
	}
	broken := o
	broken.Config = filepath.Join(t.TempDir(), "none")
	refusal{"a", []string{"configuration file"}}.check(t, broken)
	t.Setenv("PATH", t.TempDir())
	refusal{"a", []string{"ssh program was not found", "openssh-client"}}.check(t, o)
	if files, err := os.ReadDir(os.TempDir()); err != nil || len(files) != 0 {
		t.Errorf("left on this machine: %v, %v", files, err)
	}
}

// A login that takes too long ends with the caller's time limit, and with an error that says so.
func TestSlowLogin(t *testing.T) {
	b := machinetest.New(t, machinetest.Spec{Name: "slow", Setup: "mkdir /root/.ssh\necho 'echo welcome; read x </run/never' >/root/.ssh/rc\nmkfifo /run/never\n"})
	cause := errors.New("the test waits no longer")
	ctx, cancel := context.WithCancelCause(t.Context())
	run := newRun(t)
	ended := make(chan error, 1)
	go func() {
		_, err := machine.Connect(ctx, run, "slow", machine.Address{Host: "slow"}, b.Options())
		ended <- err
	}()
	b.Machine("slow").Await(t, "pgrep -f /root/.ssh/rc")
	cancel(cause)
	must.Fail(t, <-ended, cause.Error(), "without a prompt")
	// With the obstacle gone, the same login works, however slow it was.
	go b.Machine("slow").Run(t, "echo >/run/never")
	closed(t, connect(t, b, newRun(t), "slow"))
}

// The program is placed where it fits and may be executed, and if that is nowhere, the error says
// why for each directory.
func TestPlace(t *testing.T) {
	const small = "mount -t tmpfs -o size=2m tmpfs /dev/shm\n" // this program does not fit into it
	const refusing = "mount -o remount,ro /var/tmp\nmount -o remount,noexec /tmp\n" + small
	b := machinetest.New(t,
		machinetest.Spec{Name: "home", Setup: refusing},
		machinetest.Spec{Name: "nowhere", Setup: refusing + "mount -o remount,ro /root\n"},
		machinetest.Spec{Name: "noisy", Shell: "/bin/bash", Server: "Banner /etc/os-release",
			Setup: `printf 'echo welcome to this machine; printf no-line-break; echo careful >&2\n' >/root/.bashrc` + "\n"},
	)
	for name, want := range map[string]string{"home": "/root/tare-", "noisy": "/tmp/tare-"} {
		m := connect(t, b, newRun(t), name)
		if found := left(t, b.Machine(name)); !strings.HasPrefix(found, want) {
			t.Errorf("%s: nothing is at %s:\n%s", name, want, found)
		}
		runsAgent(t, m)
		closed(t, m)
		gone(t, b.Machine(name))
	}
	refusal{"nowhere", []string{
		"/tmp: programs there may not be executed (noexec)", "/var/tmp: Read-only file system", "/root: Read-only file system", "/dev/shm: 20", "KiB free", "set TMPDIR",
	}}.check(t, b.Options())
	gone(t, b.Machine("nowhere"))
	// The disk fills while the program is copied.
	b.Machine("home").Run(t, "mount -t tmpfs -o size=2m tmpfs /root; printf '#!/bin/sh\\n' >/run/df; chmod 755 /run/df; mount --bind /run/df /bin/df")
	refusal{"home", []string{"No space left on device", "free some space"}}.check(t, b.Options())
	gone(t, b.Machine("home"))
	b.Machine("home").Run(t, `umount /root; printf '#!/bin/sh\ncase $1 in -s) echo Linux ;; -m) echo riscv64 ;; esac\n' >/run/uname; chmod 755 /run/uname; mount --bind /run/uname /bin/uname`)
	refusal{"home", []string{"linux/riscv64", "tare-linux-riscv64", machine.EnvBinaries}}.check(t, b.Options())
	o := b.Options()
	o.Binaries = t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(o.Binaries, "tare-linux-riscv64"), []byte("\x7fELF no program"), 0o600))
	refusal{"home", []string{"did not start there", "check that this program for linux/riscv64 is one: " + o.Binaries}}.check(t, o)
	gone(t, b.Machine("home"))
}
