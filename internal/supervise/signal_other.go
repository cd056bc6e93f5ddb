//go:build !unix

package supervise

import (
	"context"
	"errors"
	"os"
)

// killed reports whether the process ended without success, which is all that this
// system tells about a kill.
func killed(s *os.ProcessState) bool { return !s.Success() }

// Stop is not possible here: the error is errors.ErrUnsupported.
func (c *Child) Stop(context.Context) error { return errors.ErrUnsupported }

// Continue is not possible here: the error is errors.ErrUnsupported.
func (c *Child) Continue() error { return errors.ErrUnsupported }
