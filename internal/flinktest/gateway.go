package flinktest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Session is a session of the SQL gateway: catalogs, settings and temporary objects live in it. It is
// used by one goroutine at a time.
type Session struct {
	cluster *Cluster
	url     string
}

// OpenSession opens a session. In it an INSERT waits for the end of its job (table.dml-sync), so that a
// job that fails is a statement that fails. The caller closes it.
func (c *Cluster) OpenSession(ctx context.Context) (*Session, error) {
	request := map[string]any{"properties": map[string]string{"table.dml-sync": "true"}}
	var answer struct {
		Handle string `json:"sessionHandle"`
	}
	base := "http://" + c.gateway + "/v2/sessions"
	if err := callJSON(ctx, c.http, http.MethodPost, base, request, &answer); err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	return &Session{cluster: c, url: base + "/" + answer.Handle}, nil
}

// Close closes the session; the gateway cancels what still runs in it.
func (s *Session) Close(ctx context.Context) error {
	ctx, cancel := closing(ctx)
	defer cancel()
	if err := callJSON(ctx, s.cluster.http, http.MethodDelete, s.url, nil, nil); err != nil {
		return fmt.Errorf("close session: %w", err)
	}
	return nil
}

// property returns the value of a setting of the session.
func (s *Session) property(ctx context.Context, name string) (string, error) {
	var answer struct {
		Properties map[string]string `json:"properties"`
	}
	if err := s.cluster.getJSON(ctx, s.url, &answer); err != nil {
		return "", err
	}
	return answer.Properties[name], nil
}

// Exec runs one statement, without semicolon, to its end and returns all rows of its result. It fails
// when the statement does, and when there are more than a million rows. A query without an end is
// cancelled, and is an error, when ctx ends: use Stream for those.
func (s *Session) Exec(ctx context.Context, statement string) (*Result, error) {
	const maxRows = 1_000_000
	var rows []Row
	r, err := s.Stream(ctx, statement, func(row Row) bool {
		rows = append(rows, row)
		return len(rows) <= maxRows
	})
	if err == nil && r.Stopped {
		err = fmt.Errorf("more than %d rows", maxRows)
	}
	if err != nil {
		return nil, err
	}
	r.Rows = rows
	return r, nil
}

// Stream runs one statement and hands over its rows as they come, until more returns false: then the
// statement is closed, which cancels its job, and the result says Stopped. A statement that ends by itself
// gives a result that was not stopped. Result.Rows stays empty. The job is perhaps still being cancelled when
// Stream returns; see [Cluster.AwaitJob].
func (s *Session) Stream(ctx context.Context, statement string, more func(Row) bool) (r *Result, err error) {
	var answer struct {
		Handle string `json:"operationHandle"`
	}
	request := map[string]any{"statement": statement}
	if err := callJSON(ctx, s.cluster.http, http.MethodPost, s.url+"/statements", request, &answer); err != nil {
		return nil, err
	}
	operation := s.url + "/operations/" + answer.Handle
	defer func() {
		ctx, cancel := closing(ctx)
		defer cancel()
		// A failed statement is closed by the gateway itself; for others this error matters.
		cerr := callJSON(ctx, s.cluster.http, http.MethodDelete, operation+"/close", nil, nil)
		if err == nil && cerr != nil {
			r, err = nil, fmt.Errorf("close statement: %w", cerr)
		}
	}()
	r = &Result{SQL: statement}
	next := operation + "/result/0?rowFormat=JSON"
	for {
		var page resultPage
		if err := s.cluster.getJSON(ctx, next, &page); err != nil {
			return nil, err
		}
		got, err := page.rows(r)
		if err != nil {
			return nil, err
		}
		for _, row := range got {
			if !more(row) {
				r.Stopped = true
				return r, nil
			}
		}
		if page.Type == "EOS" {
			return r, nil
		}
		if page.Next != "" {
			next = "http://" + s.cluster.gateway + page.Next
		}
		if len(got) == 0 {
			if err := pause(ctx); err != nil {
				return nil, err
			}
		}
	}
}

// closing returns a context for cleaning up after ctx has ended.
func closing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
}

// ServerError is an error that Flink answered with.
type ServerError struct {
	Cause string // the innermost cause, in one line
	Text  string // everything, with Java stack traces
}

// Error returns the innermost cause.
func (e *ServerError) Error() string { return e.Cause }

// newServerError finds the last cause in the stack traces of the answer.
func newServerError(status string, body []byte) *ServerError {
	var answer struct {
		Errors []string `json:"errors"`
	}
	if json.Unmarshal(body, &answer) != nil || len(answer.Errors) == 0 {
		answer.Errors = []string{status + ": " + string(body)}
	}
	text := strings.Join(answer.Errors, "\n")
	cause, _, _ := strings.Cut(text, "\n")
	for line := range strings.Lines(text) {
		if after, ok := strings.CutPrefix(line, "Caused by: "); ok {
			cause = strings.TrimSpace(after)
		}
	}
	return &ServerError{Cause: cause, Text: text}
}

// callJSON sends a request with a JSON body, or none for nil, and reads the JSON answer into into
// unless that is nil. An answer with an error status is a [ServerError].
func callJSON(ctx context.Context, client *http.Client, method, url string, body, into any) error {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(b)
	}
	request, err := http.NewRequestWithContext(ctx, method, url, content)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := readAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return newServerError(response.Status, answer)
	}
	return decode(answer, into)
}
