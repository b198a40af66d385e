package main

import "testing"

func TestPython(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"b":1,"a":[1,2 , {}],"c":[]}`, `{"b": 1, "a": [1, 2, {}], "c": []}`},
		{`{"a":1,"b":2,"a":{"x":null}}`, `{"a": {"x": null}, "b": 2}`},
		{`[true,false,null,"\/"]`, `[true, false, null, "/"]`},
		{"\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\\u007f\\\"\\\\<é\\ud83d\\ude00\"", "\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\x7f\\\"\\\\<é😀\""},
		{`[0,-0,12,-5,123456789012345678901234567890]`, `[0, 0, 12, -5, 123456789012345678901234567890]`},
		{`[1.0,1.50,-0.0,0.1,1e5,1E-4,1e-5,1.5e15,1e16,123456789012345680.0,1e-7,2.5E+300,1e400,-1e400,5e-324]`,
			`[1.0, 1.5, -0.0, 0.1, 100000.0, 0.0001, 1e-05, 1500000000000000.0, 1e+16, 1.2345678901234568e+17, 1e-07, 2.5e+300, Infinity, -Infinity, 5e-324]`},
	} {
		got, err := appendPython(nil, []byte(c.in))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v\nwant %s", c.in, got, err, c.want)
		}
	}
	if _, err := appendPython(nil, []byte(`{"a":`)); err == nil {
		t.Error("half a document is taken")
	}
}
