// The stretches of an operation's rows, and their states. A launch takes one of them, or up to STATES, each with a state in a buffer of its own.

// STATE_ARGUMENTS are a kernel's arguments, STATE(i) is the buffer of a stretch, AT(i) is where the state begins there, ROW(i) the first of the
// stretch's rows, and ROWS(i) their number.
#if STATES == 1
#define STATE_ARGUMENTS output s0, int row0, int rows0, int at0
#define STATE(i) (s0)
#define AT(i) (at0)
#define ROW(i) (row0)
#define ROWS(i) (rows0)
#else
typedef struct {
  int row[STATES], rows[STATES], at[STATES];
} stretches;

#define STATE_ARGUMENTS output s0, output s1, output s2, output s3, output s4, output s5, output s6, output s7, stretches of
#define STATE(i) ((i) < 4 ? (i) < 2 ? (i) < 1 ? s0 : s1 : (i) < 3 ? s2 : s3 : (i) < 6 ? (i) < 5 ? s4 : s5 : (i) < 7 ? s6 : s7)
#define AT(i) (of.at[i])
#define ROW(i) (of.row[i])
#define ROWS(i) (of.rows[i])
#endif
