package needs

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorder stands in for a test and keeps what Feature did to it.
type recorder struct {
	testing.TB
	outcome string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Fatal(args ...any)         { r.outcome = "fail: " + fmt.Sprint(args...) }
func (r *recorder) Fatalf(f string, a ...any) { r.outcome = "fail: " + fmt.Sprintf(f, a...) }
func (r *recorder) Skipf(f string, a ...any)  { r.outcome = "skip: " + fmt.Sprintf(f, a...) }

func TestFeature(t *testing.T) {
	if testing.Short() {
		t.Skip("short mode is one of the things that Feature looks at")
	}
	missing := errors.New("no java in PATH")
	for _, c := range []struct {
		name, env string
		probe     error
		want      string
	}{
		{"available", "", nil, ""},
		{"available_and_required", "fluss", nil, ""},
		{"missing", "", missing, "skip: fluss is missing: no java in PATH (with INTENTLOG_REQUIRE=fluss it is fetched, where it can be, or this fails)"},
		{"missing_and_other_required", "flink,root", missing, "skip: fluss is missing: no java in PATH (with INTENTLOG_REQUIRE=fluss it is fetched, where it can be, or this fails)"},
		{"missing_and_required", "flink, fluss", missing, "fail: fluss is required by INTENTLOG_REQUIRE, and is missing: no java in PATH"},
		{"misspelt_requirement", "flus", nil, `fail: INTENTLOG_REQUIRE names "flus", which is none of ["fluss" "flink" "java" "pyfluss" "postgres" "root" "ptrace"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(Variable, c.env)
			r := &recorder{TB: t}
			Feature(r, Fluss, func() error { return c.probe })
			require.Equal(t, c.want, r.outcome)
		})
	}
}

func TestRequired(t *testing.T) {
	t.Setenv(Variable, "fluss , root")
	require.True(t, Required(Fluss))
	require.True(t, Required(Root))
	require.False(t, Required(Flink))
}
