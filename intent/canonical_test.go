package intent_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
)

func TestCanonicalForm(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{
			"rfc8785_sorting", // RFC 8785, 3.2.3: by UTF-16 units, so the astral key comes before U+FB33
			`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",` +
				`"\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			`{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis",` +
				`"€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`,
		},
		{
			"rfc8785_strings_and_literals", // RFC 8785, 3.2.2, with the numbers in their final form
			`{"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27]}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		{"shortest_escapes", `"\u0008\u0009\u000a\u000c\u000d\u0000\u001f\u007f"`, `"\b\t\n\f\r\u0000\u001f` + "\x7f" + `"`},
		{"white_space_goes", " {\t\"b\" : [ 1 , 2 ] ,\r\n\"a\" : { } } ", `{"a":{},"b":[1,2]}`},
		{"html_stands", `"\u003ca\u0026\u2028"`, "\"<a&\u2028\""},
		{"nested_keys", `[{"b":{"d":1,"c":2},"a":0}]`, `[{"a":0,"b":{"c":2,"d":1}}]`},
		{"array_order_stands", `[3,1,2]`, `[3,1,2]`},
		{"lone_number", ` 42 `, `42`},
		{"lone_string", `"\u0061"`, `"a"`},
		{"lone_literal", ` null`, `null`},
		{"empty_key", `{"":1}`, `{"":1}`},
		{"not_normalised", "[\"\u00e9\",\"e\u0301\"]", "[\"\u00e9\",\"e\u0301\"]"},
		{"escaped_backslash_before_u", `"\\ud800"`, `"\\ud800"`},
		{"largest_exact_integers", `[9007199254740991,-9007199254740992,100000000000000000000]`, `[9007199254740991,-9007199254740992,100000000000000000000]`},
		{"float_limits", `[5e-324,1.7976931348623157e+308,1e+21,0.000001,1e-7]`, `[5e-324,1.7976931348623157e+308,1e+21,0.000001,1e-7]`},
		{"depth", strings.Repeat("[", 100) + strings.Repeat("]", 100), strings.Repeat("[", 100) + strings.Repeat("]", 100)},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := []byte(c.in)
			got, err := intent.Canonical(in)
			require.NoError(t, err)
			require.Equal(t, c.want, string(got))
			require.Equal(t, c.in, string(in), "the caller's bytes stand")
			raw, err := intent.Canonical(json.RawMessage(c.in))
			require.NoError(t, err)
			require.Equal(t, c.want, string(raw))
		})
	}
}

func TestTextWithoutCanonicalForm(t *testing.T) {
	for name, text := range map[string]string{
		"number_with_zero_fraction": `1.0`,
		"number_with_exponent":      `1e2`,
		"number_capital_exponent":   `1E+30`,
		"number_plain_exponent":     `1e30`,
		"number_2^53+1":             `9007199254740993`,
		"number_20_digits":          `12345678901234567890`,
		"number_minus_zero":         `-0`,
		"number_minus_zero_float":   `-0.0`,
		"number_too_precise":        `0.1000000000000000055`,
		"number_infinite":           `1e400`,
		"number_vanishes":           `1e-400`,
		"number_long_exponent":      `1e99999999999999999999`,
		"number_of_many_digits":     strings.Repeat("9", 5000),
		"number_leading_zero":       `01`,
		"number_plus":               `+1`,
		"number_hex":                `0x1`,
		"number_bare_point":         `1.`,
		"number_nan":                `NaN`,
		"number_deep_inside":        `{"a":[{"b":1.50}]}`,
		"duplicate_keys":            `{"a":1,"a":2}`,
		"duplicate_keys_equal":      `{"a":1,"a":1}`,
		"duplicate_keys_escaped":    `{"a":1,"\u0061":1}`,
		"duplicate_keys_inside":     `[{"b":{"x":1,"y":2,"x":3}}]`,
		"duplicate_keys_astral":     `{"😀":1,"\ud83d\ude00":1}`,
		"lone_high_surrogate":       `"\ud800"`,
		"lone_high_then_text":       `"\ud800x"`,
		"lone_high_then_escape":     `"\ud800\n"`,
		"lone_high_twice":           `"\ud800\ud800"`,
		"lone_low_surrogate":        `"\udc00"`,
		"surrogates_reversed":       `"\ude00\ud83d"`,
		"lone_surrogate_key":        `{"\udfff":1}`,
		"not_utf8":                  "\"\xff\"",
		"surrogate_as_utf8":         "\"\xed\xa0\x80\"",
		"overlong_utf8":             "\"\xc0\xaf\"",
		"not_utf8_between":          "[1,\xff2]",
		"byte_order_mark":           "\ufeff1",
		"empty":                     ``,
		"white_space":               ` `,
		"two_values":                `1 2`,
		"trailing_bracket":          `[]]`,
		"trailing_brace":            `{}}`,
		"trailing_nul":              "{}\x00",
		"trailing_comma":            `[1,]`,
		"trailing_comma_object":     `{"a":1,}`,
		"missing_comma":             `[1 2]`,
		"leading_comma":             `[,1]`,
		"missing_value":             `{"a":}`,
		"missing_colon":             `{"a" 1}`,
		"key_without_quotes":        `{a:1}`,
		"key_that_is_a_number":      `{1:1}`,
		"single_quotes":             `'a'`,
		"wrong_bracket":             `[}`,
		"unclosed_array":            `[1`,
		"unclosed_object":           `{"a":1`,
		"unclosed_string":           `"a`,
		"raw_control_character":     "\"\n\"",
		"unknown_escape":            `"\x41"`,
		"short_escape":              `"\u12"`,
		"signed_escape":             `"\u+123"`,
		"literal_in_capitals":       `TRUE`,
		"comment":                   `[1/**/]`,
		"too_deep":                  strings.Repeat("[", 101) + strings.Repeat("]", 101),
		"far_too_deep":              strings.Repeat(`{"a":`, 1_000_000),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := intent.Canonical([]byte(text))
			require.ErrorIs(t, err, intent.ErrNotCanonical)
			require.Nil(t, got)
			require.Less(t, len(err.Error()), 300, "errors do not repeat the text")
		})
	}
}

func TestCanonicalOfGoValues(t *testing.T) {
	got, err := intent.Canonical(map[string]any{"b": 1, "a": []string{"<", "\ufffd", `\ufffd`}, "c": 1e21})
	require.NoError(t, err)
	require.Equal(t, "{\"a\":[\"<\",\"\ufffd\",\"\\\\ufffd\"],\"b\":1,\"c\":1e+21}", string(got))

	for name, v := range map[string]any{
		"int_2^53+1":      int64(1)<<53 + 1,
		"minus_zero":      math.Copysign(0, -1),
		"string_not_utf8": "\xff",
		"key_not_utf8":    map[string]int{"\xff": 1},
		"raw_duplicates":  struct{ A json.RawMessage }{json.RawMessage(`{"a":1,"a":2}`)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := intent.Canonical(v)
			require.ErrorIs(t, err, intent.ErrNotCanonical)
		})
	}
	_, err = intent.Canonical(math.NaN())
	require.Error(t, err)
	_, err = intent.Canonical(func() {})
	require.Error(t, err)
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		`{"b":[1,2.5,"\u20ac"],"a":null}`, `1.0`, `"\ud83d\ude00"`, `{"a":1,"\u0061":2}`, `[[[]]]`, "\xff", `1 2`, `-0`, `[1,]`, `{"a":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := intent.Canonical(text)
		if err != nil {
			require.ErrorIs(t, err, intent.ErrNotCanonical)
			return
		}
		again, err := intent.Canonical(got)
		require.NoError(t, err)
		require.Equal(t, string(got), string(again), "idempotent")
		require.True(t, json.Valid(text))
		require.True(t, reflect.DeepEqual(literals(t, text), literals(t, got)), "the same value: %q, %q", text, got)
	})
}

// literals decodes text with its numbers as they are written.
func literals(t *testing.T, text []byte) (v any) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	require.NoError(t, dec.Decode(&v))
	return v
}
