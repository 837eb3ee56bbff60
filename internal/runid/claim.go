package runid

import "slices"

// UnknownUser is the user of whom nothing is known.
const UnknownUser = -1

// Claim says that a run is alive.
type Claim struct {
	Run  string // its id
	User int    // who says so: the number of a user, or UnknownUser if the kernel does not tell
}

// holds reports whether the claim counts for what a user owns: any user can claim any id, so
// that only root's and the owner's own count. Unknown is in favour of the claim, because what
// is removed wrongly is lost.
func (c Claim) holds(owner int) bool {
	return c.User == 0 || c.User == owner || c.User == UnknownUser || owner == UnknownUser
}

// Claims are the claims of all users.
type Claims []Claim

// Hold reports whether a run is alive, as far as something that owner has is concerned.
// owner is the number of a user, or UnknownUser.
func (all Claims) Hold(run string, owner int) bool {
	return slices.ContainsFunc(all, func(c Claim) bool { return c.Run == run && c.holds(owner) })
}

// Running lists the ids of the runs that any user claims to be alive on this machine,
// including those of this process.
func Running() ([]string, error) {
	all, err := List()
	var ids []string
	for _, c := range all {
		ids = append(ids, c.Run)
	}
	return ids, err
}
