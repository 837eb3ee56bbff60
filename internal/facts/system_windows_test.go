package facts

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/result"
)

// TestSystem reads this machine. Wine lacks a power plan and the keys of drivers.
func TestSystem(t *testing.T) {
	r := Collect("/")
	checkForm(t, r)
	for _, f := range r.Facts {
		t.Logf("%s = %s", f.Name, f.Value)
	}
	for _, name := range []string{"kernel", "distribution", "cpu_model", "cpus_online", "cpus_allowed", "memory", "memory_available", "hypervisor"} {
		i := slices.IndexFunc(r.Facts, func(f result.Fact) bool { return f.Name == name })
		if i < 0 || strings.HasPrefix(r.Facts[i].Value, "unknown") {
			t.Errorf("%s is not known: %v", name, r.Facts)
		}
	}
	if !slices.ContainsFunc(r.Facts, func(f result.Fact) bool { return f.Name == "power_plan" }) {
		t.Error("nothing is said of the power plan")
	}
	if !slices.ContainsFunc(r.Facts, func(f result.Fact) bool { return strings.HasPrefix(f.Name, "device") }) {
		t.Error("nothing is said of the devices")
	}
}
