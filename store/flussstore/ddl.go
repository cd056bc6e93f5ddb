package flussstore

import (
	"fmt"
	"slices"
	"strings"
)

// ProjectionTable is the name of the projection: one current row per event.
const ProjectionTable = "events_by_id"

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
	createTable(&b, o.Table, "", log)
	b.WriteByte('\n')
	// The projection is a view of the log that can be made again at any time; its
	// own change log needs no compression rule and no readers of old offsets.
	proj := map[string]string{
		"bucket.num": fmt.Sprint(o.Buckets), propTTL: foreverTTL, propLake: "false",
	}
	if r := log[propReplicas]; r != "" {
		proj[propReplicas] = r
	}
	createTable(&b, ProjectionTable, "event_id", proj)
	return b.String()
}

func createTable(b *strings.Builder, name, key string, props map[string]string) {
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
	b.WriteString(") WITH (\n")
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
