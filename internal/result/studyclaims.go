package result

import "time"

// StudyClaims are the claims of a study, and what one run of it found. Without a run, Run is empty
// and the claims have no outcome. Run is the directory of the run; Machine is the kernel and the CPU
// of its first host. Command runs the study.
type StudyClaims struct {
	Study   string    `json:"study"`
	Title   string    `json:"title,omitempty"`
	Command string    `json:"command"`
	Run     string    `json:"run,omitempty"`
	Started time.Time `json:"started,omitzero"`
	Profile string    `json:"profile,omitempty"`
	Machine string    `json:"machine,omitempty"`
	Claims  []Claim   `json:"claims"`
}
