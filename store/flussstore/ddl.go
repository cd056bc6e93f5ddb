package flussstore

import (
	"fmt"
	"slices"
	"strings"
)

// ProjectionTable is the name of the projection: one current row per event.
const ProjectionTable = "events_by_id"

// The comments that the tables have, however they were created.
const (
	logComment        = "intentlog: the nine columns of an event, kept for ever"
	projectionComment = "intentlog: one row per event, made from the log"
)

// DDL returns the Flink SQL, two statements with a semicolon behind each, that
// creates the log table and its projection in a Fluss catalog's current database,
// as [Open] would create the log. Options may be nil; Table, Buckets, Replicas and
// Format count.
func DDL(opts *Options) string {
	o := opts.withDefaults()
	var b strings.Builder
	log := properties(o)
	log["bucket.num"] = fmt.Sprint(o.Buckets)
	log["bucket.key"] = "job_id"
	createTable(&b, o.Table, "", logComment, log)
	b.WriteByte('\n')
	proj := projectionProperties(o)
	proj["bucket.num"] = fmt.Sprint(o.Buckets)
	createTable(&b, ProjectionTable, "event_id", projectionComment, proj)
	return b.String()
}

// projectionProperties are the properties that the projection is created with. It can be
// made again at any time, so its change log needs no rule about compression or about
// segments. The first row of a key stays: whatever is imported again, in whatever way,
// no row goes back, and no second event under an ID replaces the first.
func projectionProperties(o Options) map[string]string {
	p := map[string]string{propTTL: foreverTTL, propLake: "false", propMerge: firstRow}
	if r := properties(o)[propReplicas]; r != "" {
		p[propReplicas] = r
	}
	return p
}

const (
	propMerge = "table.merge-engine"
	firstRow  = "first_row"
)

func createTable(b *strings.Builder, name, key, comment string, props map[string]string) {
	fmt.Fprintf(b, "CREATE TABLE `%s` (\n", strings.ReplaceAll(name, "`", "``"))
	for i, c := range sqlColumns {
		column, typ, _ := strings.Cut(c, " ")
		if column == key {
			typ += " NOT NULL"
		}
		sep := ","
		if i == len(sqlColumns)-1 && key == "" {
			sep = ""
		}
		fmt.Fprintf(b, "  `%s` %s%s\n", column, typ, sep)
	}
	if key != "" {
		fmt.Fprintf(b, "  PRIMARY KEY (`%s`) NOT ENFORCED\n", key)
	}
	fmt.Fprintf(b, ") COMMENT '%s' WITH (\n", comment)
	keys := make([]string, 0, len(props))
	for k := range props {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for i, k := range keys {
		sep := ","
		if i == len(keys)-1 {
			sep = ""
		}
		fmt.Fprintf(b, "  '%s' = '%s'%s\n", k, props[k], sep)
	}
	b.WriteString(");\n")
}
