package driver

import "fmt"

// PacketSizes is what the check of a path found about the sizes of packets, in bytes with their IP
// headers.
type PacketSizes struct {
	Passed  int    // the largest that was answered
	Dropped int    // the size that was not answered, although no MTU forbids it; 0 if none
	Cause   string // where it was dropped, if a counter shows it
}

// String says which packets do not pass; it is empty if none was dropped.
func (s PacketSizes) String() string {
	if s.Dropped == 0 {
		return ""
	}
	text := fmt.Sprintf("when the path was set up, packets of %d bytes were dropped and those of %d passed", s.Dropped, s.Passed)
	if s.Cause != "" {
		text += " (" + s.Cause + ")"
	}
	return text
}

// AdviceError is an error with advice that applies while its cause is unknown.
type AdviceError struct {
	Err    error
	Advice string
}

// WithCause adds the cause of an error, if one is known.
func WithCause(err error, cause string) error {
	if cause == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, cause)
}

func (e *AdviceError) Error() string { return e.Err.Error() + "; " + e.Advice }
func (e *AdviceError) Unwrap() error { return e.Err }
