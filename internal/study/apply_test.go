package study_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

const base = `
name: base
profile: standard
modes: [netns/bridge]
workloads:
  - {workload: tcp_stream, id: one, streams: 1}
  - {workload: tcp_stream, id: many, streams: 50}
  - {workload: tcp_rr, duration: 2s}
blocks: 3
`

func TestApply(t *testing.T) {
	one := study.Workload{Kind: "tcp_stream", ID: "one", Streams: 1}
	many := study.Workload{Kind: "tcp_stream", ID: "many", Streams: 50}
	rr := study.Workload{Kind: "tcp_rr", Duration: quantity.Duration(2 * time.Second)}
	for name, c := range map[string]struct {
		src    string
		over   study.Overrides
		change func(*study.Study)
	}{
		"nothing":       {base, study.Overrides{}, func(*study.Study) {}},
		"modes":         {base, study.Overrides{Modes: []string{"host", "netns/vxlan"}}, func(s *study.Study) { s.Modes = study.ModesOf("host", "netns/vxlan") }},
		"an id":         {base, study.Overrides{Workloads: []string{"many"}}, func(s *study.Study) { s.Workloads = []study.Workload{many} }},
		"a kind, twice": {base, study.Overrides{Workloads: []string{"tcp_rr", "tcp_stream"}}, func(s *study.Study) { s.Workloads = []study.Workload{rr, one, many} }},
		"a new kind": {"name: a\nworkloads: [tcp_stream]\n", study.Overrides{Workloads: []string{"tcp_rr"}}, func(s *study.Study) {
			s.Workloads = []study.Workload{{Kind: "tcp_rr"}}
		}},
		"an id of its kind's name": {"workloads: [{workload: tcp_rr, id: x}, {workload: tcp_rr, family: ipv6}]", study.Overrides{Workloads: []string{"tcp_rr"}}, func(s *study.Study) {
			s.Workloads = s.Workloads[1:]
		}},
		"an application": {base, study.Overrides{For: "dns"}, func(s *study.Study) {
			s.Title, s.Workloads = ", for name resolution", []study.Workload{{Kind: "udp_dns"}, {Kind: "tcp_dns"}}
		}},
		"a name": {base, study.Overrides{Set: map[string]string{"name": "mine", "title": "Mine"}}, func(s *study.Study) { s.Name, s.Title = "mine", "Mine" }},
		"named by its modes": {base, study.Overrides{AdHoc: true, Modes: []string{"host", "netns/vxlan"}}, func(s *study.Study) {
			s.Modes, s.Name, s.Title = study.ModesOf("host", "netns/vxlan"), "netns-vxlan", "The overhead of host, netns/vxlan"
		}},
		"the others": {base, study.Overrides{Set: map[string]string{"profile": study.Paper, "seed": "9", "max-time": "1m0s"}}, func(s *study.Study) {
			s.Profile, s.Seed, s.MaxTime = study.Paper, 9, quantity.Duration(time.Minute)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := decode(t, c.src)
			got := must.Get(s.Apply(c.over, studytest.Catalog()))(t)
			must.EqualFor(t, "Apply changed its receiver", decode(t, c.src), s)
			c.change(&s)
			must.Equal(t, s, got)
		})
	}
}

// Each flag that sets a key sets it, and refuses an empty text.
func TestApplyEveryFlag(t *testing.T) {
	texts := map[string]string{"name": "x", "title": "x", "profile": study.Paper, "seed": "9", "max-time": "1m0s", "cost-pass": "auto", "max-rate": "1Gbit/s", "max-others": "0.2"}
	flags := new(study.Study).Flags()
	must.Require(t, len(flags) >= 13, "%d flags", len(flags))
	for _, f := range flags {
		text := texts[f.Flag.Name]
		must.Require(t, (text == "") == (f.Flag.Sets != ""), "--%s needs a text in this test, or has one that it ignores", f.Flag.Name)
		got := must.Get(study.Study{}.Apply(study.Overrides{Set: map[string]string{f.Flag.Name: firstOf(text, "true")}}, studytest.Catalog()))(t)
		for _, set := range got.Flags() {
			must.True(t, set.Value.IsZero() != (set.Key == f.Key), "--%s: %s is %q", f.Flag.Name, set.Key, set.Value)
		}
		if text != "" {
			must.Fail(t, must.Err(study.Study{}.Apply(study.Overrides{Set: map[string]string{f.Flag.Name: ""}}, studytest.Catalog())), "--"+f.Flag.Name+" has no value")
		}
	}
}

func TestApplyErrors(t *testing.T) {
	for name, c := range map[string]struct {
		over study.Overrides
		want string
	}{
		"mode":           {study.Overrides{Modes: []string{"netns/bridg"}}, `--modes: unknown mode "netns/bridg"; did you mean "netns/bridge"?`},
		"mode twice":     {study.Overrides{Modes: []string{"host", "host"}}, `--modes: duplicate mode "host"`},
		"empty mode":     {study.Overrides{Modes: []string{""}}, `--modes: unknown mode ""; allowed: host, host-local, netns/published, netns/bridge, netns/macvlan, netns/vxlan, netns/ipvlan, netns/colocated, docker/bridge, docker/overlay, docker/network:NAME, docker/driver:NAME, docker/published, vm/virtio`},
		"id":             {study.Overrides{Workloads: []string{"mony"}}, `--workloads: unknown workload "mony"; did you mean "many"?`},
		"workload":       {study.Overrides{Workloads: []string{"udp"}}, `--workloads: unknown workload "udp"; allowed: tcp_stream, tcp_rr, udp_stream, one, many`},
		"workload twice": {study.Overrides{Workloads: []string{"many", "tcp_stream"}}, `--workloads: "many" is named twice`},
		"profile":        {study.Overrides{Set: map[string]string{"profile": "fast"}}, `--profile is "fast"; want quick, standard or paper`},
		"seed":           {study.Overrides{Set: map[string]string{"seed": "9223372036854775808"}}, `--seed is 9223372036854775808; want a whole number from 1 to 9007199254740991`},
		"time":           {study.Overrides{Set: map[string]string{"max-time": "721h0m0s"}}, `--max-time is 721h; want a duration of 1s to 720h, written with its unit, such as 1.5s`},
		"two": {study.Overrides{Modes: []string{"hos"}, Set: map[string]string{"max-time": "1ms"}}, `--modes: unknown mode "hos"; did you mean "host"?
--max-time is 1ms; want a duration of 1s to 720h, written with its unit, such as 1.5s`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decode(t, base).Apply(c.over, studytest.Catalog())
			var one *study.Error
			must.Require(t, errors.As(err, &one), "%v (%T) is not a *study.Error", err, err)
			must.Equal(t, c.want, err.Error())
		})
	}
}

const named = `
modes: [host, {mode: docker/bridge, id: one}, {mode: docker/bridge, id: two, limits: {client: {cpus: 1}}}, docker/overlay]
workloads: [tcp_rr, tcp_stream]
scenarios:
  - {id: A, mode: one, workload: tcp_rr}
  - {id: B, mode: two, workload: tcp_rr}
  - {id: C, mode: two, workload: tcp_stream}
  - {id: D, mode: host, workload: tcp_stream}
compare:
  - {a: A, b: B}
  - {a: C, b: D}
  - {a: docker/overlay, b: two}
  - {a: B, b: host}
claims:
  - {id: AB, claim: x, of: [A, B], metric: transaction_rate, holds_if: same}
  - {id: oD, claim: x, of: [one, D], metric: goodput, holds_if: same}
  - {id: rr, claim: x, of: [docker/overlay, one], workload: tcp_rr, metric: rtt_p50, holds_if: same}
  - {id: w, claim: x, needs: Windows}
`

// The only workload of a study is that of its claims, whatever the command line selects instead.
func TestApplyKeepsWorkloadOfClaims(t *testing.T) {
	s := decode(t, "modes: [host, docker/bridge]\nworkloads: [tcp_rr]\nclaims:\n  - {id: c, claim: x, of: [host, docker/bridge], metric: rtt_p50, holds_if: same}\n")
	for workloads, want := range map[string]int{"tcp_rr,tcp_stream": 1, "tcp_stream": 0, "tcp_stream,udp_stream": 0} {
		got := must.Get(s.Apply(study.Overrides{Workloads: strings.Split(workloads, ",")}, studytest.Catalog()))(t)
		if _, err := study.Resolve(got, studytest.Catalog()); err != nil || len(got.Claims) != want || want == 0 && got.Claims != nil {
			t.Errorf("with %s: %d claims, want %d: %v", workloads, len(got.Claims), want, err)
		}
	}
	must.EqualFor(t, "the study itself is changed", "", s.Claims[0].Workload)
}

// Names pick modes as they pick workloads, and what is said of modes and workloads
// that are left out goes with them.
func TestApplyNarrows(t *testing.T) {
	for name, c := range map[string]struct {
		over                         study.Overrides
		modes, scenarios, of, claims []string
	}{
		"nothing":      {study.Overrides{}, []string{"host", "one", "two", "docker/overlay"}, []string{"A", "B", "C", "D"}, []string{"A/B", "C/D", "docker/overlay / two", "B/host"}, []string{"AB", "oD", "rr", "w"}},
		"an id":        {study.Overrides{Modes: []string{"two"}}, []string{"two"}, []string{"B", "C", "D"}, []string{"C/D", "B/host"}, []string{"w"}},
		"a mode twice": {study.Overrides{Modes: []string{"docker/bridge"}}, []string{"one", "two"}, []string{"A", "B", "C", "D"}, []string{"A/B", "C/D", "B/host"}, []string{"AB", "oD", "w"}},
		"a new one":    {study.Overrides{Modes: []string{"docker/network:x", "docker/overlay"}}, []string{"docker/network:x", "docker/overlay"}, []string{"D"}, nil, []string{"w"}},
		"a workload":   {study.Overrides{Workloads: []string{"tcp_rr"}}, []string{"host", "one", "two", "docker/overlay"}, []string{"A", "B"}, []string{"A/B", "docker/overlay / two", "B/host"}, []string{"AB", "rr", "w"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := must.Get(decode(t, named).Apply(c.over, studytest.Catalog()))(t)
			must.Get(study.Resolve(s, studytest.Catalog()))(t)
			var scenarios, of []string
			for _, sc := range s.Scenarios {
				scenarios = append(scenarios, sc.ID)
			}
			for _, one := range s.Compare {
				of = append(of, one.Name())
			}
			var claims []string
			for _, one := range s.Claims {
				claims = append(claims, one.ID)
			}
			for _, d := range []string{cmp.Diff(c.claims, claims), cmp.Diff(c.modes, s.ModeNames()), cmp.Diff(c.scenarios, scenarios), cmp.Diff(c.of, of)} {
				must.Equal(t, "", d)
			}
		})
	}
}

func firstOf(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
