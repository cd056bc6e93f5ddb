//go:build !race

package schedule_test

const stride = 1
