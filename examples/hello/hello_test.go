package main

func Example() {
	main()
	// Output: The capital of Japan is Tokyo.
}
