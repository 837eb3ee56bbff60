package split

import "time"

// Impatient has the driver soon give up a link that carries no frames of other hardware addresses.
func (d *Driver) Impatient() { d.link = time.Second }
