package checkpoint

// Classes returns the classes of the families, as config.json calls them under architectures, in the order of the table of families.
func Classes() []string {
	var list []string
	for i := range families {
		list = append(list, families[i].class)
	}
	return list
}
