package synthetic

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"tare/internal/result"
	"tare/internal/store"
)

// Many are runs of one study, one an hour. Each has the results of the same trials, with
// a ratio that varies from run to run.
type Many struct {
	Shape
	Runs   int
	Spread float64 // relative standard deviation of the ratios
	// Step multiplies the ratios of all modes from run From on; no step if it is 0.
	Step float64
	From int
}

// Write writes the directories of the runs, without trials, into a directory. Their names
// sort by time.
func (m Many) Write(dir string) error {
	whole := filepath.Join(dir, ".whole")
	if err := m.Shape.Write(whole); err != nil {
		return err
	}
	d, err := store.Open(whole)
	if err != nil {
		return err
	}
	run, _, err := d.Load()
	if err = errors.Join(err, d.Close(), os.RemoveAll(whole)); err != nil {
		return fmt.Errorf("write synthetic runs: %w", err)
	}
	rnd := rand.New(rand.NewPCG(m.Seed, 2))
	for i := range m.Runs {
		if err := m.write(dir, run, i, rnd); err != nil {
			return fmt.Errorf("write synthetic runs: %w", err)
		}
	}
	return nil
}

func (m Many) write(dir string, run result.Run, i int, rnd *rand.Rand) error {
	run.ID = fmt.Sprintf("%08x", i)
	run.Started, run.Finished = run.Started.Add(time.Duration(i)*time.Hour), run.Finished.Add(time.Duration(i)*time.Hour)
	cells := make([]result.Cell, len(run.Cells))
	for k, c := range run.Cells {
		if c.Ratio != nil {
			by := math.Exp(m.Spread * rnd.NormFloat64())
			if m.Step != 0 && i >= m.From {
				by *= m.Step
			}
			c.Ratio = new(*c.Ratio * by)
			if c.RatioCI != nil {
				c.RatioCI = &result.Interval{c.RatioCI[0] * by, c.RatioCI[1] * by}
			}
		}
		cells[k] = c
	}
	run.Cells = cells
	data, err := store.EncodeRun(run)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, fmt.Sprintf("%06d-synthetic", i))
	return errors.Join(os.Mkdir(path, 0o755), os.WriteFile(filepath.Join(path, store.RunFile), data, 0o600), os.WriteFile(filepath.Join(path, store.StudyFile), []byte(Study), 0o600))
}
