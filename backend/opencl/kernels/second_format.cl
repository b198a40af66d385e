// What comes next is compiled for another format of a program's weights: SECOND instead of FIRST. Both have blocks of 256.

#undef FORMAT
#define FORMAT SECOND

// What formats.cl and blocks.cl define anew.
#undef HALVES
#undef MINIMUMS
#undef FIFTHS
#undef NONLINEAR
#undef BLOCK
#undef ZERO
#undef SCALE_OF
#undef MINIMUM_OF
#undef LOWER
#undef UPPER
