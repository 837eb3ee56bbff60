package studies_test

import (
	"regexp"
	"slices"
	"testing"

	"tare/internal/study"
	"tare/internal/study/studyfile"
	"tare/internal/testkit/must"
	"tare/studies"
)

// TestDefault: the study that a user copies is good, and so are the examples in
// its comments.
func TestDefault(t *testing.T) {
	src, ok := studies.Builtin("default")
	must.Require(t, ok, "there is no default study")
	s, err := studyfile.Decode("default.yaml", src, catalog())
	must.Do(t, err)
	must.True(t, s.Title != "" && s.Description != "", "no title or no description")
	s.Title, s.Description = "", ""
	want := study.Study{
		Name: "default", Profile: study.Quick,
		Modes:     study.ModesOf("host", "netns/published", "netns/bridge", "netns/macvlan", "netns/vxlan"),
		Workloads: []study.Workload{{Kind: "tcp_stream"}, {Kind: "tcp_rr"}},
	}
	must.Equal(t, want, s)

	example := regexp.MustCompile(`(?m)^( *)# ((?:  |- )?(?:[a-z_]+: .*|lab:))$`).ReplaceAllString(string(src), "$1$2")
	if s, err = studyfile.Decode("default.yaml", []byte(example), catalog()); err != nil {
		t.Fatalf("%v\n%s", err, example)
	}
	must.True(t, s.Blocks != 0 && s.Lab.Offload != "" && len(s.Workloads) == 3 && s.Workloads[2].WriteSize != 0, "the examples were not read: %+v", s)
}

func TestNames(t *testing.T) {
	names := studies.Names()
	must.True(t, slices.Contains(names, "default") && slices.IsSorted(names), "names are %q", names)
	for _, name := range names {
		src, ok := studies.Builtin(name)
		if title, description := studyfile.Titles(src); !ok || title == "" || description == "" {
			t.Errorf("%s: title %q, description %q", name, title, description)
		}
	}
	for _, name := range []string{"", "none", "default.yaml", "../studies/default", "studies.go"} {
		if _, ok := studies.Builtin(name); ok {
			t.Errorf("there is a study %q", name)
		}
	}
}

// catalog has what the default study names. The real one lies above this package,
// and all studies are held against it where it is made.
func catalog() study.Catalog {
	return study.Catalog{
		Modes: []study.Offer{
			{ID: "host"}, {ID: "netns/published", Baseline: "host"}, {ID: "netns/bridge", Baseline: "host"},
			{ID: "netns/macvlan", Baseline: "host"}, {ID: "netns/vxlan", Baseline: "host"},
		},
		Workloads: []study.WorkloadSpec{
			{Kind: "tcp_stream", Params: []string{"streams", "write_size"}}, {Kind: "tcp_rr"},
		},
	}
}
