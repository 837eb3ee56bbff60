package initramfs

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Loader is how this machine's dynamic linker finds libraries (ld.so(8)).
type Loader struct {
	Cache string   // file that ldconfig(8) wrote. Where there is none, or it is of another kind, the directories remain
	Dirs  []string // directories that are looked in last
}

// Here is the one of this machine, as distributions build it for x86-64.
func Here() Loader {
	return Loader{Cache: "/etc/ld.so.cache", Dirs: []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"}}
}

// Needs lists everything that has to be carried for files of this machine: the files,
// directories with all that is in them, and of each program and each library its loader
// and the libraries that it asks for, and that these ask for. Links are followed: a file
// is listed under each name by which it is asked for. What a program only looks for once
// it runs, such as a plugin, has to be named.
func (l Loader) Needs(paths ...string) ([]string, error) {
	c := closure{loader: l, seen: map[string]bool{}}
	if _, err := os.Stat(l.Cache); err == nil && l.Cache != "" {
		if c.cached, err = readCache(l.Cache); err != nil {
			return nil, err
		}
		if len(c.cached) > 0 {
			c.list = append(c.list, l.Cache) // by it the guest finds what is not in its usual directories
			c.seen[l.Cache] = true
		}
	}
	for _, p := range paths {
		if err := c.walk(p); err != nil {
			return nil, err
		}
	}
	return c.list, nil
}

// closure is a list that is being made.
type closure struct {
	loader Loader
	cached map[string][]string // paths by the name of a library
	seen   map[string]bool
	list   []string
}

// walk adds a file, or all in a directory.
func (c *closure) walk(path string) error {
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("carry %s into the guest: %w", path, err)
	}
	if !info.IsDir() {
		return c.add(path, nil)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("carry %s into the guest: %w", path, err)
	}
	for _, e := range entries {
		if err := c.walk(filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// add adds a file with what it needs. inherited are directories that the programs above
// it name for all below them (DT_RPATH).
func (c *closure) add(path string, inherited []string) error {
	if c.seen[path] {
		return nil
	}
	c.seen[path] = true
	c.list = append(c.list, path)
	d, err := dynamicOf(path)
	if err != nil {
		return fmt.Errorf("carry %s into the guest: find what it needs: %w", path, err)
	}
	if d.loader != "" {
		if err := c.add(d.loader, nil); err != nil {
			return err
		}
	}
	own := d.runpath
	if len(own) == 0 { // DT_RPATH counts only without DT_RUNPATH, and then also further down
		inherited = slices.Concat(d.rpath, inherited)
		own = inherited
	}
	for _, name := range d.needs {
		at, err := c.find(name, own, d.class)
		if err != nil {
			return fmt.Errorf("carry %s into the guest: %w", path, err)
		}
		if err := c.add(at, inherited); err != nil {
			return err
		}
	}
	return nil
}

// find finds a library as the loader does: a name with a slash is a path; else in the
// directories that the file names, in the cache, and in the usual directories. One of
// another kind of machine is passed over.
func (c *closure) find(name string, dirs []string, class elf.Class) (string, error) {
	if strings.Contains(name, "/") {
		return filepath.Abs(name)
	}
	var at []string
	for _, d := range dirs {
		at = append(at, filepath.Join(d, name))
	}
	at = append(at, c.cached[name]...)
	for _, d := range c.loader.Dirs {
		at = append(at, filepath.Join(d, name))
	}
	for _, p := range at {
		if f, err := elf.Open(p); err == nil {
			fits := f.Class == class
			f.Close()
			if fits {
				return p, nil
			}
		}
	}
	return "", fmt.Errorf("find library %s in %s: %w", name, strings.Join(slices.Concat(dirs, []string{c.loader.Cache}, c.loader.Dirs), ", "), fs.ErrNotExist)
}

// dynamic is what a program or library asks its loader for. Any other file asks for
// nothing.
type dynamic struct {
	class          elf.Class
	loader         string
	needs          []string
	runpath, rpath []string
}

func dynamicOf(path string) (d dynamic, err error) {
	file, err := os.Open(path)
	if err != nil {
		return d, err
	}
	defer file.Close()
	magic := make([]byte, len(elf.ELFMAG))
	if n, _ := file.ReadAt(magic, 0); string(magic[:n]) != elf.ELFMAG {
		return d, nil
	}
	f, err := elf.NewFile(file)
	if err != nil {
		return d, err
	}
	d.class = f.Class
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		text := make([]byte, p.Filesz)
		if _, err := p.ReadAt(text, 0); err != nil {
			return d, err
		}
		d.loader = strings.TrimRight(string(text), "\x00")
	}
	segment := slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_DYNAMIC })
	if segment && f.SectionByType(elf.SHT_DYNAMIC) == nil {
		return d, errors.New("its sections were taken away, and with them what tells the libraries that it needs")
	}
	if d.needs, err = f.ImportedLibraries(); err != nil {
		return d, err
	}
	for tag, into := range map[elf.DynTag]*[]string{elf.DT_RUNPATH: &d.runpath, elf.DT_RPATH: &d.rpath} {
		lists, err := f.DynString(tag)
		if err != nil {
			return d, err
		}
		for _, list := range lists {
			for dir := range strings.SplitSeq(list, ":") {
				*into = append(*into, expand(dir, path))
			}
		}
	}
	return d, nil
}

// expand puts the file's own directory in the place of $ORIGIN.
func expand(dir, file string) string {
	origin := filepath.Dir(file)
	if real, err := filepath.EvalSymlinks(file); err == nil {
		origin = filepath.Dir(real)
	}
	return strings.NewReplacer("${ORIGIN}", origin, "$ORIGIN", origin).Replace(dir)
}
