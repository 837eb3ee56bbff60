package labdriver

// LinuxOnly, embedded in a driver, says on other systems that none of its modes can be
// built there.
type LinuxOnly struct{}
