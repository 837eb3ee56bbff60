//go:build linux

package runner_test

import (
	"context"
	"slices"
	"testing"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/warning"
)

// probed is a driver whose modes have a probe that finds something. It counts the probes of each mode.
type probed struct {
	netns.Driver
	times map[string]int
}

func (d probed) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	p, err := d.Driver.Provision(ctx, o)
	if err == nil && o.Mode != "host" {
		p.Probe = func(ctx context.Context, client, server *agent.Client) ([]result.Fact, []result.Warning) {
			d.times[o.Name]++
			device, _, err := client.Route(ctx, p.Pairs[0].Server.Dial[0].Addr())
			if err != nil || server.Err() != nil {
				device = "no agent"
			}
			return []result.Fact{{Name: "not probed", Value: device}}, []result.Warning{warning.New(warning.LargePacketsLost, o.Mode, "packets are lost")}
		}
	}
	return p, err
}

// A path is probed once, before its first trial, by the agents of the trials. What is found is told under the study's name of the mode, and
// the mode is measured all the same.
func TestProbedOnce(t *testing.T) {
	t.Parallel()
	d := probed{times: map[string]int{}}
	run, trials := runStudy(t.Context(), t, d, []string{"host", "netns/bridge"}, func(s *study.Study) {
		s.Modes[1].ID, s.Blocks, s.Recreate = "mine", 2, study.RecreateEvery(1)
	}, nil)
	m := modeOf(t, run, "mine")
	must.Equal(t, map[string]int{"mine": 1}, d.times)
	must.Equal(t, []any{result.ModeMeasured, 4}, []any{m.Status, len(trials)})
	var facts []string
	for _, f := range m.Facts {
		if f.Name == "not probed" {
			facts = append(facts, f.Value)
		}
	}
	must.Equal(t, []string{"eth0"}, facts)
	found := slices.DeleteFunc(run.Warnings, func(w result.Warning) bool { return w.Code != string(warning.LargePacketsLost) })
	must.True(t, len(found) == 1 && found[0].Scope == "mine", "warnings %+v", found)
}
