package evidence

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/observe/drops"
	"tare/internal/observe/netstack"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// lossInput is what was read around a trial of a real lab that lost datagrams, in testdata/losses: the
// counters that changed, of every network stack of its path, what the endpoints counted, and the
// kernel's drop reasons. That of conntrack was recorded in a guest, by TestGuestFullTracking of the runner.
type lossInput struct {
	Mode, Workload string
	Pairs          []struct{ Client, Server string }
	Accounts       []Account
	Stacks         []struct {
		Name          string
		Shared        bool
		Before, After netstack.Reading
	}
	Drops drops.FlowDrops
}

// trial is a trial of which the recorded counters and drop reasons were read.
func (in lossInput) trial(t *testing.T, asked study.Evidence) *Trial {
	t.Helper()
	path := &driver.Path{Hosts: labdriver.Hosts()}
	for _, p := range in.Pairs {
		path.Pairs = append(path.Pairs, driver.Pair{Client: driver.Endpoint{Stack: p.Client}, Server: driver.Endpoint{Stack: p.Server}})
	}
	for _, s := range in.Stacks {
		next := []netstack.Reading{s.Before, s.After}
		path.Stacks = append(path.Stacks, driver.NetworkStack{Name: s.Name, Shared: s.Shared, Read: func(context.Context) (netstack.Reading, error) {
			r := next[0]
			next = next[1:]
			return r, nil
		}})
	}
	cfg := Config{Asked: asked, Hosts: labdriver.Hosts(), OpenDrops: func() (DropWatcher, error) { return &fakeDrops{reads: []drops.FlowDrops{in.Drops}}, nil }}
	one := trialOf(cfg, mode{path: path}, plan.Trial{Workload: study.Workload{Kind: in.Workload}})
	one.observer.WatchDrops()
	one.ReadStacksBefore(t.Context())
	one.observer.recordDrops([]*Trial{one}, func() {
		one.ReadStacksAfter(t.Context())
		one.AttributeLosses(in.Accounts, "")
	})
	return one
}

func readLosses(t *testing.T, name string) (in lossInput) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "losses", name+".json"))
	if err == nil {
		err = json.Unmarshal(data, &in)
	}
	must.Do(t, err)
	return in
}

// Seven causes of loss, each recorded in a run that provoked it: the losses are attributed to the
// place where they were dropped, and the kernel's drop reasons name that place, too.
func TestRecordedLosses(t *testing.T) {
	place := func(place, where, counter string, n int64) result.LossPlace {
		return result.LossPlace{Place: place, Where: where, Counter: counter, Count: n}
	}
	for name, c := range map[string]struct {
		lost, unexplained int64
		places            []result.LossPlace
		reason            string // the most frequent one
	}{
		"receive-buffer": {38935, 0, []result.LossPlace{place(result.PlaceReceive, "b", "SO_MEMINFO drops", 38935)}, "SOCKET_RCVBUFF"},
		"rate-limit":     {3091, 0, []result.LossPlace{place(result.PlaceQdisc, "a", "qdisc/eth0 tbf.drops", 3091)}, "QDISC_DROP"},
		// A packet that is not of the trial was dropped, too.
		"backlog": {12965, -1, []result.LossPlace{place(result.PlaceBacklog, "b", "softnet.dropped, dev/eth0.rx_dropped", 12966)}, "CPU_BACKLOG"},
		// Half of them by a rule that counts, the other half by one that does not.
		"firewall": {1702, 0, []result.LossPlace{
			place(result.PlaceNetfilter, "b", "rule/inet spoil c 2.packets", 851), place(result.PlaceNetfilter, "b", "vanished within IP", 851)}, "NETFILTER_DROP"},
		"dns":       {400, 0, []result.LossPlace{place(result.PlaceNetfilter, "b", "rule/inet spoil c 2.packets", 400)}, "NETFILTER_DROP"},
		"conntrack": {2999, 0, []result.LossPlace{place(result.PlaceNetfilter, "b", "conntrack.drop", 2999)}, "NETFILTER_DROP"},
		"generator": {0, 0, nil, ""}, // what was never sent is no loss
	} {
		t.Run(name, func(t *testing.T) {
			in := readLosses(t, name)
			got := in.trial(t, study.Evidence{}).Record.Losses
			must.Require(t, got != nil && got.Lost == c.lost && got.Lost == got.Sent-got.Received && got.Unexplained == c.unexplained,
				"losses %+v, want %d, %d of them unexplained", got, c.lost, c.unexplained)
			must.Equal(t, c.places, got.Places)
			if d := cmp.Diff(in.Drops.Reasons, got.Reasons); d != "" && c.reason != "" {
				t.Errorf("reasons (-want +got):\n%s", d)
			}
			if c.reason == "" {
				return
			}
			if r := got.Reasons[0]; r.Reason != c.reason || drops.Place(r) != c.places[0].Place {
				t.Errorf("the reason %+v is of the place %s, want %s of %s", r, drops.Place(r), c.reason, c.places[0].Place)
			}
			if without := in.trial(t, study.Evidence{Drops: study.Off}).Record.Losses; without.Reasons != nil || len(without.Places) != len(c.places) {
				t.Errorf("without drop reasons: %+v", without)
			}
			must.EqualFor(t, "without counters", (*result.Losses)(nil), in.trial(t, study.Evidence{Counters: study.Off}).Record.Losses)
		})
	}
}

// Where others use a network stack, a counter that may be theirs explains no more than is missing.
func TestSharedStackExplainsNoMore(t *testing.T) {
	for shared, want := range map[bool]int64{false: 3091, true: 1000} {
		in := readLosses(t, "rate-limit")
		in.Stacks[0].Shared = shared
		in.Accounts[0].Server.Received = in.Accounts[0].Client.Sent - 1000
		if got := in.trial(t, study.Evidence{}).Record.Losses; len(got.Places) != 1 || got.Places[0].Count != want {
			t.Errorf("shared %t: %+v, want %d", shared, got, want)
		}
	}
}

// Without the counts of a generator nothing is attributed, and a trial over TCP has no losses.
func TestUnknownLosses(t *testing.T) {
	one := readLosses(t, "rate-limit").trial(t, study.Evidence{})
	one.AttributeLosses(nil, "the tool counts nothing")
	if l := one.Record.Losses; l.Lost != 0 || l.Places != nil || !slices.Equal(l.Missing, []string{"the tool counts nothing"}) {
		t.Errorf("losses %+v", l)
	}
	in := readLosses(t, "rate-limit")
	in.Workload = "tcp_stream"
	must.EqualFor(t, "of TCP", (*result.Losses)(nil), in.trial(t, study.Evidence{}).Record.Losses)
}

// Losses that no counter shows are noted from 10 datagrams and 1 % on, with what to do.
func TestNoteUnexplained(t *testing.T) {
	reasons := []result.DropReason{{Reason: "QDISC_DROP", Count: 1}}
	for _, c := range []struct {
		losses *result.Losses
		want   string
	}{
		{nil, ""}, {&result.Losses{Lost: 20, Unexplained: 9}, ""}, {&result.Losses{Lost: 1000, Unexplained: 10}, ""},
		{&result.Losses{Lost: 999, Unexplained: 10}, "10 of 999 lost datagrams (1 %) were dropped; turn on the kernel's drop reasons"},
		{&result.Losses{Lost: 100, Unexplained: 50, Reasons: reasons}, "50 of 100 lost datagrams (50 %) were dropped; the trial has the kernel's drop reasons"},
	} {
		one := trialOf(Config{}, mode{}, plan.Trial{})
		one.Record.Losses = c.losses
		one.NoteUnexplained()
		if n := one.Record.Notes; len(n) > 1 || (len(n) == 1) != (c.want != "") || c.want != "" && !strings.Contains(n[0].Text, c.want) {
			t.Errorf("%+v: notes %v, want %q", c.losses, n, c.want)
		}
	}
}

// The TCP counters of an endpoint are those of its own stack, unless others use it.
func TestTCPMoved(t *testing.T) {
	in := lossInput{Workload: "tcp_stream", Pairs: []struct{ Client, Server string }{{"a", "b"}}}
	data := `[{"Name": "a", "Before": {"counters": {"Tcp.RetransSegs": 5, "TcpExt.TCPTimeouts": 1, "Udp.InDatagrams": 1}},
		"After": {"counters": {"Tcp.RetransSegs": 8, "TcpExt.TCPTimeouts": 3, "Udp.InDatagrams": 2}}},
		{"Name": "b", "Shared": true, "Before": {"counters": {"Tcp.RetransSegs": 5}}, "After": {"counters": {"Tcp.RetransSegs": 9}}}]`
	must.Do(t, json.Unmarshal([]byte(data), &in.Stacks))
	one := in.trial(t, study.Evidence{})
	must.Equal(t, map[string]uint64{"Tcp.RetransSegs": 3, "TcpExt.TCPTimeouts": 2}, one.TCPMoved(0, "client"))
	if got := one.TCPMoved(0, "server"); got != nil {
		t.Errorf("of a stack that others use: %v", got)
	}
	must.Equal(t, map[string]int64{"timeout": 2, "other": 1}, one.Retransmits(1, "client"))
}

// fakeDrops is a watcher and its session, which reads what it is told to and notes its calls.
type fakeDrops struct {
	reads []drops.FlowDrops
	fails error
	calls []string
}

func (f *fakeDrops) call(what string) error {
	f.calls = append(f.calls, what)
	return f.fails
}
func (f *fakeDrops) Start(flows int) (DropSession, error) {
	f.calls = append(f.calls, "start "+strings.Repeat("|", flows))
	return f, nil
}
func (f *fakeDrops) Set(flow int, of drops.Flow) error {
	return f.call("set " + of.Ends[0].String() + strings.Repeat("|", flow+1))
}
func (f *fakeDrops) Turn(flow int) error                    { return f.call("turn " + strings.Repeat("|", flow+1)) }
func (f *fakeDrops) Read(flow int) (drops.FlowDrops, error) { return f.reads[flow], f.fails }
func (f *fakeDrops) Stop() error                            { return f.call("stop") }
func (f *fakeDrops) Close() error                           { return f.call("close") }

// Drops are attributed to the trial whose slice it is, and what could not be read is told with it.
func TestDropsOfInterleavedTrials(t *testing.T) {
	var warnings told
	fake := &fakeDrops{reads: []drops.FlowDrops{
		{Reasons: []result.DropReason{{Reason: "QDISC_DROP", Count: 3}}}, {Reasons: []result.DropReason{{Reason: "NETFILTER_DROP", Count: 7}}, Missing: "the table is full"},
	}}
	o := New(Config{Hosts: labdriver.Hosts(), Warn: warnings.warn, OpenDrops: func() (DropWatcher, error) { return fake, nil }})
	o.WatchDrops()
	var group []*Trial
	for range 2 {
		one := o.Trial(plan.Trial{Workload: study.Workload{Kind: "udp_stream"}}, mode{path: &driver.Path{IgnoredDropReasons: []string{"NETFILTER_DROP"}}}, &result.Trial{}, func() bool { return false })
		one.Record.Losses = &result.Losses{Lost: 3, Unexplained: 3}
		group = append(group, one)
	}
	o.ObserveGroup(t.Context(), group, func() {
		for _, one := range group {
			one.WatchEndpoints([]netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:5")})
		}
		group[0].BeginSlice()
		fake.fails = errors.New("gone")
		group[1].BeginSlice()
		fake.fails = nil
		for _, one := range group {
			one.addDropReasons()
		}
	})
	must.Do(t, o.Close())
	must.Equal(t, "start ||, set 10.0.0.1:5|, set 10.0.0.1:5||, turn |, turn ||, stop, close", strings.Join(fake.calls, ", "))
	first, second := group[0].Record.Losses, group[1].Record.Losses
	must.True(t, len(first.Reasons) == 1 && first.Reasons[0].Count == 3 && first.Missing == nil, "the first trial has %+v", first)
	// The second mode uses that reason for packets that its own process has received.
	must.True(t, len(second.Reasons) == 0 && len(second.Missing) == 3 && second.Missing[0] == "gone" && second.Missing[2] == "the table is full", "the second trial has %+v", second)
	fake.fails = errors.New("gone")
	ran := false
	o.recordDrops(group, func() { ran = true })
	group[0].addDropReasons()
	must.True(t, ran && len(warnings) == 1 && strings.HasSuffix(warnings[0].Text, ": gone") && group[0].Record.Losses.Missing != nil,
		"ran %t, warnings %v, %+v", ran, warnings, group[0].Record.Losses)
}

// A run without drop reasons says why once, unless nobody asked for them.
func TestNoDropReasons(t *testing.T) {
	here, refused := labdriver.Hosts(), func() (DropWatcher, error) { return nil, errors.New("not permitted") }
	for name, c := range map[string]struct {
		cfg  Config
		want string
	}{
		"not asked":    {Config{Asked: study.Evidence{Drops: study.Off}, Hosts: here}, ""},
		"no counters":  {Config{Asked: study.Evidence{Counters: study.Off}, Hosts: here}, ""},
		"elsewhere":    {Config{Hosts: []driver.Host{{Name: "a"}}}, "the path is on other machines"},
		"no privilege": {Config{Hosts: here, OpenDrops: refused}, "cannot read drop reasons: not permitted"},
	} {
		var warnings told
		c.cfg.Warn = warnings.warn
		o := New(c.cfg)
		o.WatchDrops()
		if (len(warnings) == 1) != (c.want != "") || c.want != "" && !strings.Contains(warnings[0].Text, c.want) || o.drops != nil {
			t.Errorf("%s: warnings %v, want %q", name, warnings, c.want)
		}
	}
}
