package machine_test

import (
	"os/exec"
	"strings"
	"testing"

	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/testkit/machinetest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// sudoers makes sudo on a machine follow a rule for the account.
func sudoers(rule string) string {
	return "mkdir /run/sudoers.d; mount --bind /run/sudoers.d /etc/sudoers.d\n" +
		"echo '" + rule + "' >/run/sudoers; chmod 440 /run/sudoers; mount --bind /run/sudoers /etc/sudoers\n"
}

// A user who is not root gets root's rights if sudo gives them without a password. Otherwise the
// machine can be used without, and says why and what to do.
func TestRoot(t *testing.T) {
	if _, err := exec.LookPath("sudo"); err != nil {
		testneed.Missing(t, testneed.SSH, err)
	}
	b := machinetest.New(t,
		machinetest.Spec{Name: "free", User: "bench", Setup: sudoers("bench ALL=(ALL) NOPASSWD: ALL")},
		machinetest.Spec{Name: "asks", User: "bench", Server: "SetEnv PATH=/run/bin", Setup: sudoers("bench ALL=(ALL) ALL") + "mkdir /run/bin; ln -s /usr/bin/* /run/bin/\n"},
	)
	run := newRun(t)
	m := connect(t, b, run, "free")
	if m.Root == nil {
		t.Fatalf("no root: %s", m.NoRoot)
	}
	for uid, l := range map[string]transport.Launcher{"2000": m.User, "0": m.Root} {
		a := must.Get(agent.Start(t.Context(), l, run, "free/"+uid))(t)
		must.EqualFor(t, "the agent runs as user", uid, b.Machine("free").Run(t, "stat -c %u /proc/$(pgrep -f '[t]are agent --run "+run+" --at free/"+uid+"( |$)' | tail -n 1)"))
		must.Equal(t, nil, a.Close())
	}
	// Root's gc there sees that the run is alive.
	must.Equal(t, "2", b.Machine("free").Run(t, "grep -c '@tare-run/"+run+"' /proc/net/unix"))
	closed(t, m)
	gone(t, b.Machine("free"))
	for _, reason := range []string{"sudo asks for a password on machine asks", "there is no sudo; log in as root"} {
		m := connect(t, b, newRun(t), "asks")
		t.Log(m.NoRoot)
		if m.Root != nil || !strings.Contains(m.NoRoot, reason) {
			t.Errorf("root %v: %s", m.Root, m.NoRoot)
		}
		runsAgent(t, m)
		closed(t, m)
		gone(t, b.Machine("asks"))
		b.Machine("asks").Run(t, "rm -f /run/bin/sudo")
	}
}
