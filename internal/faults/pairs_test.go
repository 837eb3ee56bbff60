//go:build linux

package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testns"
)

// pairsText is a study with pairs of endpoints in two modes, all of which exist at once; those
// of one mode have traffic at a time.
func pairsText(pairs int) string {
	return fmt.Sprintf("name: pairs\nseed: 1\nblocks: 2\nsettle: 10ms\nmodes: [host, netns/bridge]\ninvalid: {steal: off, others: off, cpu_wait: off, unsettled: off, most: off}\n"+
		"workloads:\n  - {workload: tcp_rr, pairs: %d, request_size: 32KiB, response_size: 32KiB, warmup: 50ms, duration: 1s}\n", pairs/2)
}

// Many endpoints start, measure and end, and each needs as much memory and CPU time as where
// there are few.
func TestFaultsPairs(t *testing.T) {
	if !onMachine(t) {
		return
	}
	before := take(t)
	type cost struct{ memory, cpu float64 } // of an endpoint: bytes, seconds
	var costs []cost
	fmt.Printf("\n| pairs at once | set-up to end | memory of all agents | per endpoint | memory of the controller | CPU time of the run | per endpoint |\n|---|---|---|---|---|---|---|\n")
	for _, pairs := range []int{*pairsAtMost / 4, *pairsAtMost / 2, *pairsAtMost} {
		pairs = pairs / 2 * 2
		began := time.Now()
		r := &tested{t: t, home: filepath.Join(testns.Scratch, fmt.Sprint("pairs-", pairs)), rng: rand.New(rand.NewPCG(1, 0))}
		r.out = filepath.Join(r.home, "run")
		must.Do(t, os.Mkdir(r.home, 0o755))
		must.Do(t, os.WriteFile(filepath.Join(r.home, "study.yaml"), []byte(pairsText(pairs)), 0o644))
		r.start(r.args()...)
		endpoints, most, agents, controller := 2*pairs, 0, 0, 0
		r.until(func() bool {
			all := r.ours(isAgent)
			most = max(most, len(all))
			sum := 0
			for _, p := range all {
				sum += memory(p.pid)
			}
			agents, controller = max(agents, sum), max(controller, memory(r.cmd.Process.Pid))
			pause()
			return false
		})
		if code := r.wait(); code != 0 {
			t.Fatalf("%d pairs: exit code %d\n%s%s", pairs, code, r.stderr(), failures(t, r.out))
		}
		took := time.Since(began)
		if most < endpoints {
			t.Errorf("%d agents ran at once, want %d", most, endpoints)
		}
		_, trials := must.Get2(read(r.out))(t)
		measured := map[string]bool{}
		for _, tr := range trials {
			if tr.Status == result.TrialOK && len(tr.Pairs) == pairs/2 {
				measured[fmt.Sprint(tr.Block, tr.Mode)] = true
			}
		}
		if len(measured) != 4 {
			t.Errorf("%d pairs: %d of 4 trials have the values of all pairs\n%s", pairs, len(measured), failures(t, r.out))
		}
		must.EqualFor(t, fmt.Sprintf("%d pairs left", pairs), "", before.settled(t))
		cpu := r.cmd.ProcessState.UserTime() + r.cmd.ProcessState.SystemTime() // with its agents'
		c := cost{float64(agents) / float64(endpoints), cpu.Seconds() / float64(endpoints)}
		costs = append(costs, c)
		fmt.Printf("| %d | %.1f s | %.0f MB | %.1f MB | %.0f MB | %.1f s | %.0f ms |\n", pairs, took.Seconds(), float64(agents)/1e6, c.memory/1e6, float64(controller)/1e6, cpu.Seconds(), 1e3*c.cpu)
	}
	fmt.Println()
	first, last := costs[0], costs[len(costs)-1]
	const linear = 1.5 // neither doubles with four times as many
	if last.memory > linear*first.memory || last.cpu > linear*first.cpu {
		t.Errorf("an endpoint needs %.1f MB and %.0f ms among few, %.1f MB and %.0f ms among many", first.memory/1e6, 1e3*first.cpu, last.memory/1e6, 1e3*last.cpu)
	}
}
