package facts

import (
	"errors"
	"io/fs"
)

// evidence tells what the kernel lets one look into while trials run: stacks and the
// reasons of drops.
func (m *machine) evidence() {
	for _, name := range []string{"perf_event_paranoid", "kptr_restrict"} {
		v, err := readFile(m.fsys, "proc/sys/kernel/"+name)
		if !errors.Is(err, fs.ErrNotExist) {
			m.factOr(name, "level "+v, err)
		}
	}
	_, err := fs.Stat(m.fsys, "sys/kernel/btf/vmlinux")
	if _, hidden := fs.Stat(m.fsys, "sys/kernel"); hidden != nil {
		m.fact("btf", unknown(plain("sys/kernel", hidden)))
		return
	}
	switch {
	case err == nil:
		m.fact("btf", "yes")
	case errors.Is(err, fs.ErrNotExist):
		m.fact("btf", "no: the kernel does not describe its types, which programs that count drops need")
	default:
		m.fact("btf", unknown(plain("sys/kernel/btf/vmlinux", err)))
	}
}
