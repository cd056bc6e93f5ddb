package flinktest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         []Statement
		unterminated string // part of the error, for a script that was cut off
	}{
		{name: "empty", script: " \n-- nothing\n;;"},
		{name: "two on one line", script: "SET 'a' = 'b'; SELECT 1;", want: []Statement{{"SET 'a' = 'b'", 1}, {"SELECT 1", 1}}},
		{name: "several lines", script: "\n\nSELECT\n  1;\nSELECT 2;\n", want: []Statement{{"SELECT\n  1", 3}, {"SELECT 2", 5}}},
		{name: "semicolon in quotes", script: "SELECT ';', `a;b`, \"c;d\";", want: []Statement{{"SELECT ';', `a;b`, \"c;d\"", 1}}},
		{name: "doubled quote", script: "SELECT 'it''s; fine';", want: []Statement{{"SELECT 'it''s; fine'", 1}}},
		{name: "comment marks in quotes", script: "SELECT '--', '/*', 'http://x';", want: []Statement{{"SELECT '--', '/*', 'http://x'", 1}}},
		{name: "quotes in comments", script: "SELECT 1 -- it's; \n, 2 /* don't; */ // can't\n;", want: []Statement{{"SELECT 1  \n, 2", 1}}},
		{name: "hint stays", script: "SELECT * FROM t /*+ OPTIONS('k'=';') */;", want: []Statement{{"SELECT * FROM t /*+ OPTIONS('k'=';') */", 1}}},
		{name: "leading comment", script: "-- first\nSELECT 1;", want: []Statement{{"SELECT 1", 2}}},
		{name: "white space of SQL", script: "\f\v\t;SELECT 1\r\n;", want: []Statement{{"SELECT 1", 1}}},
		{name: "another space of Unicode", script: "\u2029;", want: []Statement{{"\u2029", 1}}},
		{name: "half a character", script: "\xa0;\x85;", want: []Statement{{"\xa0", 1}, {"\x85", 1}}},
		{name: "no last semicolon", script: "SELECT 1;\nSELECT 2", unterminated: "line 2: unterminated statement"},
		{name: "open quote", script: "SELECT 1;\n\nSELECT 'oops;", unterminated: "line 3: unterminated quote"},
		{name: "open name", script: "SELECT `oops;", unterminated: "unterminated quote"},
		{name: "open comment", script: "SELECT 1; /* oops;", unterminated: "unterminated comment"},
		{name: "comment mark that overlaps itself", script: "SELECT 1; /*/", unterminated: "unterminated comment"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Split(c.script)
			if c.unterminated != "" {
				require.ErrorIs(t, err, ErrUnterminated)
				require.ErrorContains(t, err, c.unterminated)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("SELECT 'a;b' -- c\n; /*+ x */ SELECT `q`;")
	f.Add("'''")
	f.Add("/*/;")
	f.Add("\u2029;")
	f.Fuzz(func(t *testing.T, script string) {
		statements, err := Split(script)
		if err != nil {
			require.ErrorIs(t, err, ErrUnterminated)
			return
		}
		// A statement that was split off is, with its semicolon, a script of one statement.
		for _, s := range statements {
			again, err := Split(s.Text + ";")
			require.NoError(t, err)
			require.Len(t, again, 1)
			require.Equal(t, s.Text, again[0].Text)
		}
	})
}
