// DOT(a, b, c) adds the products of the four signed bytes of a and b to c. DOT_… names the way of the device, which the host
// has tried; without one it is spelled out.

#if defined(DOT_KHR)
#define DOT(a, b, c) ((c) + dot_4x8packed_ss_int(a, b))
#elif defined(DOT_ARM)
#pragma OPENCL EXTENSION cl_arm_integer_dot_product_accumulate_int8 : enable
#define DOT(a, b, c) arm_dot_acc(as_char4(a), as_char4(b), c)
#elif defined(DOT_NV)
static inline int dot_nv(uint a, uint b, int c) {
  int sum;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
  return sum;
}
#define DOT(a, b, c) dot_nv(a, b, c)
#else
static inline int dot_spelled(char4 a, char4 b, int c) { return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
#define DOT(a, b, c) dot_spelled(as_char4(a), as_char4(b), c)
#endif
