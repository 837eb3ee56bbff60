package store

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

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
	// maxTrialsFile is the maximum size of trials.ndjson, in bytes.
	maxTrialsFile = 4 << 30
	// maxMemory is how many bytes the values of run.json, or of all trials, may take in memory.
	maxMemory = 144 << 20
	// maxLineMemory is how many bytes the values of one trial may take.
	maxLineMemory = 48 << 20
	// batchMemory is how much of it is one place among the batches in memory.
	batchMemory = 2 << 20
	// maxTally is the maximum of each number of trials in run.json: more than a run of years
	// could make.
	maxTally = 1_000_000_000
	// mostReserved is for how many trials memory is reserved before any is read.
	mostReserved = 1 << 17
	// mostWorkers is how many goroutines parse trials: each holds a batch of lines.
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
