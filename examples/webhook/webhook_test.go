package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBeforeActsTwiceAndAfterOnce(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), nil, &out))
	require.Equal(t, `before, first try, failed: true
before, second try, failed: false; the subscriber acted 2 times
after, first try, failed: false; the subscriber acted 1 times
`, out.String())
}

// TestTheDiffInTheReadmeIsTheDiff applies it to the code that was, and has the code
// that is: three lines, and nothing else.
func TestTheDiffInTheReadmeIsTheDiff(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	fence := regexp.MustCompile("(?s)```diff\n(.*?)```").FindSubmatch(readme)
	require.NotNil(t, fence)
	var was, is string
	changed := 0
	for line := range strings.Lines(string(fence[1])) {
		switch line[0] {
		case '-':
			was += line[1:]
		case '+':
			is += line[1:]
			changed++
		default:
			was, is = was+line[1:], is+line[1:]
		}
	}
	require.Equal(t, 3, changed)
	for name, text := range map[string]string{"before.go": was, "after.go": is} {
		code, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Contains(t, string(code), text, name)
	}
}
