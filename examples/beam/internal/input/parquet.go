package input

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"github.com/parquet-go/parquet-go"
)

// rowsAtOnce is how many rows are read in one go. Each may turn out to be too long, and then is in memory already; computing a row takes so
// much longer than reading one that more at once save nothing.
const rowsAtOnce = 1

// parquetRows returns the rows as JSON objects with the columns as members. Columns without a value are left out.
func parquetRows(r io.Reader, _ string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		f, closeCopy, err := local(r)
		if err != nil {
			yield("", err)
			return
		}
		defer closeCopy()
		info, err := f.Stat()
		if err != nil {
			yield("", err)
			return
		}
		file, err := guarded(func() (*parquet.File, error) { return parquet.OpenFile(f, info.Size()) })
		if err != nil {
			yield("", err)
			return
		}
		for _, group := range file.RowGroups() {
			if !parquetGroup(group, yield) {
				return
			}
		}
	}
}

// parquetGroup passes on the rows of a row group, and reports whether to go on.
func parquetGroup(group parquet.RowGroup, yield func(string, error) bool) bool {
	schema := group.Schema()
	rows := group.Rows()
	defer rows.Close()
	batch := make([]parquet.Row, rowsAtOnce)
	for {
		n, err := guarded(func() (int, error) { return rows.ReadRows(batch) })
		for _, row := range batch[:n] {
			text, err := "", rowFits(row)
			if err == nil {
				text, err = guarded(func() (string, error) { return rowJSON(schema, row) })
			}
			if len(text) > maxLine {
				text, err = "", tooLong()
			}
			if !yield(text, err) || err != nil {
				return false
			}
		}
		if err == io.EOF {
			return true
		}
		if err != nil {
			yield("", err)
			return false
		}
	}
}

// rowFits returns an error if a row's values are longer than a record may be.
func rowFits(row parquet.Row) error {
	bytes := 0
	for _, v := range row {
		if k := v.Kind(); k == parquet.ByteArray || k == parquet.FixedLenByteArray {
			bytes += len(v.ByteArray())
		}
		if bytes > maxLine {
			return tooLong()
		}
	}
	return nil
}

// guarded calls a function of the library, which panics if some files are damaged.
func guarded[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the file is damaged: %v", p)
		}
	}()
	return f()
}

// rowJSON writes a row as a JSON object.
func rowJSON(schema *parquet.Schema, row parquet.Row) (string, error) {
	var columns any
	if err := schema.Reconstruct(&columns, row); err != nil {
		return "", err
	}
	if members, ok := columns.(map[string]any); ok {
		for name, value := range members {
			if value == nil {
				delete(members, name)
			}
		}
	}
	data, err := json.Marshal(columns)
	return string(data), err
}
