package facts

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// Every fact of the machines in testdata and of this one has an entry in docs/facts.md.
func TestFactsAreDocumented(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/facts.md"))(t)
	paths, err := filepath.Glob("testdata/*.golden")
	must.Require(t, err == nil && len(paths) != 0, "no machines in testdata: %v", err)
	names := map[string]string{}
	fact := regexp.MustCompile(`(?m)^([a-z0-9_]+) = `)
	for _, p := range paths {
		text := must.Get(os.ReadFile(p))(t)
		for _, m := range fact.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = p
		}
	}
	for _, f := range append(machineOf(os.DirFS("/"), answers{}).Facts, otherSystem().Facts...) {
		names[f.Name] = "this machine"
	}
	for system, describe := range map[string]func(*machine){
		"Windows": func(m *machine) { m.windows(windows11(), nil) },
		"macOS":   func(m *machine) { m.mac(fakeMac{}) },
	} {
		m := &machine{}
		describe(m)
		for _, f := range m.report.Facts {
			names[f.Name] = system
		}
	}
	must.True(t, len(names) >= 50, "only %d facts were found", len(names))
	for name, at := range names {
		if strings.HasPrefix(name, "device_") {
			name = "device_NAME"
		}
		must.True(t, strings.Contains(string(page), "`"+name+"`"), "fact %s, of %s, has no line in docs/facts.md", name, at)
	}
}
