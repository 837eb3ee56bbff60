package store

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"tare/internal/result"
)

// The limits of what is read of a run's directory, which may come from anybody. Each is far
// above what a run writes; together they keep a reader below 256 MB.
const (
	// maxRunFile is the maximum size of run.json, in bytes: that of 600 modes. That of five
	// modes has 90 kB, however many trials there are.
	maxRunFile = 16 << 20
	// maxStudyFile is the maximum size of study.yaml, in bytes, of which a decoder accepts a
	// quarter.
	maxStudyFile = 4 << 20
	// maxMemory is how many bytes the values of run.json, or of all trials, may take in memory.
	maxMemory = 144 << 20
	// maxLineMemory is how many bytes the values of one trial may take.
	maxLineMemory = 48 << 20
	// maxTally is the maximum of each number of trials in run.json: more than a run of years
	// could make.
	maxTally = 1_000_000_000
	// maxList is the maximum number of elements of a list of run.json, but for its cells and for lists of numbers:
	// what is written of them takes longer than their number.
	maxList = 10_000
	// mostWorkers is how many runs of a list are read at once.
	mostWorkers = 8
)

// What the parts of a JSON text take once decoded, in bytes: an object becomes a structure,
// of which result.Comparison is the largest in a list, or a map, and any value can be an
// element of a list or map.
const (
	objectMemory = 512
	valueMemory  = 32
)

// decodedMemory is at most how many bytes the values of a JSON text take once decoded: a few
// bytes can become a structure of hundreds. Punctuation within strings counts as well.
func decodedMemory(text []byte) int64 {
	objects := bytes.Count(text, []byte{'{'}) + bytes.Count(text, []byte{'['})
	return int64(len(text)) + objectMemory*int64(objects) + valueMemory*int64(bytes.Count(text, []byte{','}))
}

// checkMemory refuses a JSON text whose values could take more than most bytes.
func checkMemory(text []byte, most int64) error {
	if n := decodedMemory(text); n > most {
		return fmt.Errorf("%w: its values may take %d MB of memory, more than the maximum of %d MB", errTooLarge, n/1e6, most/1e6)
	}
	return nil
}

// errTooLarge means that a file of a run exceeds a limit.
var errTooLarge = errors.New("too large")

// checkRun refuses what no run has and what a report could not show.
func checkRun(r result.Run) error {
	if err := checkTally(r.Trials); err != nil {
		return err
	}
	if err := checkLists("", reflect.ValueOf(r)); err != nil {
		return err
	}
	return checkPairs(r, nil)
}

// checkPairs refuses more pairs of a mode and a workload than a report could show.
func checkPairs(r result.Run, trials []result.Trial) error {
	workloads := map[string]struct{}{}
	modes := map[string]struct{}{}
	for _, m := range r.Modes {
		modes[m.ID] = struct{}{}
	}
	for _, c := range r.Cells {
		workloads[c.Workload], modes[c.Mode] = struct{}{}, struct{}{}
	}
	for _, t := range trials {
		workloads[t.Workload], modes[t.Mode] = struct{}{}, struct{}{}
	}
	if n := len(modes) * len(workloads); n > result.MaxPairs {
		return fmt.Errorf("%w: %d modes and %d workloads are more than the maximum of %d pairs", errTooLarge, len(modes), len(workloads), result.MaxPairs)
	}
	return nil
}

// checkLists refuses a list that is too long, in a value with that name in run.json.
func checkLists(name string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return checkLists(name, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if err := checkLists(strings.TrimPrefix(name+"."+tag, "."), v.Field(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		if v.Len() > maxList {
			return fmt.Errorf("%w: %s has %d entries, more than the maximum of %d", errTooLarge, name, v.Len(), maxList)
		}
		for _, key := range v.MapKeys() {
			if err := checkLists(name, v.MapIndex(key)); err != nil {
				return err
			}
		}
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.Struct, reflect.Pointer, reflect.Slice, reflect.Map, reflect.String:
		default:
			return nil
		}
		if v.Type() == reflect.TypeFor[[]result.Cell]() {
			return nil // checkPairs bounds them, and they have no long lists
		}
		if v.Len() > maxList {
			return fmt.Errorf("%w: %s has %d elements, more than the maximum of %d", errTooLarge, name, v.Len(), maxList)
		}
		for i := range v.Len() {
			if err := checkLists(name, v.Index(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkTally refuses numbers of trials that no run has.
func checkTally(t result.Tally) error {
	for _, n := range []struct {
		name string
		of   int
	}{{"ok", t.OK}, {"invalid", t.Invalid}, {"failed", t.Failed}} {
		if n.of < 0 || n.of > maxTally {
			return fmt.Errorf("it was edited: trials.%s is %d; want 0 to %d", n.name, n.of, maxTally)
		}
	}
	return nil
}

// memoryOf is about how many bytes a trial takes.
func memoryOf(t *result.Trial) int64 { return memory(reflect.ValueOf(t).Elem()) }

// memory is about how many bytes a value takes, with what it refers to.
func memory(v reflect.Value) int64 { return int64(v.Type().Size()) + referred(v) }

// referred is about how many bytes a value refers to. Strings count even where several
// values share one.
func referred(v reflect.Value) (n int64) {
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Pointer:
		if !v.IsNil() {
			n = memory(v.Elem())
		}
	case reflect.Slice:
		n = int64(v.Cap()) * int64(v.Type().Elem().Size())
		if refers(v.Type().Elem()) {
			for i := range v.Len() {
				n += referred(v.Index(i))
			}
		}
	case reflect.Map:
		if v.Len() == 0 {
			return 0
		}
		// A map is up to half empty, with a byte of its own for each place.
		n = mapMemory + 2*int64(v.Len())*int64(1+v.Type().Key().Size()+v.Type().Elem().Size())
		if refers(v.Type().Elem()) {
			for _, key := range v.MapKeys() {
				n += referred(v.MapIndex(key))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += referred(v.Field(i))
		}
	default:
	}
	return n
}

// mapMemory is what a map takes beside its entries, in bytes.
const mapMemory = 48

// refers reports whether a value of the type can refer to more memory.
func refers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Slice, reflect.Map, reflect.Struct:
		return true
	default:
		return false
	}
}
