package store

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// Every list of run.json has a limit, and its error names the list.
func TestLongLists(t *testing.T) {
	seen := 0
	var walk func(name string, of reflect.Type, path []int)
	at := func(path []int, n int) result.Run {
		var run result.Run
		v := reflect.ValueOf(&run).Elem()
		for i, field := range path {
			v = v.Field(field)
			if v.Kind() == reflect.Pointer {
				v.Set(reflect.New(v.Type().Elem()))
				v = v.Elem()
			}
			if v.Kind() == reflect.Slice {
				size := 1
				if i == len(path)-1 {
					size = n
				}
				v.Set(reflect.MakeSlice(v.Type(), size, size))
				v = v.Index(0)
			}
			if v.Kind() == reflect.Pointer {
				v.Set(reflect.New(v.Type().Elem()))
				v = v.Elem()
			}
		}
		return run
	}
	walk = func(name string, of reflect.Type, path []int) {
		for i := range of.NumField() {
			f := of.Field(i)
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			key = strings.TrimPrefix(name+"."+key, ".")
			below := append(append([]int{}, path...), i)
			elem := f.Type
			if elem.Kind() == reflect.Pointer {
				elem = elem.Elem()
			}
			if elem.Kind() == reflect.Slice {
				if elem = elem.Elem(); elem.Kind() == reflect.Pointer {
					elem = elem.Elem()
				}
				if (elem.Kind() == reflect.Struct || elem.Kind() == reflect.String) && key != "cells" {
					seen++
					must.Do(must.Named(t, key+" of the maximum length"), checkRun(at(below, maxList)))
					want := fmt.Sprintf("too large: %s has %d elements, more than the maximum of %d", key, maxList+1, maxList)
					must.Equal(t, want, fmt.Sprint(checkRun(at(below, maxList+1))))
				}
			}
			if elem.Kind() == reflect.Struct && elem.PkgPath() == of.PkgPath() && len(path) < 6 {
				walk(key, elem, below)
			}
		}
	}
	walk("", reflect.TypeFor[result.Run](), nil)
	must.True(t, seen >= 30, "%d lists were tried", seen)
}
