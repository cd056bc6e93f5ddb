package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// errand is what one process of a contender is asked to do: place the jobs' orders
// in the shop. It is the process's last argument, as JSON. The same file stands in
// the module of the peers.
type errand struct {
	Shop     string   // base URL of the shop
	Dir      string   // where the contender may keep what it wants to remember
	Jobs     []string // each is one order, and stays the same over deliveries
	Executor string   // the name of the process
	Log      string   // where a log is served that the processes share; empty: in Dir

	Token    string        // the shop's credential
	Key      recipe        // what the caller's code makes the idempotency key of
	Patience time.Duration // how long to wait for an answer

	Look     bool // the caller's code asks the shop before it sends again
	Warm     bool // the connection was in use before
	Spoil    bool // once there is an effect, the contender cannot record it
	Lookup   bool // the shop can be asked
	Keys     bool // the shop honours keys,
	Retains  time.Duration
	Operator bool // a person read the shop's ledger, and says what it holds
}

// recipe is what code makes an idempotency key of, where the contender has no name
// for the job that lives longer than one delivery.
type recipe string

const (
	ofJob     recipe = ""        // the job's ID
	perTry    recipe = "fresh"   // a fresh one per delivery
	ofRequest recipe = "request" // the request as it is sent, credentials included
)

// The words that a contender may say of a job. No word means that it does not know,
// or did not live to tell.
const (
	done   = "done"
	failed = "failed"
	held   = "held"
)

// word is one line of a contender's standard output.
type word struct{ Job, Says, Why string }

// parseErrand reads the last argument.
func parseErrand(args []string) (e errand, err error) {
	if len(args) == 0 {
		return e, errors.New("no errand")
	}
	return e, json.Unmarshal([]byte(args[len(args)-1]), &e)
}

// each does all jobs at once, and prints what is said of each.
func (e errand) each(do func(job string) (says, why string)) {
	if e.Warm {
		if resp, err := http.Get(e.Shop + "/"); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, job := range e.Jobs {
		wg.Go(func() {
			says, why := do(job)
			mu.Lock()
			defer mu.Unlock()
			_ = json.NewEncoder(os.Stdout).Encode(word{job, says, why})
		})
	}
	wg.Wait()
}

// body is the order: every job of the same order has the same. A customer who was
// told that an order failed orders again, and the new job's name tells so.
func body(job string) string {
	order, _, _ := strings.Cut(job, "_again")
	return `{"order":"` + order + `"}`
}

// request makes the request that places a job's order.
func (e errand) request(ctx context.Context, job string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.Shop+"/orders", strings.NewReader(body(job)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+e.Token)
	key := job
	switch e.Key {
	case perTry:
		key = fmt.Sprintf("%s:%d", job, time.Now().UnixNano())
	case ofRequest:
		key = "POST:" + job + ":" + e.Token
	}
	req.Header.Set("Idempotency-Key", key)
	return req, nil
}

// errPermanent says that another try is pointless, by what the status says.
var errPermanent = errors.New("refused")

// verdict reads an answer as most programs do: 2xx is done, 4xx is final, and
// everything else may be tried again.
func verdict(resp *http.Response, err error) error {
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	switch {
	case resp.StatusCode >= 500:
		return fmt.Errorf("status %d", resp.StatusCode)
	case resp.StatusCode >= 400:
		return fmt.Errorf("%w: status %d", errPermanent, resp.StatusCode)
	}
	return err
}

// ask asks the shop whether it has a job's order. An outage is an error.
func (e errand) ask(ctx context.Context, job string) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.Shop+"/receipts/"+job, nil)
	if err != nil {
		return false, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	switch resp.StatusCode {
	case http.StatusOK:
		return true, nil
	case http.StatusNotFound:
		return false, nil
	}
	return false, fmt.Errorf("lookup: status %d", resp.StatusCode)
}
