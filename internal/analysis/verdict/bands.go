package verdict

import (
	"tare/internal/analysis/readings"
	"tare/internal/result"
	"tare/internal/stats"
)

// fewestForBands is the number of blocks from which on two bands are claimed. Of noise of
// 10 % without bands, [stats.TwoBands] flags 1.4 % of samples of 4 and 0.004 % of samples
// of 10; of two levels 40 % apart it finds 3 of 8 with 4 values and more than 17 of 20
// with 10 (TestTwoBandsFalseAlarms, TestTwoBandsFinds). benchstat and hyperfine ask for
// 10 runs, too.
const fewestForBands = 10

// levels are the two bands of a cell: of its ratios to the baseline, or of its values.
type levels struct {
	stats.Bands
	ratio bool
}

func bandsOf(rs []readings.Reading) (stats.Bands, bool) {
	if len(rs) < fewestForBands {
		return stats.Bands{}, false
	}
	return stats.TwoBands(readings.Plain(rs))
}

// findBands looks for cells whose blocks form two bands. A mode is judged by its ratios to
// the baseline, block by block, in which a drift that the trials of a block share cancels.
// A baseline has bands only if its own values form two and so do the ratios of every mode
// that is compared with it. A cell that is compared with nothing, or not in blocks, is
// judged by its values.
func (f *Family) findBands() {
	f.bands = make([]*levels, len(f.cells))
	compared, banded := map[int]int{}, map[int]int{}
	for i := range f.cells {
		base := f.baseOf(i)
		if base < 0 || f.rule.Pairing != PairBlocks {
			continue
		}
		compared[base]++
		if b, ok := bandsOf(readings.Ratios(f.values[i], f.values[base])); ok {
			banded[base]++
			f.bands[i] = &levels{b, true}
			// In the metric's unit: the ratios, at the mean of the baseline.
			at := geoMean(f.values[i], f.values[base])
			f.cells[i].Bands = &result.Bands{Low: result.Band{N: b.Low.N, Value: b.Low.Value * at}, High: result.Band{N: b.High.N, Value: b.High.Value * at}}
		}
	}
	for i := range f.cells {
		if f.rule.Pairing == PairBlocks && f.baseOf(i) >= 0 || banded[i] < compared[i] {
			continue
		}
		if b, ok := bandsOf(f.values[i]); ok {
			f.bands[i] = &levels{Bands: b}
			f.cells[i].Bands = &result.Bands{Low: result.Band(b.Low), High: result.Band(b.High)}
		}
	}
}

// geoMean is the geometric mean of the baseline's values in the blocks that both have.
func geoMean(own, base []readings.Reading) float64 {
	_, b := readings.Common(own, base)
	e, err := stats.GeoMeanInterval(readings.Plain(b), 0.95)
	if err != nil {
		return 0 // a ratio has no bands with a 0 below it
	}
	return e.Value
}
