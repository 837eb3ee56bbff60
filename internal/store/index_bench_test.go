package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tare/internal/must"
	"tare/internal/store"
	"tare/internal/synthetic"
)

// benchRuns is how many runs a benchmark lists: docs/performance.md has the figures for
// 10 000, from go run ./bench -only runs.
const benchRuns = 500

func manyRuns(b *testing.B) string {
	b.Helper()
	top := b.TempDir()
	must.Do(b, (synthetic.Many{Shape: synthetic.Standard(), Runs: benchRuns, Spread: 0.01}).Write(top))
	return top
}

// BenchmarkList lists runs without an index, and with one.
func BenchmarkList(b *testing.B) {
	top := manyRuns(b)
	index := filepath.Join(top, store.IndexFile)
	list := func() {
		if runs, err := store.List(top); err != nil || len(runs) != benchRuns {
			b.Fatal(len(runs), err)
		}
	}
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			if err := os.Remove(index); err != nil && !errors.Is(err, fs.ErrNotExist) {
				b.Fatal(err)
			}
			list()
		}
	})
	settled(b, index, list)
	b.Run("warm", func(b *testing.B) {
		for b.Loop() {
			list()
		}
	})
}

// BenchmarkEachRecord reads what a history of all runs needs, with an index.
func BenchmarkEachRecord(b *testing.B) {
	top := manyRuns(b)
	read := func() {
		n := 0
		err := store.EachRecord(top, func(store.Summary) bool { return true }, func(store.Record) error { n++; return nil })
		if err != nil || n != benchRuns {
			b.Fatal(n, err)
		}
	}
	settled(b, filepath.Join(top, store.IndexFile), read)
	for b.Loop() {
		read()
	}
}

// settled waits until all runs are old enough for the index, and writes it.
func settled(b *testing.B, index string, list func()) {
	b.Helper()
	if err := os.Remove(index); err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.Fatal(err)
	}
	time.Sleep(3 * time.Second)
	list()
	must.Get(os.Stat(index))(b)
}
