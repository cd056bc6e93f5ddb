// Package httpoutcome tells what one net/http attempt proves about the other side: can the effect have happened?
//
// A lost answer is not a failure. For every attempt there are three outcomes, and the zero value is the careful one:
//
//   - [NotSent]: no effect can come of it. No connection was ever handed to the request (dial, DNS, TLS, proxy failed), or an
//     HTTP/2 peer has promised that it did not process the stream.
//   - [Unknown]: a byte may have been written and no complete, valid response came back. Only the service can tell more.
//   - [Answered]: a complete, final response was received. What its status means is the caller's contract to say.
//
// The smallest use:
//
//	res, err := httpoutcome.Do(http.DefaultTransport, req, 1<<20)
//	switch res.Outcome {
//	case httpoutcome.Answered: use(res.Response.StatusCode, res.Body) // err is nil
//	case httpoutcome.NotSent:  sendAgainLater(err)
//	default:                   askTheService(err) // never a blind resend
//	}
//
// # One attempt is one wire attempt
//
// http.Transport re-sends a request on its own when a reused connection dies and the request looks replayable: a POST is,
// once it carries Idempotency-Key or X-Idempotency-Key and has no body or a GetBody. Its HTTP/2 side re-sends more than that,
// even after a PROTOCOL_ERROR, which promises nothing. [Begin] takes these ways away: see there. Redirects are never followed,
// because a RoundTripper does not follow them. Requests that are safe by method (GET, HEAD, OPTIONS, TRACE) may still be re-sent
// by net/http; [Result.WireAttempts] counts it.
//
// # What it rests on
//
// The evidence is [net/http/httptrace]: a transport that reports GetConn and never GotConn wrote nothing. A RoundTripper
// that reports nothing (a fake, HTTP/3) gets Unknown for every error. A RoundTripper that sends some attempts with the
// request's context and some without it, or goes on sending after it returned, cannot be judged by anyone outside of it.
//
// NotSent speaks of this attempt only. It does not speak of earlier ones, and a cancelled context ends our waiting but
// proves nothing about the other side.
package httpoutcome
