package setting_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/setting"
	"tare/internal/hosts"
	"tare/internal/testkit/must"
)

func TestValues(t *testing.T) {
	for _, tt := range []struct {
		name       string
		valid, not []string
	}{
		{"gro", []string{"on", "off"}, []string{"", "On", "1", "yes"}},
		{"gso_max_size", []string{"2000", "65536", "524280"}, []string{"", "0", "1999", "524281", "0x10000", "64k", "065536", "+65536"}},
		{"queues", []string{"1", "256"}, []string{"0", "257", "-1", "2.0"}},
		{"rps", []string{"off", "all", "0", "0,2", "4095"}, []string{"", "on", "0-1", "-1", "4096", "0,", "a", "99999999999999999999"}},
		{"qdisc", []string{"noqueue", "fq_codel"}, []string{"", "tbf", "netem", "mq"}},
		{"conntrack_fill", []string{"1", "1000000"}, []string{"0", "1000001"}},
	} {
		i := slices.IndexFunc(setting.All(), func(s setting.Setting) bool { return s.Name == tt.name })
		if i < 0 {
			t.Errorf("there is no setting %s", tt.name)
			continue
		}
		for _, v := range tt.valid {
			must.True(t, setting.All()[i].Valid(v), "%s: %q is not valid", tt.name, v)
		}
		for _, v := range tt.not {
			must.True(t, !setting.All()[i].Valid(v), "%s: %q is valid", tt.name, v)
		}
	}
}

// What could help a mode is made of settings that it accepts, with valid values, and says
// how to keep it and what it costs.
func TestCandidates(t *testing.T) {
	helps := func(m driver.Mode, name, value string) bool {
		m.Settings = setting.Names()
		return slices.ContainsFunc(setting.Candidates(m), func(c setting.Candidate) bool { return c.With[name] == value })
	}
	tracked := []driver.Part{{ID: "conntrack"}}
	for _, tt := range []struct {
		mode        driver.Mode
		name, value string
		want        bool
	}{
		{driver.Mode{ID: "docker/published"}, "bridge_nf", "off", true},
		{driver.Mode{ID: "docker/overlay"}, "bridge_nf", "off", true},
		{driver.Mode{ID: "docker/macvlan"}, "bridge_nf", "off", false},
		{driver.Mode{ID: "docker/network:shop"}, "bridge_nf", "off", true},
		{driver.Mode{ID: "netns/bridge"}, "bridge_nf", "off", false},
		{driver.Mode{ID: "netns/bridge"}, "gso_max_size", "196608", true},
		{driver.Mode{ID: "netns/vxlan"}, "gso_max_size", "196608", false},
		{driver.Mode{ID: "netns/vxlan"}, "gro", "off", true},
		{driver.Mode{ID: "docker/host", Parts: tracked}, "tracking", "off", true},
		{driver.Mode{ID: "docker/published", Parts: append(tracked, driver.Part{ID: "dnat"})}, "tracking", "off", false},
	} {
		must.EqualFor(t, fmt.Sprintf("%s: %s for %s is a candidate", tt.name, tt.value, tt.mode.ID), tt.want, helps(tt.mode, tt.name, tt.value))
	}
	for _, c := range setting.Candidates(driver.Mode{ID: "docker/host", Settings: setting.Names(), Parts: tracked}) {
		must.True(t, len(c.Permanent) != 0 && c.GivesUp != "", "%v has no commands, or costs nothing", c.With)
		for name, value := range c.With {
			must.True(t, slices.ContainsFunc(setting.All(), func(s setting.Setting) bool { return s.Name == name && s.Valid(value) }), "%s: %s is not valid", name, value)
		}
	}
	if got := setting.Candidates(driver.Mode{ID: "vm/virtio"}); len(got) > 0 {
		t.Errorf("a mode without settings has candidates: %v", got)
	}
}

// No part or own setting of a mode has the name of a setting: all are keys of one mapping.
func TestNamesAreDistinct(t *testing.T) {
	for _, m := range hosts.Modes() {
		seen := map[string]bool{}
		for _, s := range setting.SpecsOf(m) {
			must.True(t, !seen[s.Name], "%s has two settings or parts with the name %s", m.ID, s.Name)
			seen[s.Name] = true
		}
	}
}

// The page of the settings has a section for each; its table is generated. Further pages are those of a mode's own settings.
func TestPages(t *testing.T) {
	const docs = "../../../docs/settings"
	list := string(must.Get(os.ReadFile(filepath.Join(docs, "README.md")))(t))
	pages := map[string]bool{"README.md": true}
	for _, m := range hosts.Modes() {
		for _, own := range m.Own {
			pages[own.Name+".md"] = true
		}
	}
	for _, s := range setting.All() {
		must.ContainFor(t, s.Name, list, "\n## "+s.Name+"\n\n")
	}
	files := must.Get(os.ReadDir(docs))(t)
	for _, f := range files {
		must.True(t, pages[f.Name()], "%s is the page of no setting", f.Name())
	}
}
