package intent_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
)

func TestAPathStaysBelowItsBase(t *testing.T) {
	for _, path := range []string{"/.", "/..", "/a/../b", "/a/./b", "/a/%2e%2e/b", "/a/%2E./b", "/%2e", "/..?x=1"} {
		_, err := intent.POST("pay", path, nil).WithAction("a").Detail()
		require.ErrorIs(t, err, intent.ErrBadRoute, path)
	}
	for _, path := range []string{"/", "/...", "/.well-known/x", "/a..b/%2f", "/a?next=/../b"} {
		_, err := intent.POST("pay", path, nil).WithAction("a").Detail()
		require.NoError(t, err, path)
	}
}

func TestAQueryThatMayCarryACredentialIsRefused(t *testing.T) {
	for _, query := range []string{
		"api_key=hunter2", "x=1&access_token=hunter2", "X-Amz-Signature=hunter2", "SESSION=hunter2",
		"client_secret=hunter2&x=ü", "auth_key=hunter2", "password=hunter2",
		"access%5Ftoken=hunter2", "x=1;%61pi_key=hunter2",
	} {
		_, err := intent.POST("pay", "/v1?"+query, nil).WithAction("a").Detail()
		require.ErrorIs(t, err, intent.ErrBadRoute, query)
		require.NotContains(t, err.Error(), "hunter2")
	}
	_, err := intent.POST("pay", "/v1?expand=token&limit=1", nil).WithAction("a").Detail()
	require.NoError(t, err, "a value is no name")
}

func TestAHeaderThatMayCarryACredentialIsRefused(t *testing.T) {
	for _, name := range []string{"X-Auth-Key", "X-Amz-Signature", "X-Session", "X-Session-Id", "Authorization", "X-Api-Key"} {
		in := intent.POST("pay", "/v1", nil).WithAction("a")
		in.Route.Header = []intent.Field{{Name: name, Value: "hunter2"}}
		_, err := in.Detail()
		require.ErrorIs(t, err, intent.ErrForbiddenHeader, name)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestEveryByteOfARoute(t *testing.T) {
	const token = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	for c := range 256 {
		s := string([]byte{byte(c)})
		for what, wrong := range map[string]struct {
			route intent.Route
			legal bool
		}{
			"method": {intent.Route{Method: s, Target: "pay", Path: "/"}, c >= 'A' && c <= 'Z'},
			"path":   {intent.Route{Method: "POST", Target: "pay", Path: "/a" + s}, c > ' ' && c < 0x7f && c != '#'},
			"name":   {intent.Route{Method: "POST", Target: "pay", Path: "/", Header: []intent.Field{{Name: s}}}, strings.Contains(token, s)},
			"value": {
				intent.Route{Method: "POST", Target: "pay", Path: "/", Header: []intent.Field{{Name: "A", Value: "x" + s + "y"}}},
				c >= ' ' && c < 0x7f,
			},
			"value's end": {
				intent.Route{Method: "POST", Target: "pay", Path: "/", Header: []intent.Field{{Name: "A", Value: s}}},
				c > ' ' && c < 0x7f,
			},
		} {
			_, err := intent.Intent{Action: "a", Route: wrong.route}.Detail()
			require.Equal(t, wrong.legal, err == nil, "%s with byte %#02x: %v", what, c, err)
		}
	}
}
