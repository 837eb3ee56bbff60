package study_test

import (
	"testing"

	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

// resolvePublished resolves a study of netns/published, which takes these settings, with some of them.
func resolvePublished(with map[string]string, takes ...study.SettingSpec) error {
	cat := studytest.Catalog()
	for i := range cat.Modes {
		if cat.Modes[i].ID == "netns/published" {
			cat.Modes[i].With = takes
		}
	}
	s := study.Study{Name: "n", Modes: []study.Mode{{Mode: "netns/published", With: with}}, Workloads: []study.Workload{{Kind: "tcp_rr"}}}
	return must.Err(study.Resolve(s, cat))
}

func valid(string) bool { return true }

// A setting that has no effect without another needs that one.
func TestSettingNeedsAnother(t *testing.T) {
	rules, kind := study.SettingSpec{Name: "rules", Valid: valid}, study.SettingSpec{Name: "rules_kind", Valid: valid, Needs: "rules"}
	must.Do(t, resolvePublished(map[string]string{"rules": "10", "rules_kind": "nft-map"}, rules, kind))
	must.Fail(t, resolvePublished(map[string]string{"rules_kind": "nft-map"}, rules, kind), "rules_kind has no effect without rules")
}

// A setting that another one excludes is refused with what to set.
func TestSettingConflicts(t *testing.T) {
	place := study.SettingSpec{Name: "place", Valid: valid}
	tls := study.SettingSpec{Name: "tls", Valid: valid, Conflict: func(with map[string]string) string {
		if with["place"] == "one" {
			return "is between two; set place: two"
		}
		return ""
	}}
	must.Do(t, resolvePublished(map[string]string{"place": "two", "tls": "on"}, place, tls), resolvePublished(map[string]string{"place": "one"}, place, tls))
	must.Fail(t, resolvePublished(map[string]string{"place": "one", "tls": "on"}, place, tls), "tls: on is between two; set place: two")
}
