package notify

import "errors"

// ring: Windows has no terminals that can be named.
func ring(string) error { return errors.New("terminals cannot be named on Windows; use desktop") }
