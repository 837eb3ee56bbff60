package machine_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"tare/internal/machine"
	"tare/internal/testkit/machinetest"
	"tare/internal/testkit/must"
)

// The round trip to a machine is that of the connection of an ssh login, which runs nothing there. Without one, the error
// says why on one line. No file stays here.
func TestRoundTrip(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	b := machinetest.New(t, machinetest.Spec{Name: "a", Server: "ForceCommand touch /run/ran"})
	a := b.Machine("a")
	b.Alias("refused", a, "IdentityFile "+b.Key("other"), "IdentitiesOnly yes")
	b.Alias("closed", a, "Port 23")
	b.Alias("unnamed", a, "HostName no-such-host.invalid")
	b.Alias("through", a, "ProxyJump a")
	measure := func(to machine.Address, o machine.Options) (rtt time.Duration, failed error) {
		err := b.Controller.Do(func() error { rtt, failed = machine.RoundTrip(t.Context(), to, o); return nil })
		return rtt, errors.Join(err, failed)
	}
	rtt, err := measure(machine.Address{Host: "a"}, b.Options())
	if err != nil || rtt <= 0 || rtt > time.Minute {
		t.Errorf("to a: %s, %v", rtt, err)
	}
	a.Run(t, "test ! -e /run/ran")
	for name, words := range map[string][]string{
		"refused": {"refused the login", "ssh-add"},
		"closed":  {"connection refused", "start it"},
		"unnamed": {"cannot be resolved", "correct the name"},
		"through": {"ProxyJump", "--rtt"},
	} {
		rtt, err := measure(machine.Address{Host: name}, b.Options())
		must.FailFor(t, name, err, append(words, "machine "+name+" (ssh://"+name+")", "; ")...)
		if rtt != 0 || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%s: %s, %q", name, rtt, err)
		}
	}
	_, err = machine.RoundTrip(t.Context(), machine.Address{}, b.Options())
	must.Fail(t, err, "this is this machine")
	if files, err := os.ReadDir(os.TempDir()); err != nil || len(files) != 0 {
		t.Errorf("left on this machine: %v, %v", files, err)
	}
}
