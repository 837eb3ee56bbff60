package traffic

import (
	"errors"

	"tare/internal/result"
)

// AttemptsError is the error of a trial that failed, with the connections that it had tried by then.
// What it says is the error alone.
type AttemptsError struct {
	Err      error
	Attempts result.Attempts
}

func (e *AttemptsError) Error() string { return e.Err.Error() }
func (e *AttemptsError) Unwrap() error { return e.Err }

// WithAttempts adds to an error the connections that the trial had tried. It returns nil without an
// error, and err itself if nothing was tried.
func WithAttempts(err error, tried result.Attempts) error {
	if err == nil || tried.Tried == 0 {
		return err
	}
	return &AttemptsError{err, tried}
}

// PlusAttempts adds to the connections of a failed part of a trial those of the parts before it, nil for none.
func PlusAttempts(err error, before *result.Attempts) error {
	return WithAttempts(err, orNone(sumAttempts(AttemptsOf(err), before)))
}

// orNone returns no attempts for unknown ones.
func orNone(a *result.Attempts) result.Attempts {
	if a == nil {
		return result.Attempts{}
	}
	return *a
}

// AttemptsOf returns the connections that a failed trial had tried, nil if no error has them. Of several
// errors of the same trial it takes the first that has.
func AttemptsOf(errs ...error) *result.Attempts {
	for _, err := range errs {
		var e *AttemptsError
		if errors.As(err, &e) && e.Attempts.Valid() {
			return &e.Attempts
		}
	}
	return nil
}

// sumAttempts adds the connections of two clients; nil is unknown and adds nothing.
func sumAttempts(a, b *result.Attempts) *result.Attempts {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	sum := a.Plus(*b)
	return &sum
}
