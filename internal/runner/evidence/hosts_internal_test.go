package evidence

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/observe/netstack"
	"tare/internal/plan"
)

// What the machines of two ends were short of is one record: of two machines what was
// worse, of one machine what it says, and nothing where nothing could be read.
func TestPressureOfEnds(t *testing.T) {
	read := func(boot, available, stalled string) netstack.Reading {
		return netstack.Reading{Boot: boot, Pressure: map[string]string{"meminfo": "MemAvailable: " + available + " kB\n", "pressure/cpu": "some total=" + stalled + "\n"}}
	}
	at := time.Unix(1000, 0)
	tests := []struct {
		name          string
		before, after hostsRead
		want          map[string]float64
	}{
		{
			"two machines", hostsRead{map[string]netstack.Reading{"a": read("x", "8", "0"), "b": read("y", "4", "0")}, at}, hostsRead{map[string]netstack.Reading{"a": read("x", "8", "2000000"), "b": read("y", "9", "1000000")}, at.Add(4 * time.Second)},
			map[string]float64{"pressure_cpu": 2, "memory_available": 4096, figureEnds: 4},
		},
		{
			"one machine", hostsRead{map[string]netstack.Reading{"a": read("x", "8", "0"), "b": read("x", "4", "0")}, at}, hostsRead{map[string]netstack.Reading{"a": read("x", "8", "1000000"), "b": read("x", "4", "5000000")}, at.Add(time.Second)},
			map[string]float64{"pressure_cpu": 1, "memory_available": 8192, figureEnds: 1},
		},
		{
			"one end that could not", hostsRead{map[string]netstack.Reading{"b": read("y", "4", "0")}, at}, hostsRead{map[string]netstack.Reading{"a": read("x", "8", "0"), "b": read("y", "4", "1000000")}, at.Add(time.Second)},
			map[string]float64{"pressure_cpu": 1, "memory_available": 4096, figureEnds: 1},
		},
		{"neither could", hostsRead{at: at}, hostsRead{at: at.Add(time.Second)}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			one := trialOf(Config{}, mode{}, plan.Trial{})
			one.pressure(tt.before, tt.after)
			if d := cmp.Diff(tt.want, one.Record.Machine); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
