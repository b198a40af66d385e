package wire

import (
	"errors"
	"fmt"
	"strings"
)

// errImage is what errors of images wrap.
var errImage = errors.New("an image")

// someModel stands in errors of images until NameModel knows better.
const someModel = "the model's vision part"

// Image returns the error of a parameter that is an image, or that says so by its value kind: status 400. Of models that also see images, only the model
// of text is loaded.
func Image(param, kind string) *Error {
	e := Unsupported(param, "%s is %.40q: %s is not loaded, the model reads text alone; send text", param, kind, someModel)
	e.Err = errImage
	return e
}

// NameModel returns err or, if err refuses an image, err with the name of the model that was asked; "" changes nothing.
func NameModel(err error, model string) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || model == "" || !errors.Is(e, errImage) {
		return err
	}
	named := *e
	named.Message = strings.Replace(e.Message, someModel, fmt.Sprintf("the vision part of the model %.200q", model), 1)
	return &named
}
