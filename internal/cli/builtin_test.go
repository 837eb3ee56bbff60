package cli

import (
	"slices"
	"testing"

	"tare/internal/hosts"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/studyfile"
	"tare/internal/testkit/must"
	"tare/studies"
)

// Every study that comes with tare is one that tare takes, in every profile, and
// what its scenarios and comparisons name survives.
func TestBuiltinStudies(t *testing.T) {
	t.Parallel()
	for _, name := range studies.Names() {
		src, _ := studies.Builtin(name)
		cat := catalogOf(src)
		s, err := studyfile.Decode(name+".yaml", src, cat)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, profile := range study.Profiles() {
			over, err := s.Apply(study.Overrides{Set: map[string]string{"profile": profile}}, cat)
			if err == nil {
				over, err = study.Resolve(over, cat)
			}
			must.True(t, err == nil && over.Profile == profile && len(over.Scenarios) == len(s.Scenarios) && len(over.Compare) == len(s.Compare),
				"%s, profile %s: %v, %d scenarios, %d comparisons", name, profile, err, len(over.Scenarios), len(over.Compare))
		}
	}
}

// The study http has the workloads of --for web.
func TestHTTPStudy(t *testing.T) {
	t.Parallel()
	src, _ := studies.Builtin("http")
	s := must.Get(studyfile.Decode("http.yaml", src, catalogOf(src)))(t)
	at := slices.IndexFunc(study.Purposes(), func(p study.Purpose) bool { return p.Name == "web" })
	must.Equal(t, study.Purposes()[at].Workloads, s.Workloads)
}

// catalogOf returns what the study's own target offers.
func catalogOf(src []byte) study.Catalog {
	return New(result.Build{}).On(studyfile.TargetOf(src), hosts.Options{}).Catalog()
}
