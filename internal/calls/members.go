package calls

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Member is a member of a JSON object.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Members are the members of a JSON object in their order.
type Members []Member

// MembersOf reads an object.
func MembersOf(data []byte) (Members, error) {
	list, err := readMembers(data)
	if err != nil || list == nil {
		return nil, errors.Join(err, fmt.Errorf("%.80q is no JSON object", data))
	}
	return list, nil
}

// readMembers is MembersOf. It returns nil for a value of another type.
func readMembers(data []byte) (list Members, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, err
	}
	list = Members{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := Member{Name: name.(string)}
		if err := d.Decode(&m.Value); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	if _, err := d.Token(); err != nil { // the brace
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.Join(err, errors.New("something follows it"))
	}
	return list, nil
}

// Get returns a member's value, nil if there is no such member. Of several with the name it is the last, as for encoding/json.
func (m Members) Get(name string) (value json.RawMessage) {
	for _, one := range m {
		if one.Name == name {
			value = one.Value
		}
	}
	return value
}
