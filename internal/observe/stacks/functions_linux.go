package stacks

import (
	"debug/elf"
	"debug/gosym"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"

	"tare/internal/observe"
	"tare/internal/program/agentfile"
)

// functions returns what names the functions of this program and of its agents: these run this
// same binary at the same addresses, or the agent's. In a container a binary is another file of
// the same size. Of a position-independent binary nothing is named.
func (s *Sampler) functions(programs map[int]observe.Program) func(pid int) func(uint64) string {
	tables := map[int64]func(uint64) string{} // by the size of the binary
	if self, err := os.Stat(filepath.Join(s.procRoot, "self", "exe")); err == nil && reflect.ValueOf(Open).Pointer() <= 1<<32 {
		tables[self.Size()] = function
	}
	if path, err := agentfile.Path(); err == nil {
		if size, table, err := tableOf(path); err == nil {
			tables[size] = table
		}
	}
	known := map[int]func(uint64) string{}
	return func(pid int) func(uint64) string {
		if table, ok := known[pid]; ok {
			return table
		}
		known[pid] = nil
		if p := programs[pid].Relation; p == observe.Agent || p == observe.Self {
			if its, err := os.Stat(filepath.Join(s.procRoot, strconv.Itoa(pid), "exe")); err == nil {
				known[pid] = tables[its.Size()]
			}
		}
		return known[pid]
	}
}

// function returns the name of a function of this program's binary.
func function(address uint64) string {
	if f := runtime.FuncForPC(uintptr(address)); f != nil {
		return f.Name()
	}
	return ""
}

// tableOf returns the size of a Go program's file, and what names its functions. The table is the
// one that the runtime uses, which a program without symbols has as well.
func tableOf(path string) (size int64, table func(uint64) string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, nil, err
	}
	f, err := elf.Open(path)
	if err != nil {
		return 0, nil, err
	}
	defer f.Close()
	lines, text := f.Section(".gopclntab"), f.Section(".text")
	if lines == nil || text == nil {
		return 0, nil, elf.ErrNoSymbols
	}
	data, err := lines.Data()
	if err != nil {
		return 0, nil, err
	}
	all, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return 0, nil, err
	}
	return info.Size(), func(address uint64) string {
		if f := all.PCToFunc(address); f != nil {
			return f.Name
		}
		return ""
	}, nil
}
