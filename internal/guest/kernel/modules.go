package kernel

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Module is an uncompressed module.
type Module struct {
	Name    string
	Content []byte
}

// NoModuleError means that a kernel does not have a module.
type NoModuleError struct{ Kernel, Module string }

func (e *NoModuleError) Error() string {
	return fmt.Sprintf("kernel %s has no module %s", e.Kernel, e.Module)
}

// Load reads the named modules and all modules that they depend on, each after its dependencies.
// Modules that are built into the kernel are left out, and missing optional ones are ignored. The
// dependencies are read from each module itself: neither depmod nor its files are needed.
func (k Kernel) Load(names, optional []string) ([]Module, error) {
	l := loader{kernel: k, files: map[string]string{}, built: map[string]bool{}, state: map[string]bool{}}
	if err := l.index(); err != nil {
		return nil, fmt.Errorf("list the modules of kernel %s: %w", k.Version, err)
	}
	for _, name := range names {
		if err := l.need(name); err != nil {
			return nil, err
		}
	}
	for _, name := range optional {
		var missing *NoModuleError
		if err := l.need(name); err != nil && !errors.As(err, &missing) {
			return nil, err
		}
	}
	return l.order, nil
}

type loader struct {
	kernel Kernel
	files  map[string]string // by name
	built  map[string]bool   // into the kernel
	state  map[string]bool   // false while a module's dependencies are resolved, true when it is in order
	order  []Module
}

// plain returns a module's name in the kernel's spelling.
func plain(name string) string { return strings.ReplaceAll(name, "-", "_") }

// nameOf returns the name of a module from that of its file.
func nameOf(path string) (string, bool) {
	name, rest, ok := strings.Cut(filepath.Base(path), ".ko")
	return plain(name), ok && (rest == "" || rest[0] == '.')
}

func (l *loader) index() error {
	builtin, err := os.ReadFile(filepath.Join(l.kernel.Modules, "modules.builtin"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for path := range strings.FieldsSeq(string(builtin)) {
		if name, ok := nameOf(path); ok {
			l.built[name] = true
		}
	}
	return filepath.WalkDir(l.kernel.Modules, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name, ok := nameOf(path); ok && e.Type().IsRegular() {
			l.files[name] = path
		}
		return nil
	})
}

func (l *loader) need(name string) error {
	name = plain(name)
	if done, seen := l.state[name]; l.built[name] || done {
		return nil
	} else if seen {
		return fmt.Errorf("modules of kernel %s have circular dependencies: %s", l.kernel.Version, name)
	}
	path, ok := l.files[name]
	if !ok {
		return &NoModuleError{l.kernel.Version, name}
	}
	content, err := unpack(path)
	if err != nil {
		return fmt.Errorf("read module %s: %w", path, err)
	}
	needs, err := depends(content)
	if err != nil {
		return fmt.Errorf("read module %s: %w", path, err)
	}
	l.state[name] = false
	for _, n := range needs {
		if err := l.need(n); err != nil {
			delete(l.state, name) // resolved, in case it is requested again
			return fmt.Errorf("%w, which %s needs", err, name)
		}
	}
	l.state[name] = true
	l.order = append(l.order, Module{name, content})
	return nil
}

// depends reads a module's dependencies from its section .modinfo, whose zero-terminated texts
// include depends=A,B.
func depends(module []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(module))
	if err != nil {
		return nil, err
	}
	section := f.Section(".modinfo")
	if section == nil {
		return nil, errors.New("it has no section .modinfo")
	}
	info, err := section.Data()
	if err != nil {
		return nil, err
	}
	for text := range bytes.SplitSeq(info, []byte{0}) {
		if list, ok := bytes.CutPrefix(text, []byte("depends=")); ok && len(list) > 0 {
			return strings.Split(string(list), ","), nil
		}
	}
	return nil, nil
}
