package model

import (
	"math"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

func TestPrice(t *testing.T) {
	cost, _ := result.MetricNamed("cpu_cost_transactions")
	cell := func(v result.Verdict, ratio float64) result.Cell {
		return result.Cell{Baseline: "host", Judgement: result.Judgement{Verdict: v, Ratio: &ratio, RatioCI: &result.Interval{ratio - 0.02, ratio + 0.02}, Margin: 0.05}}
	}
	for want, c := range map[string]result.Cell{
		"costs 1.40 (1.38-1.42) times host's CPU per 1000 transactions":                                cell(result.Worse, 1.4),
		"costs 0.70 (0.68-0.72) of host's CPU per 1000 transactions":                                   cell(result.Better, 0.7),
		"costs the same CPU per 1000 transactions within 5 %":                                          cell(result.Same, 1),
		"costs 1.03 (1.01-1.05) times host's CPU per 1000 transactions, a difference of less than 5 %": cell(result.Small, 1.03),
		"cannot be told from host by CPU cost (between -1.0 % and +3 %)":                               cell(result.CannotTell, 1.01),
		"": {Baseline: "host", Judgement: result.Judgement{Verdict: result.CannotTell}},
	} {
		s := Sentence{}
		must.Equal(t, want, s.costText(Table{Metric: cost}, c))
	}
}

// A row without a value says how many trials it has.
func TestVerdictWithoutValue(t *testing.T) {
	trial := result.Trial{Block: 1, Mode: "host", Workload: "udp_search", Status: result.TrialOK}
	r := Row{Metric: "throughput_0", Trials: []*result.Trial{&trial}}
	must.Equal(t, "no value from 1 valid trial", r.Verdict())
}

func TestTogether(t *testing.T) {
	got := together([]result.Fact{result.Deciding("a engine", "20"), {Name: "a runc", Value: "1"}, result.Deciding("b engine", "20"), {Name: "b runc", Value: "2"}, {Name: "mtu", Value: "1500"}},
		[]result.Host{{Name: "a"}, {Name: "b"}})
	want := []result.Fact{result.Deciding("engine", "20"), {Name: "a runc", Value: "1"}, {Name: "b runc", Value: "2"}, {Name: "mtu", Value: "1500"}}
	must.Equal(t, want, got)
}

func TestSeen(t *testing.T) {
	for want, ds := range map[string][]float64{
		"Smallest change this could show: 5 %.":                                    {0.05, 0.05},
		"Smallest change this could show: 5 % to > 1000 %, depending on the mode.": {7038, 0.05},
		"Smallest change this could show: 4.7 % to 1000 %, depending on the mode.": {0.047, 10},
		"": {math.Inf(1)},
	} {
		var tab Table
		for _, d := range ds {
			tab.Groups = append(tab.Groups, Group{Rows: []Row{{Cell: &result.Cell{Judgement: result.Judgement{Detectable: &d}}}}})
		}
		must.Equal(t, want, tab.Seen())
	}
}

// No loss at a load that the sender did not offer is no statement about that load.
func TestKneeOfShortSender(t *testing.T) {
	zero, lost := &result.Cell{Value: new(0.0)}, &result.Cell{Value: new(0.02)}
	rows := func(short string, cells ...*result.Cell) (out []sweepRow) {
		for i, c := range cells {
			out = append(out, sweepRow{Rate: []string{"1Gbit/s", "2Gbit/s", "4Gbit/s"}[i], Loss: []string{"x"}, cells: []*result.Cell{c}, short: []bool{short[i] == 's'}})
		}
		return out
	}
	for _, c := range []struct {
		rows         []sweepRow
		brief, words string
	}{
		{rows("...", zero, zero, zero), "no loss up to 4Gbit/s", "loses nothing up to 4Gbit/s in s"},
		{rows(".s.", zero, zero, zero), "no loss up to 1Gbit/s, the sender did not reach 2Gbit/s", "loses nothing up to 1Gbit/s in s; the sender did not reach 2Gbit/s"},
		{rows("sss", zero, zero, zero), "the sender did not reach 1Gbit/s", "lost nothing in s, but the sender did not reach 1Gbit/s"},
		{rows(".ss", zero, zero, lost), "no loss up to 1Gbit/s, x % at 4Gbit/s", "loses from 4Gbit/s on in s (x % there)"},
		{rows("...", lost, zero, zero), "x % at 1Gbit/s", "loses from 1Gbit/s on in s (x % there)"},
		{rows("...", nil, nil, nil), "", ""},
	} {
		s := Sweep{ID: "s", Modes: []string{"m"}, Rows: c.rows}
		k, _ := s.Knee("m")
		must.Equal(t, []string{c.brief, c.words}, []string{k.Brief(), s.Words("m")})
	}
}

func TestTieSentences(t *testing.T) {
	for want, r := range map[string]result.Ranking{
		"all 3 modes can be told apart.":                     {Modes: []result.Ranked{{Mode: "a", Letters: "a"}, {Mode: "b", Letters: "b"}, {Mode: "c", Letters: "c"}}},
		"a, b and c cannot be told apart.":                   {Modes: []result.Ranked{{Mode: "a", Letters: "a"}, {Mode: "b", Letters: "a"}, {Mode: "c", Letters: "a"}}},
		"a and b cannot be told apart; neither can b and c.": {Modes: []result.Ranked{{Mode: "a", Letters: "a"}, {Mode: "b", Letters: "ab"}, {Mode: "c", Letters: "b"}, {Mode: "d", Letters: "c"}}},
		"a and b cannot be told apart; neither can b and c; neither can c and d; neither can d and e; the column of letters has 1 more set.": {Modes: []result.Ranked{
			{Mode: "a", Letters: "a"}, {Mode: "b", Letters: "ab"}, {Mode: "c", Letters: "bc"}, {Mode: "d", Letters: "cd"}, {Mode: "e", Letters: "de"}, {Mode: "f", Letters: "e"},
		}},
		"a, b, c, d and 2 more cannot be told apart.": {Modes: []result.Ranked{
			{Mode: "a", Letters: "a"}, {Mode: "b", Letters: "a"}, {Mode: "c", Letters: "a"}, {Mode: "d", Letters: "a"}, {Mode: "e", Letters: "a"}, {Mode: "f", Letters: "a"},
		}},
		"the modes are not ranked: 60 modes are too many.":               {Reason: "60 modes are too many"},
		"the ties between the 3 modes take more letters than there are.": {Modes: []result.Ranked{{Mode: "a"}, {Mode: "b"}, {Mode: "c"}}},
	} {
		must.Equal(t, want, tieSentence(r))
	}
	got := UnrankedNotes(result.Ranking{Unranked: []result.Unranked{{Mode: "a", Reason: "2 values, fewer than 3"}, {Mode: "b", Reason: "a value of 0"}, {Mode: "c", Reason: "2 values, fewer than 3"}}})
	must.Equal(t, []string{"a and c are not ranked: 2 values, fewer than 3.", "b is not ranked: a value of 0."}, got)
}
