package study_test

import (
	"testing"

	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

// A setting that has no effect without another needs that one.
func TestSettingNeedsAnother(t *testing.T) {
	cat := studytest.Catalog()
	valid := func(string) bool { return true }
	for i := range cat.Modes {
		if cat.Modes[i].ID == "netns/published" {
			cat.Modes[i].With = []study.SettingSpec{{Name: "rules", Valid: valid}, {Name: "rules_kind", Valid: valid, Needs: "rules"}}
		}
	}
	resolve := func(with map[string]string) error {
		s := study.Study{Name: "n", Modes: []study.Mode{{Mode: "netns/published", With: with}}, Workloads: []study.Workload{{Kind: "tcp_rr"}}}
		_, err := study.Resolve(s, cat)
		return err
	}
	must.Do(must.Named(t, "with both"), resolve(map[string]string{"rules": "10", "rules_kind": "nft-map"}))
	err := resolve(map[string]string{"rules_kind": "nft-map"})
	must.Fail(t, err, "rules_kind has no effect without rules")
}

// A setting that another one excludes is refused with what to set.
func TestSettingConflicts(t *testing.T) {
	cat := studytest.Catalog()
	valid := func(string) bool { return true }
	for i := range cat.Modes {
		if cat.Modes[i].ID == "netns/published" {
			cat.Modes[i].With = []study.SettingSpec{{Name: "place", Valid: valid}, {Name: "tls", Valid: valid, Conflict: func(with map[string]string) string {
				if with["place"] == "one" {
					return "is between two; set place: two"
				}
				return ""
			}}}
		}
	}
	resolve := func(with map[string]string) error {
		s := study.Study{Name: "n", Modes: []study.Mode{{Mode: "netns/published", With: with}}, Workloads: []study.Workload{{Kind: "tcp_rr"}}}
		_, err := study.Resolve(s, cat)
		return err
	}
	must.Do(t, resolve(map[string]string{"place": "two", "tls": "on"}), resolve(map[string]string{"place": "one"}))
	must.Fail(t, resolve(map[string]string{"place": "one", "tls": "on"}), "tls: on is between two; set place: two")
}
