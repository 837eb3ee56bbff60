package runid

import (
	"errors"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// A run is listed with its user from New to Release. A socket with another kind of name is no run.
func TestList(t *testing.T) {
	r, err := New()
	must.Do(t, err)
	defer r.Release()
	release := must.Get(Bind(socketPrefix + "\x1b[2J" + r.ID))(t)
	defer release()
	if _, err := Bind(socketPrefix + r.ID); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("the run was claimed once more: %v", err)
	}
	all := must.Get(List())(t)
	for _, c := range all {
		must.True(t, IsID(c.Run), "%q is listed", c.Run)
	}
	must.True(t, all.Hold(r.ID, os.Geteuid()), "%s is not among %v", r.ID, all)
	r.Release()
	if all, err = List(); err != nil || all.Hold(r.ID, UnknownUser) {
		t.Errorf("%s is still among %v, %v", r.ID, all, err)
	}
}

// With the kernel's answer a socket has its user, and without it none.
func TestUsersOfSockets(t *testing.T) {
	r, err := New()
	must.Do(t, err)
	defer r.Release()
	name := socketPrefix + r.ID
	user := func(all []Socket) int {
		i := slices.IndexFunc(all, func(s Socket) bool { return s.Name == name })
		must.Require(t, i >= 0, "%s is not among %v", name, all)
		return all[i].User
	}
	all := must.Get(named())(t)
	must.EqualFor(t, "by name alone it has user", UnknownUser, user(all))
	if all, err = diagnosed(); err != nil {
		testneed.Missing(t, testneed.Feature, err)
	}
	must.EqualFor(t, "it has user", os.Geteuid(), user(all))
}

// An answer of another form is an error, or leaves the user unknown.
func TestBrokenAnswers(t *testing.T) {
	head := make([]byte, diagHead)
	for name, tt := range map[string]struct {
		data []byte
		want Socket
		fail bool
	}{
		"short":           {head[:4], Socket{User: UnknownUser}, true},
		"no attributes":   {head, Socket{User: UnknownUser}, false},
		"a path":          {append(slices.Clone(head), 8, 0, attrName, 0, '/', 'x', 0, 0), Socket{User: UnknownUser}, false},
		"abstract":        {append(slices.Clone(head), 7, 0, attrName, 0, 0, 'x', 'y'), Socket{"@xy", UnknownUser}, false},
		"with its user":   {append(slices.Clone(head), 6, 0, attrName, 0, 0, 'x', 0, 0, 8, 0, attrUser, 0, 0, 0, 0, 0), Socket{"@x", 0}, false},
		"too long":        {append(slices.Clone(head), 200, 0, attrName, 0, 0, 'x'), Socket{User: UnknownUser}, true},
		"of no length":    {append(slices.Clone(head), 0, 0, attrName, 0), Socket{User: UnknownUser}, true},
		"a user too long": {append(slices.Clone(head), 12, 0, attrUser, 0, 0, 0, 0, 0, 0, 0, 0, 0), Socket{User: UnknownUser}, false},
	} {
		got, err := socketOf(tt.data)
		must.True(t, got == tt.want && (err != nil) == tt.fail, "%s: %+v, %v, want %+v", name, got, err, tt.want)
	}
}
