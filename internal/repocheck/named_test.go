package repocheck

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9_]+)`")

// TestTestsNamedInDocumentsExist: a claim that names its test has it.
func TestTestsNamedInDocumentsExist(t *testing.T) {
	var sources strings.Builder
	for _, name := range files(t, "_test.go") {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		sources.Write(text)
	}
	all := sources.String()
	for _, name := range files(t, ".md") {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range testName.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(all, "func "+m[1]+"(") {
				t.Errorf("%s: no test is called %s", name, m[1])
			}
		}
	}
}
