package study_test

import (
	"fmt"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

// Every profile gathers the same evidence; a pass is part of those that answer.
func TestResolveEvidence(t *testing.T) {
	const s = quantity.Duration(time.Second)
	auto := study.CostPass{Rate: quantity.PassAuto, FromBlock: 2, Every: 1, Times: 8, Warmup: quantity.WaitOf(time.Second / 4), Duration: study.WholeDuration}
	long, fixed, sparse, slow := auto, auto, auto, auto
	long.Times, long.Warmup, long.Duration = 0, quantity.WaitOf(study.WholeWarmup.Std()), 30*s
	fixed.Rate = 2e9
	sparse.Every, sparse.Times, sparse.FromBlock = 3, 0, 4
	slow.Warmup = quantity.WaitOf(study.BulkWarmup.Std())
	all := study.Evidence{Counters: study.On, Stacks: study.AutoWord, Drops: study.AutoWord}
	for src, want := range map[string]struct {
		evidence study.Evidence
		pass     study.CostPass
	}{
		"profile: quick":                                           {all, study.CostPass{Rate: quantity.NoPass}},
		"profile: standard":                                        {all, auto},
		"profile: paper":                                           {all, long},
		"profile: quick\ncost_pass: {rate: auto}":                  {all, auto},
		"profile: standard\ncost_pass: {rate: off}":                {all, study.CostPass{Rate: quantity.NoPass}},
		"profile: standard\ncost_pass: {rate: 2Gbit/s}":            {all, fixed},
		"profile: standard\ncost_pass: {every: 3, from_block: 4}":  {all, sparse},
		"profile: standard\nlab: {rate: 1Gbit/s}":                  {all, slow},
		"evidence: {stacks: on, counters: off}\nprofile: standard": {study.Evidence{Counters: study.Off, Stacks: study.On, Drops: study.AutoWord}, auto},
	} {
		got := resolved(t, src+"\nmodes: [host]\nworkloads: [tcp_stream]\n", studytest.Catalog())
		must.EqualFor(t, fmt.Sprintf("%q: evidence", src), want.evidence, got.Evidence)
		must.EqualFor(t, fmt.Sprintf("%q: cost pass", src), want.pass, got.CostPass)
	}
}

// A pass counts its blocks from its first one.
func TestCostPassIn(t *testing.T) {
	for _, c := range []struct {
		pass study.CostPass
		in   []int
	}{
		{study.CostPass{Rate: quantity.PassAuto, FromBlock: 2, Every: 1, Times: 4}, []int{2, 3, 4, 5}},
		{study.CostPass{Rate: 1e9, FromBlock: 1, Every: 3}, []int{1, 4, 7, 10}},
		{study.CostPass{Rate: 1e9, FromBlock: 3, Every: 2, Times: 2}, []int{3, 5}},
		{study.CostPass{Rate: quantity.NoPass, FromBlock: 2, Every: 1}, nil},
		{study.CostPass{}, nil},
	} {
		var in []int
		for block := 1; block <= 10; block++ {
			if c.pass.In(block) {
				in = append(in, block)
			}
		}
		must.EqualFor(t, c.pass, c.in, in)
	}
}

// The command line's words replace what the study says.
func TestApplyEvidence(t *testing.T) {
	s := must.Get(decode(t, "evidence: {stacks: auto}\ncost_pass: {rate: auto, duration: 9s}").Apply(study.Overrides{Evidence: study.Off, Set: map[string]string{"cost-pass": "1.5Gbit/s"}}, studytest.Catalog()))(t)
	want := (study.Evidence{Counters: study.Off, Stacks: study.Off, Drops: study.Off})
	must.True(t, s.Evidence == want, "evidence %+v", s.Evidence)
	if want := (study.CostPass{Rate: 15e8, Duration: quantity.Duration(9 * time.Second)}); s.CostPass != want {
		t.Errorf("cost pass %+v", s.CostPass)
	}
	for _, c := range []struct {
		with study.Overrides
		want string
	}{
		{study.Overrides{Evidence: "auto"}, `--evidence: "auto" is not valid; want on or off`},
		{study.Overrides{Set: map[string]string{"cost-pass": "half"}}, `--cost-pass: "half" is not a rate; write it as 1Gbit/s, 500Mbit/s or plain bit/s, or auto, or off`},
		{study.Overrides{Set: map[string]string{"max-others": "much"}}, `--max-others: "much" is not a share; write a number such as 0.02, or off`},
		{study.Overrides{Set: map[string]string{"max-others": "9e9"}}, "--max-others: "},
		{study.Overrides{Set: map[string]string{"cost-pass": "5"}}, "--cost-pass: rate is 5bit/s; want auto, off, or a rate of 1Mbit/s to 400Gbit/s, such as 1Gbit/s"},
		{study.Overrides{Set: map[string]string{"max-rate": "5"}}, "--max-rate is 5bit/s; want a rate of 1Mbit/s to 400Gbit/s, such as 1Gbit/s"},
	} {
		must.Fail(t, must.Err((study.Study{}).Apply(c.with, studytest.Catalog())), c.want)
	}
}
