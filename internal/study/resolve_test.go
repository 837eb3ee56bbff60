package study_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/study/studyfile"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

func decode(t *testing.T, src string) study.Study {
	t.Helper()
	s := must.Get(studyfile.Decode("s.yaml", []byte(src), studytest.Catalog()))(t)
	return s
}

func marshal(t *testing.T, s study.Study) string {
	t.Helper()
	return string(must.Get(studyfile.Marshal(s))(t))
}

// TestResolveShares: a resolved study owns its values.
func TestResolveShares(t *testing.T) {
	cat := studytest.Catalog()
	s := must.Get(study.Resolve(decode(t, "modes: [host]\nworkloads: [tcp_stream]\n"), cat))(t)
	*s.Workloads[0].NoDelay = false
	must.True(t, *cat.Workloads[0].Defaults.NoDelay, "a change to the study reached the catalog")
}

// TestResolveErrors covers studies without a file.
func TestResolveErrors(t *testing.T) {
	rr := []study.Workload{{Kind: "tcp_rr"}}
	for name, c := range map[string]struct {
		s    study.Study
		want string
	}{
		"no modes":     {study.Study{Workloads: rr}, "name at least one mode: under modes in the study, or with --modes"},
		"no workloads": {study.Study{Modes: study.ModesOf("host")}, "name at least one workload: under workloads in the study, or with --workloads"},
		"bad values": {study.Study{
			Name: "Z", Modes: study.ModesOf("host", "hots", "host"), Blocks: -1, Margin: 2, MaxTime: -5, Seed: study.MaxSeed + 1,
			Title: "\xff", Lab: study.Lab{MTU: 576}, Workloads: []study.Workload{
				{Kind: "tcp_rr", Streams: 2, Duration: quantity.Duration(time.Minute) * 61}, {Kind: "tcp_rr"}, {},
				{Kind: "tcp_stream", SendBuffer: quantity.Buffer(-2), ID: "b"},
			},
		}, `name is "Z"; want 1 to 64 lower-case letters, digits, _, . or -, starting with a letter or digit
title is "\xff"; want one line of at most 200 characters without control characters
seed is 9007199254740992; want a whole number from 1 to 9007199254740991
blocks is -1; want a whole number from 2 to 1000
margin is 2; want a number from 0.001 to 0.5
max_time is -5ns; want a duration of 1s to 720h, written with its unit, such as 1.5s
lab: mtu is 576; want a whole number from 1280 to 9000
unknown mode "hots"; did you mean "host"?
duplicate mode "host"
workloads[0]: duration is 1h1m; want a duration of 100ms to 1h, written with its unit, such as 1.5s
workloads[0]: tcp_rr does not take streams; allowed: id, workload, family, congestion_control, send_buffer, receive_buffer, placement, warmup, duration, duration_min, duration_max, every, times
duplicate workload "tcp_rr"; give one of them another id
workload without a name; want the key workload with tcp_stream, tcp_rr or udp_stream
workloads[3]: send_buffer is -2; want auto, or 4KiB to 1GiB, in bytes or with KiB, MiB or GiB`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := study.Resolve(c.s, studytest.Catalog())
			got := "no error"
			if err != nil {
				got = err.Error()
			}
			must.Equal(t, c.want, got)
		})
	}
}

func TestSeedFrom(t *testing.T) {
	for _, c := range []struct{ random, want uint64 }{
		{0, 1}, {1, 2}, {study.MaxSeed - 1, study.MaxSeed}, {study.MaxSeed, 1}, {1<<64 - 1, 2048},
	} {
		must.EqualFor(t, fmt.Sprintf("SeedFrom(%d) =", c.random), c.want, study.SeedFrom(c.random))
	}
}

// A bulk workload is driven in one piece over a slow underlay unless the study
// says otherwise; others keep their slices.
func TestRateLimitLeavesBulkWhole(t *testing.T) {
	cat := studytest.Catalog()
	cat.Workloads[0].Bulk = true
	for i := range cat.Workloads {
		cat.Workloads[i].Params = append(slices.Clone(cat.Workloads[i].Params), "slice")
		l := cat.Workloads[i].Lengths[study.Quick]
		l.Slice = quantity.Duration(10 * time.Millisecond)
		cat.Workloads[i].Lengths[study.Quick] = l
	}
	own := quantity.Duration(50 * time.Millisecond)
	s := study.Study{Modes: study.ModesOf("host"), Workloads: []study.Workload{
		{Kind: "tcp_stream"}, {Kind: "tcp_rr"}, {ID: "own", Kind: "tcp_stream", Slice: own, Warmup: quantity.WaitOf(own.Std())},
	}}
	for _, rate := range []quantity.Rate{0, 1e8} {
		s.Lab.Rate = rate
		got := must.Get(study.Resolve(s, cat))(t)
		bulk, rr, set := got.Workloads[0], got.Workloads[1], got.Workloads[2]
		whole := bulk.Slice == quantity.AtOnce && bulk.Warmup == quantity.WaitOf(study.BulkWarmup.Std())
		must.True(t, whole == (rate > 0), "rate %s: bulk has slice %s and warm-up %s", rate, bulk.Slice, bulk.Warmup)
		must.True(t, rr.Slice == quantity.Duration(10*time.Millisecond) && set.Slice == own && set.Warmup == quantity.WaitOf(own.Std()),
			"rate %s: slices %s and %s", rate, rr.Slice, set.Slice)
	}
}

// A limit of CPU time shows only in trials that take no turns; one of memory does in
// all of them.
func TestQuotaLeavesTrialsWhole(t *testing.T) {
	cat := studytest.Catalog()
	for i := range cat.Workloads {
		cat.Workloads[i].Params = append(slices.Clone(cat.Workloads[i].Params), "slice")
		l := cat.Workloads[i].Lengths[study.Quick]
		l.Slice = quantity.Duration(10 * time.Millisecond)
		cat.Workloads[i].Lengths[study.Quick] = l
	}
	own := quantity.Duration(50 * time.Millisecond)
	for _, c := range []struct {
		limit study.Limit
		want  quantity.Duration
	}{{study.Limit{CPUs: 0.5}, quantity.AtOnce}, {study.Limit{Memory: 64 << 20}, quantity.Duration(10 * time.Millisecond)}} {
		s := study.Study{
			Modes:     []study.Mode{{Mode: "host"}, {Mode: "docker/bridge", Limits: study.Limits{Server: c.limit}}},
			Workloads: []study.Workload{{Kind: "tcp_rr"}, {ID: "own", Kind: "tcp_rr", Slice: own}},
		}
		got := must.Get(study.Resolve(s, cat))(t)
		must.True(t, got.Workloads[0].Slice == c.want && got.Workloads[1].Slice == own, "%+v: slices %s and %s", c.limit, got.Workloads[0].Slice, got.Workloads[1].Slice)
	}
}

// Limits of the study hold for the modes that take them, key by key, and a baseline
// may have a name of its own.
func TestResolveModes(t *testing.T) {
	s := must.Get(study.Resolve(decode(t, `
limits: {client: {cpus: 2, memory: 64MiB}, server: {cpus: 0.5}}
modes:
  - docker/bridge
  - {mode: docker/bridge, id: less, limits: {client: {cpus: 0.25}}}
  - {mode: host, id: raw}
  - netns/bridge
  - vm/virtio
  - docker/network:My.Net
workloads: [tcp_rr]
`), studytest.Catalog()))(t)
	common := study.Limits{Client: study.Limit{CPUs: 2, Memory: 64 << 20}, Server: study.Limit{CPUs: 0.5}}
	less := common
	less.Client.CPUs = 0.25
	want := []study.Mode{
		{Mode: "docker/bridge", Limits: common}, {ID: "less", Mode: "docker/bridge", Limits: less}, {ID: "raw", Mode: "host"},
		{Mode: "netns/bridge"}, {Mode: "host-local"}, {Mode: "vm/virtio"}, {Mode: "docker/network:My.Net", Limits: common},
	}
	must.Equal(t, want, s.Modes)
	must.Equal(t, []string{"docker/bridge", "less", "raw", "netns/bridge", "host-local", "vm/virtio", "docker/network:My.Net"}, s.ModeNames())
	for mode, name := range map[string]string{"host": "raw", "docker/bridge": "docker/bridge", "": "", "other": "other"} {
		must.EqualFor(t, fmt.Sprintf("%q is called", mode), name, s.NameOf(mode))
	}
}

// A study of more trials than a report is made for is refused, with what to reduce.
func TestTooManyTrials(t *testing.T) {
	const two = "host, netns/bridge"
	many := func(modes string, blocks, workloads int) string {
		text := fmt.Sprintf("blocks: %d\nmodes: [%s]\nworkloads:\n", blocks, modes)
		for i := range workloads {
			text += fmt.Sprintf("  - {workload: tcp_rr, id: w%d}\n", i)
		}
		return text
	}
	for _, c := range []struct {
		modes             string
		blocks, workloads int
		want              string
	}{
		{two, 1000, 25, ""},
		{two, 1000, 26, "the study has 52000 trials (2 modes x 26 workloads x 1000 blocks), more than the maximum of 50000: set at most 961 blocks, or fewer modes or workloads"},
		{two + ", netns/macvlan", 3, 3334, "the study has 3 modes and 3334 workloads, 10002 pairs of them, more than the maximum of 10000: set fewer modes or workloads"},
		{two, 1000, 1000, "the study has 2000000 trials (2 modes x 1000 workloads x 1000 blocks), more than the maximum of 50000: set at most 25 blocks, or fewer modes or workloads"},
	} {
		_, err := study.Resolve(decode(t, many(c.modes, c.blocks, c.workloads)), studytest.Catalog())
		got := fmt.Sprint(err)
		must.True(t, (c.want != "" || err == nil) && (c.want == "" || got == c.want), "%d blocks of %d workloads: %s", c.blocks, c.workloads, got)
	}
	// Rates, verifications and the cost pass count; a workload only in its own blocks.
	s := study.Study{
		Blocks: 10, Modes: study.ModesOf("host", "netns/bridge"), CostPass: study.CostPass{Rate: quantity.PassAuto, FromBlock: 2, Every: 3},
		Workloads: []study.Workload{{Kind: "tcp_stream", VerifyWith: "iperf3"}, {Kind: "tcp_rr", Every: 4, Times: 2}, {Kind: "udp_sweep", Rates: quantity.Rates{1e6, 2e6, 3e6}}},
	}
	got, want := s.Trials(), 2*(2*10+2+3*10+3)
	must.True(t, got == want, "%d trials, want %d", got, want)
}
