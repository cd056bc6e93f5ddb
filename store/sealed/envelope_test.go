package sealed

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParse: whatever is taken for an envelope is the one text of that envelope.
func FuzzParse(f *testing.F) {
	good := (&envelope{mode: Sign, key: "k1", link: link{at: 41}, body: "{}"}).text()
	for _, s := range []string{
		good, (&envelope{key: "k1", body: "AAAA"}).text(), "", "sealed/", "sealed/1 sign k1 0  \n", "sealed/2 x\n",
		strings.Replace(good, " 41 ", " 041 ", 1), strings.Replace(good, " 41 ", " -1 ", 1), good + "\n\x00\xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, detail string) {
		e, err := parse(detail)
		if err == nil && e.text() != detail {
			t.Fatalf("%q is read as %q", detail, e.text())
		}
	})
}

func TestEnvelopesOfOtherFormsAreRefused(t *testing.T) {
	good := (&envelope{mode: Sign, key: "k1", link: link{at: 41}, body: "{}"}).text()
	_, err := parse(good)
	require.NoError(t, err)
	for why, bad := range map[string]string{
		"leading zero":    strings.Replace(good, " 41 ", " 041 ", 1),
		"plus sign":       strings.Replace(good, " 41 ", " +41 ", 1),
		"negative":        strings.Replace(good, " 41 ", " -41 ", 1),
		"no line end":     strings.ReplaceAll(good, "\n", ""),
		"another version": strings.Replace(good, "sealed/1", "sealed/2", 1),
		"unknown mode":    strings.Replace(good, "sign", "none", 1),
		"empty key":       strings.Replace(good, "k1", "", 1),
		"bad key":         strings.Replace(good, "k1", "k\x1b", 1),
		"word too many":   strings.Replace(good, "\n", " x\n", 1),
		"spare bits set":  strings.Replace(good, "A\n", "B\n", 1),
	} {
		_, err := parse(bad)
		require.Error(t, err, why)
	}
}
