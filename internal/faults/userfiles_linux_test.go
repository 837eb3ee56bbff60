package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/linuxnet"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testns"
)

// usersFiles makes files of a user whose names are as those of a run, everywhere where tare gc and tare prune look.
func usersFiles(r *tested) error {
	run := fmt.Sprintf("%08x", r.rng.Uint32())
	precious := filepath.Join(r.home, "precious")
	dirs := []string{precious}
	var errs []error
	for _, parent := range []string{"/tmp", "/var/tmp", "/dev/shm", r.home} {
		name := filepath.Join(parent, "tare-"+run)
		for _, suffix := range []string{"-results", "-1-machine", "-2-ssh", "-3-file"} {
			dirs = append(dirs, name+suffix)
		}
		errs = append(errs, os.WriteFile(name+"-4-file", []byte("notes"), 0o600), os.Symlink(precious, name+"-5-machine"), unix.Mkfifo(name+"-6-machine", 0o600))
	}
	engine := filepath.Join("/var/lib/tare/engines", run+"-docker.bridge-a")
	dirs = append(dirs, engine, filepath.Join(r.home, ".tare-removed-"+run), filepath.Join(r.home, "20261125-000000-notes"))
	for _, dir := range dirs {
		errs = append(errs, os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "notes"), []byte("notes"), 0o600), os.WriteFile(filepath.Join(dir, ".tare-run"), []byte("tare "+run+" 1\n"), 0o600)) // as if copied
	}
	errs = append(errs, os.WriteFile(engine+".run", []byte("notes"), 0o600))
	netns := filepath.Join(linuxnet.PinDir, "tare-"+run+"-notes")
	errs = append(errs, os.MkdirAll(linuxnet.PinDir, 0o755), os.WriteFile(netns, []byte("notes"), 0o600))
	r.t.Cleanup(func() { must.Do(r.t, os.Remove(netns)) })
	hierarchies, err := testns.Hierarchies()
	errs = append(errs, err)
	for _, h := range hierarchies {
		group := filepath.Join(h.At, "tare-"+run+"-notes")
		errs = append(errs, os.Mkdir(group, 0o755))
		r.t.Cleanup(func() { must.Do(r.t, testns.RemoveGroup(group)) })
	}
	r.users = append(dirs, netns, engine+".run")
	return errors.Join(errs...)
}

// checkUsers fails the test unless a user's files have what they had. That the others exist is seen by the snapshots.
func (r *tested) checkUsers() {
	r.t.Helper()
	for _, path := range r.users {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			path = filepath.Join(path, "notes")
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "notes" {
			r.t.Errorf("%s: %q, %v", path, text, err)
		}
	}
}

// collectBeside runs gc and prune while the run is there, gc in the run's network namespace and in another one: they remove
// nothing.
func collectBeside(r *tested) error {
	for _, namespaces := range []uintptr{0, unix.CLONE_NEWNET, 0} {
		for _, args := range [][]string{{"gc"}, {"prune", "--yes", "--keep", "0", "--older-than", "1h", r.home}} {
			code, out := r.callIn(namespaces, args...)
			if code != 0 || !strings.Contains("\n"+out, "\nnothing to remove\n") {
				r.t.Errorf("%s beside the run: exit code %d\n%s", strings.Join(args, " "), code, out)
			}
		}
		r.checkUsers()
	}
	return nil
}
