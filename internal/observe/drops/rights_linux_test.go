package drops_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"tare/internal/observe/drops"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// childEnv makes the test binary test what works without privileges.
const childEnv = "TARE_TEST_DROPS_CHILD"

// Without privileges the error says which are missing. In a user namespace a process has
// all capabilities over its own resources, but none over the kernel.
func TestWithoutRights(t *testing.T) {
	if os.Getenv(childEnv) != "" {
		w, err := drops.New("/proc")
		var u *drops.UnavailableError
		switch {
		case err == nil:
			w.Close()
			t.Error("it was allowed")
		case !errors.As(err, &u), !errors.Is(err, fs.ErrPermission):
			t.Errorf("it failed otherwise: %v", err)
		}
		return
	}
	for name, attr := range map[string]*syscall.SysProcAttr{
		"ordinary user":  {Credential: &syscall.Credential{Uid: 65534, Gid: 65534}},
		"user namespace": {Cloneflags: syscall.CLONE_NEWUSER, UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			if attr.Credential != nil && os.Getuid() != 0 {
				testneed.Missing(t, testneed.Root, "to become an ordinary user")
			}
			self, err := os.Executable()
			must.Do(t, err)
			// The binary's directory may be accessible to root only.
			binary := must.Get(os.CreateTemp(openDir(t), "child"))(t)
			_, err = binary.Write(must.Get(os.ReadFile(self))(t))
			must.Do(t, errors.Join(err, binary.Chmod(0o755), binary.Close()))
			cmd := exec.CommandContext(t.Context(), binary.Name(), "-test.run=^TestWithoutRights$", "-test.v")
			cmd.Env, cmd.SysProcAttr, cmd.Dir = append(os.Environ(), childEnv+"=1"), attr, "/"
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// openDir returns a directory that every user can enter.
func openDir(t *testing.T) string {
	t.Helper()
	dir := must.Get(os.MkdirTemp("", "tare-drops"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must.Do(t, os.Chmod(dir, 0o755))
	return dir
}
