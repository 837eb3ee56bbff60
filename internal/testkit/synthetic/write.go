package synthetic

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tare/internal/analysis/sums"
	"tare/internal/analysis/verdict"
	"tare/internal/result"
	"tare/internal/store"
)

// Study is the study.yaml of every run.
const Study = "name: synthetic\nprofile: standard\nseed: 7\nmodes: [host, netns/bridge]\nworkloads: [tcp_stream, tcp_rr]\n"

// Write writes the directory of the run, evaluated like a run of its profile. Unlike a
// real run it flushes nothing to disk.
func (s Shape) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write a synthetic run: %w", err)
	}
	run := s.Run()
	var slim []result.Trial
	f, err := os.Create(filepath.Join(dir, store.TrialsFile))
	if err != nil {
		return fmt.Errorf("write a synthetic run: %w", err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	out := json.NewEncoder(w)
	for t := range s.Each() {
		if err := out.Encode(t); err != nil {
			return errors.Join(fmt.Errorf("write a synthetic run: %w", err), f.Close())
		}
		t.Series, t.Counters, t.Machine = nil, nil, nil
		slim = append(slim, t)
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		return fmt.Errorf("write a synthetic run: %w", err)
	}
	run.Cells, _ = verdict.Cells(run.Modes, Workloads(), slim, verdict.Rule{Margin: 0.05})
	run.ECDFs = sums.ECDFs(run.Modes, Workloads(), slim)
	data, err := store.EncodeRun(run)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{store.RunFile: data, store.StudyFile: []byte(Study)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return fmt.Errorf("write a synthetic run: %w", err)
		}
	}
	return nil
}
