package flinktest

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Result is the outcome of one statement that succeeded.
type Result struct {
	SQL     string   // the statement
	Columns []Column // empty as long as the gateway has named none
	Rows    []Row    // all rows, for Exec
	JobID   string   // of the Flink job, if there was one
	Query   bool     // whether the rows are those of a query
	Stopped bool     // whether Stream was told to stop before the end
}

// Column is a column of a result.
type Column struct {
	Name string
	Type string // the root of Flink's logical type: INTEGER, VARCHAR, ...
}

// Row is a row of a result.
type Row struct {
	// Kind is INSERT, or in the changelog of a streaming query UPDATE_BEFORE, UPDATE_AFTER or DELETE.
	Kind string
	// Fields holds, by the column's type: int64 for TINYINT to BIGINT, float64 for FLOAT and DOUBLE,
	// bool, string for texts, nil for NULL; for every other type the JSON that Flink wrote, as
	// json.RawMessage.
	Fields []any
}

// Fields returns the fields of all rows, for comparison with literals.
func (r *Result) Fields() [][]any {
	fields := make([][]any, len(r.Rows))
	for i, row := range r.Rows {
		fields[i] = row.Fields
	}
	return fields
}

// resultPage is the gateway's JSON for one fetch of a result.
type resultPage struct {
	Type    string `json:"resultType"` // NOT_READY, PAYLOAD or EOS
	Next    string `json:"nextResultUri"`
	JobID   string `json:"jobID"`
	Query   bool   `json:"isQueryResult"`
	Results struct {
		Columns []struct {
			Name string `json:"name"`
			Type struct {
				Root string `json:"type"`
			} `json:"logicalType"`
		} `json:"columns"`
		Data []struct {
			Kind   string            `json:"kind"`
			Fields []json.RawMessage `json:"fields"`
		} `json:"data"`
	} `json:"results"`
}

// rows returns the typed rows of the page and completes what r knows of the result.
func (p *resultPage) rows(r *Result) ([]Row, error) {
	if p.JobID != "" {
		r.JobID = p.JobID
	}
	r.Query = r.Query || p.Query
	if r.Columns == nil {
		for _, c := range p.Results.Columns {
			r.Columns = append(r.Columns, Column{Name: c.Name, Type: c.Type.Root})
		}
	}
	rows := make([]Row, len(p.Results.Data))
	for i, d := range p.Results.Data {
		if len(d.Fields) != len(r.Columns) {
			return nil, fmt.Errorf("row of %d fields for %d columns", len(d.Fields), len(r.Columns))
		}
		rows[i] = Row{Kind: d.Kind, Fields: make([]any, len(d.Fields))}
		for j, raw := range d.Fields {
			v, err := value(r.Columns[j].Type, raw)
			if err != nil {
				return nil, fmt.Errorf("column %s: %w", r.Columns[j].Name, err)
			}
			rows[i].Fields[j] = v
		}
	}
	return rows, nil
}

func value(kind string, raw json.RawMessage) (any, error) {
	if string(raw) == "null" {
		return nil, nil
	}
	switch kind {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT":
		return strconv.ParseInt(string(raw), 10, 64)
	case "FLOAT", "DOUBLE":
		return strconv.ParseFloat(string(raw), 64)
	case "BOOLEAN":
		return strconv.ParseBool(string(raw))
	case "CHAR", "VARCHAR":
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	default:
		return raw, nil
	}
}
