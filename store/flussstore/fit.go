package flussstore

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrUnfit is wrapped by every [UnfitError].
var ErrUnfit = errors.New("the table is not fit for an intent log")

// UnfitError says what about a table forbids keeping an intent log in it.
type UnfitError struct {
	Table string // database.table
	What  string // the property, or the part of the schema
	Have  string
	Want  string
}

func (e *UnfitError) Error() string {
	return fmt.Sprintf("table %s: %v: %s is %q, want %q", e.Table, ErrUnfit, e.What, e.Have, e.Want)
}

func (e *UnfitError) Unwrap() error { return ErrUnfit }

// sqlColumns are the nine columns with their types.
var sqlColumns = []string{
	"job_id STRING", "event_id STRING", "attempt INT", "step INT", "event_type STRING",
	"action_id STRING", "payload_digest STRING", "emitted_at_ms BIGINT", "detail STRING",
}

// The table properties that keep history readable for ever.
const (
	propTTL           = "table.log.ttl"
	propLocalTTL      = "table.log.local-ttl"
	propLocalSegments = "table.log.tiered.local-segments"
	propLake          = "table.datalake.enabled"
	propFormat        = "table.log.format"
	propCompression   = "table.log.arrow.compression.type"
	propReplicas      = "table.replication.factor"

	foreverTTL       = "0ms"
	allSegmentsLocal = "2147483647"
)

// properties are the properties that a table is created with.
func properties(o Options) map[string]string {
	p := map[string]string{
		propTTL: foreverTTL, propLocalSegments: allSegmentsLocal, propLake: "false", propFormat: o.Format.String(),
	}
	if o.Format == Arrow {
		p[propCompression] = "none"
	}
	if o.Replicas > 0 {
		p[propReplicas] = strconv.Itoa(o.Replicas)
	}
	return p
}

// fit reports the first reason why a table could lose, hide or misplace history.
func fit(name string, info tableInfo) error {
	unfit := func(what, have, want string) error {
		return &UnfitError{Table: name, What: what, Have: have, Want: want}
	}
	list := func(s []string) string { return strings.Join(s, ", ") }
	switch {
	case len(info.primaryKey) > 0:
		return unfit("primary key", list(info.primaryKey), "")
	case len(info.partitions) > 0:
		return unfit("partition key", list(info.partitions), "")
	case !slices.Equal(info.columns, sqlColumns):
		return unfit("columns", list(info.columns), list(sqlColumns))
	case !slices.Equal(info.bucketKey, []string{"job_id"}) && info.buckets > 1:
		return unfit("bucket.key", list(info.bucketKey), "job_id")
	}
	p := info.properties
	for _, ttl := range []string{propTTL, propLocalTTL} {
		have, set := p[ttl]
		if ttl == propLocalTTL && !set {
			continue // it inherits the other
		}
		if !set {
			have = "7d (the default)"
		}
		if !disabled(have) {
			return unfit(ttl, have, foreverTTL)
		}
	}
	if have := p[propLake]; have != "" && !strings.EqualFold(have, "false") {
		return unfit(propLake, have, "false")
	}
	if n, err := strconv.Atoi(p[propLocalSegments]); err != nil || n < 1<<31-1 {
		have := p[propLocalSegments]
		if have == "" {
			have = "2 (the default)"
		}
		return unfit(propLocalSegments, have, allSegmentsLocal)
	}
	return nil
}

// disabled reports whether a duration is zero, in any unit: Fluss then never expires.
func disabled(d string) bool {
	d = strings.TrimSpace(d)
	unit := strings.TrimLeft(d, "0123456789")
	n, err := strconv.ParseInt(strings.TrimSuffix(d, unit), 10, 64)
	return err == nil && n == 0
}
