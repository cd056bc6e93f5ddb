//go:build !unix

package main

import "os/exec"

// unprivileged has nothing to do here.
func unprivileged(*exec.Cmd, string) error { return nil }
