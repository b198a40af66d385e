package chat

import (
	"strings"
	"time"
)

// strftimeCodes are the directives of C's strftime, each with the layout of Go's package time that means the same.
var strftimeCodes = map[byte]string{
	'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'e': "_2", 'B': "January", 'b': "Jan", 'h': "Jan", 'A': "Monday", 'a': "Mon", 'j': "002",
	'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'Z': "MST", 'z': "-0700",
	'F': "2006-01-02", 'D': "01/02/06", 'T': "15:04:05", 'R': "15:04", 'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06", 'X': "15:04:05",
}

// unpadded are the layouts of the directives that glibc's %- prints without a leading zero.
var unpadded = map[byte]string{'d': "2", 'm': "1", 'I': "3", 'M': "4", 'S': "5"}

// maxFormat bounds a format, in bytes.
const maxFormat = 1000

// strftime formats a time as C does; directives that it does not know stay as they are.
func strftime(t time.Time, format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		layout := strftimeCodes[format[i]]
		if format[i] == '-' && i+1 < len(format) && unpadded[format[i+1]] != "" {
			i++
			layout = unpadded[format[i]]
		}
		switch {
		case layout != "":
			b.WriteString(t.Format(layout))
		case format[i] == '%':
			b.WriteByte('%')
		default: // unknown: as it stands
			b.WriteString("%" + format[i:i+1])
		}
	}
	return b.String()
}
