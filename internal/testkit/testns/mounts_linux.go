package testns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// elsewhere lists the directories, parents first, at which other file systems than the root are mounted on this
// machine, such as /home and /usr: an overlay of the root directory shows them empty. Those below one of the own
// directories are left out.
func elsewhere(own []string) ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`) // proc_pid_mountinfo(5)
	var found []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		at := unescape.Replace(fields[4])
		if at == "/" || slices.ContainsFunc(own, func(dir string) bool { return at == dir || strings.HasPrefix(at, dir+"/") }) {
			continue
		}
		// A file system below one that was mounted later, and one of another user, cannot be seen here either.
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			found = append(found, at)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// show makes directories of this machine visible below a new root directory, at the same places. Changes go to layers
// below an empty directory in memory. What cannot be a part of an overlay is read-only.
func show(dirs []string, root, layers string) error {
	for i, dir := range dirs {
		to, layer := filepath.Join(root, dir), filepath.Join(layers, strconv.Itoa(i))
		if err := errors.Join(os.MkdirAll(layer+"/upper", 0o755), os.Mkdir(layer+"/work", 0o755)); err != nil {
			return err
		}
		if !strings.ContainsAny(dir, `,:\`) && // they separate options
			mount("overlay", to, "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", dir, layer, layer)) == nil {
			continue
		}
		if err := mount(dir, to, "", unix.MS_BIND, ""); err != nil {
			return err
		}
		if err := unix.MountSetattr(unix.AT_FDCWD, to, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fmt.Errorf("make %s read-only: %w", to, err)
		}
	}
	return nil
}
