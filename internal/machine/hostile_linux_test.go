package machine_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tare/internal/machine"
	"tare/internal/testkit/machinetest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/timelimit"
)

// Another machine that does not stop writing, whatever it writes and when, costs a bounded time and memory, and
// the error says what it did.
func TestHostileMachine(t *testing.T) {
	testneed.NotShort(t) // each peer has seconds to end
	t.Setenv(timelimit.Variable, "1")
	t.Setenv("TMPDIR", t.TempDir())
	for name, tt := range map[string]struct{ script, want string }{
		"endless text":        {`exec yes welcome`, "the login wrote more than 256 KiB"},
		"an endless line":     {`exec cat /dev/zero`, "the login wrote more than 256 KiB"},
		"endless refusals":    {`echo "$m system Linux x86_64"; exec yes "$m refused /tmp: no"`, "it wrote more than 100 lines"},
		"endless lines":       {`echo "$m system Linux x86_64"; exec yes "$m strange"`, "it wrote more than 100 lines"},
		"endless places":      {`echo "$m system Linux x86_64"; exec 3<&0; cat <&3 >/dev/null 2>&1 & exec yes "$m directory /tmp"`, "it wrote more than 100 lines"},
		"text after a lie":    {`echo "$m system Linux x86_64"; echo "$m guard {"; exec yes`, "unexpected end of JSON input"},
		"another's program":   {`echo "$m system Linux x86_64"; echo "$m guard {}"; exec yes`, "is not what was sent"},
		"a system of its own": {`echo "$m system $(head -c 100000 /dev/zero | tr '\0' x)"; exec yes`, "the machine is unknown/unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			// The marker is in the command for the other side.
			script := "#!/bin/sh\nm=$(printf %s \"$*\" | grep -o 'tare-[A-Z2-7]\\{26\\}' | head -n 1)\n" + tt.script + "\n"
			must.Do(t, os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o755))
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := machine.Connect(t.Context(), newRun(t), "far", machine.Address{Host: "far"}, machine.Options{})
			runtime.ReadMemStats(&after)
			must.Fail(t, err, tt.want)
			if strings.ContainsAny(err.Error(), "\n\r\x1b") || len(err.Error()) > 1000 {
				t.Errorf("%d bytes: %q", len(err.Error()), err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
				t.Errorf("%d bytes were allocated", took)
			}
		})
	}
}

// A server with one channel in a connection has none for a program.
func TestOneChannel(t *testing.T) {
	b := machinetest.New(t, machinetest.Spec{Name: "one", Server: "MaxSessions 1"})
	m := connect(t, b, newRun(t), "one")
	must.Fail(t, must.Err(m.User.Launch(t.Context(), "version")), "raise MaxSessions in its sshd_config")
	closed(t, m)
}
