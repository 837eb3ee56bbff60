package study

import (
	"strings"

	"tare/internal/result"
	"tare/internal/study/quantity"
)

// The blocks of a sensitivity pass: the first, and then every second, as many as an interval needs and no more.
const (
	sensitivityEvery = 2
	sensitivityTimes = 8
)

// Varied is a workload of a sensitivity pass: another one of the study with one setting of the generator changed.
type Varied struct {
	Workload        // named Of~setting; it runs in a share of the blocks
	Of       string // the name of the workload that it varies
	Text     string // the changed setting, such as "buffers of 256KiB"
}

// Sensitivities are the workloads of the sensitivity pass of a resolved study, none if it has no such pass. What a workload
// takes of the sizes of the generator's writes and buffers and of the placement of client and server is varied, one setting
// at a time. Left out are sweeps, searches, workloads with a rate, and those of external tools.
func (s Study) Sensitivities() []Varied {
	var all []Varied
	if s.Sensitivity != On {
		return nil
	}
	for _, w := range s.Workloads {
		if !w.variable() {
			continue
		}
		add := func(setting, text string, change func(*Workload)) {
			one := w
			change(&one)
			one.ID, one.VerifyWith, one.Every, one.Times = result.Varied(w.Name(), setting), "", sensitivityEvery, sensitivityTimes
			one.DurationMin, one.DurationMax = 0, 0
			all = append(all, Varied{one, w.Name(), text})
		}
		if w.WriteSize > 0 {
			size := other(w.WriteSize, 16<<10, 128<<10)
			add("write_size", "writes of "+size.String(), func(w *Workload) { w.WriteSize = size })
			buffer := quantity.Buffer(other(w.SendBuffer.Bytes, 256<<10, 1<<20))
			add("buffers", "buffers of "+buffer.String(), func(w *Workload) { w.SendBuffer, w.ReceiveBuffer = buffer, buffer })
		}
		// Client and server on two machines have cores of their own in any case.
		if at := other(w.Placement, TwoCores, OneCore); w.Placement != Free && len(s.Hosts) == 0 && s.Cluster == nil {
			add(at, strings.ReplaceAll(at, "_", " "), func(w *Workload) { w.Placement = at })
		}
	}
	return all
}

// variable reports whether a sensitivity pass varies the workload.
func (w Workload) variable() bool {
	_, several := w.Concurrency()
	return (w.Tool == "" || w.Tool == BuiltIn) && w.Placement != "" && len(several) == 0 && len(w.Rates) == 0 && len(w.LossGoals) == 0 &&
		(w.Rate == 0 || w.Rate == quantity.Unlimited) && w.PacketRate == 0 && w.TransactionRate == 0
}

// other is the first of two settings that is not the one that a workload has.
func other[T comparable](has, first, second T) T {
	if has == first {
		return second
	}
	return first
}
