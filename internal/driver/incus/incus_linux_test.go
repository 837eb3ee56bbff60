package incus_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/incus"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/runid"
	"tare/internal/testkit/bridgedtest"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == fakeDaemon {
		fmt.Println(serve(os.Args[2]))
		os.Exit(1)
	}
	drivertest.UsePrograms("incus")
	drivertest.MainOf(m, incus.Driver{})
}

// fakeDaemon makes this program a daemon with Incus's API that writes its rules with the next argument, and refuses everything.
const fakeDaemon = "fake-incusd"

func serve(firewall string) error {
	dir := os.Getenv("INCUS_DIR")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	l, err := net.Listen("unix", filepath.Join(dir, "unix.socket"))
	if err != nil {
		return err
	}
	s := http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = fmt.Fprintf(w, `{"type": "sync", "metadata": {"environment": {"firewall": %q}}}`, firewall)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprint(w, `{"type": "error", "error": "no luck"}`)
	})}
	return s.Serve(l)
}

func need(t *testing.T) {
	t.Helper()
	drivertest.NeedProgram(t, testneed.Incus, "incusd")
}

func TestConformance(t *testing.T) {
	need(t)
	drivertest.Conformance(t, incus.Driver{}, 2)
}

func TestShortcutsAreVoid(t *testing.T) {
	need(t)
	bridgedtest.Check(t, incus.Driver{}, "incus/published", "incus/bridge",
		bridgedtest.Chains{Published: []string{"inet incus prert.server.tcp", "inet incus prert.server.udp"}, Masquerade: "inet incus pstrt.incusbr0"})
}

// What cannot be used is said in one line, and nothing is left.
func TestBadPrograms(t *testing.T) {
	need(t)
	const version = "[ \"$1\" = --version ] && { echo 6.0.4; exit; }\n"
	bad := func(program, script, want string, unsupported bool) drivertest.Refused {
		return drivertest.Refused{Mode: "incus/bridge", Program: program, Script: script, Want: want, Unsupported: unsupported}
	}
	fake := func(firewall, want string) drivertest.Refused {
		return bad("incusd", version+"exec "+must.Get(os.Executable())(t)+" "+fakeDaemon+" "+firewall, want, false)
	}
	drivertest.CheckRefused(t, incus.Driver{}, map[string]drivertest.Refused{
		"too old":  bad("incusd", "echo 5.21", "is Incus 5.21; install Incus 6.0 or newer", true),
		"ends":     bad("incusd", version+"echo no luck; exit 1", "Incus of host a has ended: incusd ended (exit status 1): no luck", false),
		"no OVN":   {Mode: "incus/ovn", Program: "ovn-controller", Script: "echo something else", Want: `ovn-controller: unexpected output "something else"; install OVN`, Unsupported: true},
		"refuses":  fake("nftables", "Incus of host a: PATCH /1.0: no luck"),
		"iptables": fake("xtables", `Incus of host a writes its rules with "xtables"`),
	})
}

// Two modes of one run can be up at the same time: each has control groups of its own on hosts of the same name.
func TestModesOfOneRun(t *testing.T) {
	need(t)
	spec := drivertest.Spec(t, nil)
	for _, mode := range []string{"incus/bridge", "incus/published"} {
		spec.Label = mode
		p := must.Get(incus.Driver{}.Provision(t.Context(), drivertest.SpecOn(spec, driver.Order{Mode: mode, Pairs: 1})))(t)
		t.Cleanup(func() { must.Do(t, p.Close(context.WithoutCancel(t.Context()))) })
	}
}

// A killed run leaves control groups, besides namespaces, and gc removes both.
func TestKilledRun(t *testing.T) {
	need(t)
	groups := func() (all []engine.Leftover) {
		return slices.DeleteFunc(must.Get(private.Leftovers(must.Get(runid.List())(t)))(t), func(l engine.Leftover) bool { return !strings.Contains(l.What, "-incus-") })
	}
	had := len(groups())
	drivertest.KilledRun(t, "incus/bridge", nil)
	must.Equal(t, had+2, len(groups()))
	for _, l := range groups() {
		must.Do(t, l.Remove(t.Context()))
	}
	must.Equal(t, 0, len(groups()))
}
