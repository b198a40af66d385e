package checkpoint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/modeljson"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// CalibrationFile says what the steps of a path of labels count (model.Path):
//
//	{"operating_points": {"default": {"biases": {"transition_bias_background_stay": 0.0, …}}}}
//
// The operating point "default" is the one that is read. A file without it is an error, since its numbers would be ignored.
const CalibrationFile = "viterbi_calibration.json"

// pathKeys are the names of a path's steps.
var pathKeys = [...]string{
	model.StayOutside: "transition_bias_background_stay", model.Enter: "transition_bias_background_to_start", model.GoOn: "transition_bias_inside_to_continue",
	model.Finish: "transition_bias_inside_to_end", model.Leave: "transition_bias_end_to_background", model.EnterNext: "transition_bias_end_to_start",
}

// addCalibration reads CalibrationFile. A step that the file does not name counts 0.
func addCalibration(c *model.Config, data []byte) error {
	var file struct {
		Points map[string]struct {
			Biases map[string]float32 `json:"biases"`
		} `json:"operating_points"`
	}
	if err := modeljson.Unmarshal(data, &file); err != nil {
		return err
	}
	point, ok := file.Points["default"]
	if !ok || point.Biases == nil {
		return fmt.Errorf("it has the operating points %.200q, and none with biases is called default", slices.Sorted(maps.Keys(file.Points)))
	}
	if !c.Head.Each() {
		return unsupported.Errorf("it is about labels of tokens, and the model puts no labels on tokens")
	}
	path := &model.Path{}
	for _, key := range slices.Sorted(maps.Keys(point.Biases)) {
		step := slices.Index(pathKeys[:], key)
		if step < 0 {
			return unsupported.Errorf("%.100q is no step from label to label that is implemented", key)
		}
		path[step] = point.Biases[key]
	}
	c.Head.Path = path
	return c.Validate()
}
