package runid

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// elsewhere lists the claims in other network namespaces, as far as their processes are visible. The kernel tells
// the users of sockets only within a namespace, so that a claim is here one of every user that has a process there.
func elsewhere() Claims {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return nil
	}
	var all Claims
	ids := map[string][]string{} // of the runs claimed in a namespace that could be named
	seen := map[Claim]bool{}
	for _, dir := range dirs {
		ns, err := os.Readlink(filepath.Join(dir, "ns", "net"))
		if err == nil && ns == own {
			continue
		}
		info, gone := os.Stat(dir)
		if gone != nil {
			continue
		}
		user := UnknownUser
		if st, is := info.Sys().(*syscall.Stat_t); is {
			user = int(st.Uid)
		}
		found, known := ids[ns]
		if err != nil || !known {
			found = claimedIn(filepath.Join(dir, "net", "unix"))
		}
		if err == nil {
			ids[ns] = found
		}
		for _, id := range found {
			if c := (Claim{id, user}); !seen[c] {
				seen[c] = true
				all = append(all, c)
			}
		}
	}
	return all
}

// claimedIn lists the runs that the sockets of a namespace claim, by the file that lists them.
func claimedIn(file string) (ids []string) {
	sockets, err := namedIn(file)
	if err != nil {
		return nil // its process has ended, or is not for this user to see
	}
	for _, s := range sockets {
		if id, is := claimed(s.Name); is {
			ids = append(ids, id)
		}
	}
	return ids
}

// claimed is the run that a socket claims by its name. Any program can give a socket any name.
func claimed(name string) (id string, is bool) {
	rest, is := strings.CutPrefix(name, socketPrefix)
	id, _, _ = strings.Cut(rest, "/")
	return id, is && IsID(id)
}
