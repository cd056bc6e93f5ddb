//go:build race

package schedule_test

// The race detector makes a schedule ten times slower.
const stride = 11
