package main

func Example() {
	main()
	// Output:
	// The code for the red vault is 3438. (none: 213 tokens in the cache)
	// The code for the red vault is 5982. (sliding: 67 tokens in the cache)
	// The code for the red vault is 3438. (longest keys: 67 tokens in the cache)
}
