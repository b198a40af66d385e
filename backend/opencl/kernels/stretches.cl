// The stretches of an operation's rows, and their states. A launch takes up to STATES of them, each with a state in a buffer of its own.

typedef struct {
  int row[STATES];  // the first row
  int rows[STATES];
  int at[STATES];   // where the state begins in its buffer
} stretches;

// STATE_ARGUMENTS are the buffers as arguments, and STATE(i) is one of them.
#if STATES == 1
#define STATE_ARGUMENTS output s0
#define STATE(i) (s0)
#else
#define STATE_ARGUMENTS output s0, output s1, output s2, output s3, output s4, output s5, output s6, output s7
#define STATE(i) ((i) < 4 ? (i) < 2 ? (i) < 1 ? s0 : s1 : (i) < 3 ? s2 : s3 : (i) < 6 ? (i) < 5 ? s4 : s5 : (i) < 7 ? s6 : s7)
#endif
