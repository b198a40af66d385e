package main

func Example() {
	main()
	// Output:
	// get_weather({"city": "Nairobi"}) = {"sky":"sunny","temperature":17}
	// It is 17 degrees and sunny in Nairobi.
}
