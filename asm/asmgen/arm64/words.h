// The instructions that Go's assembler lacks, as words. Operands are numbers of registers and elements, in the order of Arm's
// own assembly language, the destination first; the comment above each word is what Arm's assembler would be given, and
// words_test.go of package asm holds the two equal.

// fadd v{d}.4s, v{n}.4s, v{m}.4s
#define FADD4S(d, n, m) WORD $(0x4E20D400 | (m)<<16 | (n)<<5 | (d))
// fsub v{d}.4s, v{n}.4s, v{m}.4s
#define FSUB4S(d, n, m) WORD $(0x4EA0D400 | (m)<<16 | (n)<<5 | (d))
// fmul v{d}.4s, v{n}.4s, v{m}.4s
#define FMUL4S(d, n, m) WORD $(0x6E20DC00 | (m)<<16 | (n)<<5 | (d))
// fdiv v{d}.4s, v{n}.4s, v{m}.4s
#define FDIV4S(d, n, m) WORD $(0x6E20FC00 | (m)<<16 | (n)<<5 | (d))
// fmin v{d}.4s, v{n}.4s, v{m}.4s
#define FMIN4S(d, n, m) WORD $(0x4EA0F400 | (m)<<16 | (n)<<5 | (d))
// fmaxv s{d}, v{n}.4s
#define FMAXV4S(d, n) WORD $(0x6E30F800 | (n)<<5 | (d))
// fcmgt v{d}.4s, v{n}.4s, v{m}.4s
#define FCMGT4S(d, n, m) WORD $(0x6EA0E400 | (m)<<16 | (n)<<5 | (d))
// fcmeq v{d}.4s, v{n}.4s, v{m}.4s
#define FCMEQ4S(d, n, m) WORD $(0x4E20E400 | (m)<<16 | (n)<<5 | (d))
// fneg v{d}.4s, v{n}.4s
#define FNEG4S(d, n) WORD $(0x6EA0F800 | (n)<<5 | (d))
// fcvtns v{d}.4s, v{n}.4s
#define FCVTNS4S(d, n) WORD $(0x4E21A800 | (n)<<5 | (d))
// bic v{d}.16b, v{n}.16b, v{m}.16b
#define BIC16B(d, n, m) WORD $(0x4E601C00 | (m)<<16 | (n)<<5 | (d))
// umaxv s{d}, v{n}.4s
#define UMAXV4S(d, n) WORD $(0x6EB0A800 | (n)<<5 | (d))
// smax v{d}.16b, v{n}.16b, v{m}.16b
#define SMAX16B(d, n, m) WORD $(0x4E206400 | (m)<<16 | (n)<<5 | (d))
// sqxtn v{d}.4h, v{n}.4s
#define SQXTN4H(d, n) WORD $(0x0E614800 | (n)<<5 | (d))
// sqxtn2 v{d}.8h, v{n}.4s
#define SQXTN8H(d, n) WORD $(0x4E614800 | (n)<<5 | (d))
// sqxtn v{d}.8b, v{n}.8h
#define SQXTN8B(d, n) WORD $(0x0E214800 | (n)<<5 | (d))
// sqxtn2 v{d}.16b, v{n}.8h
#define SQXTN16B(d, n) WORD $(0x4E214800 | (n)<<5 | (d))
// saddlv h{d}, v{n}.16b
#define SADDLV16B(d, n) WORD $(0x4E303800 | (n)<<5 | (d))
// fcvtl v{d}.4s, v{n}.4h
#define FCVTL4S(d, n) WORD $(0x0E217800 | (n)<<5 | (d))
// fcvtl2 v{d}.4s, v{n}.8h
#define FCVTL8H(d, n) WORD $(0x4E217800 | (n)<<5 | (d))
// fmul v{d}.4s, v{n}.4s, v{m}.s[{i}]
#define FMUL4SE(d, n, m, i) WORD $(0x4F809000 | ((i)&1)<<21 | (m)<<16 | ((i)>>1)<<11 | (n)<<5 | (d))
// sdot v{d}.4s, v{n}.16b, v{m}.4b[{i}]
#define SDOTE(d, n, m, i) WORD $(0x4F80E000 | ((i)&1)<<21 | (m)<<16 | ((i)>>1)<<11 | (n)<<5 | (d))
// fmla v{d}.4s, v{n}.4s, v{m}.s[{i}]
#define FMLA4SE(d, n, m, i) WORD $(0x4F801000 | ((i)&1)<<21 | (m)<<16 | ((i)>>1)<<11 | (n)<<5 | (d))
// shll v{d}.4s, v{n}.4h, #16
#define SHLL4S(d, n) WORD $(0x2E613800 | (n)<<5 | (d))
// shll2 v{d}.4s, v{n}.8h, #16
#define SHLL8H(d, n) WORD $(0x6E613800 | (n)<<5 | (d))
// scvtf v{d}.4s, v{n}.4s
#define SCVTF4S(d, n) WORD $(0x4E21D800 | (n)<<5 | (d))
// mla v{d}.4s, v{n}.4s, v{m}.4s
#define MLA4S(d, n, m) WORD $(0x4EA09400 | (m)<<16 | (n)<<5 | (d))
// sxtl v{d}.8h, v{n}.8b
#define SXTL8H(d, n) WORD $(0x0F08A400 | (n)<<5 | (d))
// sxtl v{d}.4s, v{n}.4h
#define SXTL4S(d, n) WORD $(0x0F10A400 | (n)<<5 | (d))
// sxtl2 v{d}.4s, v{n}.8h
#define SXTL2_4S(d, n) WORD $(0x4F10A400 | (n)<<5 | (d))
// smull v{d}.8h, v{n}.8b, v{m}.8b
#define SMULL8H(d, n, m) WORD $(0x0E20C000 | (m)<<16 | (n)<<5 | (d))
// smull2 v{d}.8h, v{n}.16b, v{m}.16b
#define SMULL2_8H(d, n, m) WORD $(0x4E20C000 | (m)<<16 | (n)<<5 | (d))
// smlal v{d}.8h, v{n}.8b, v{m}.8b
#define SMLAL8H(d, n, m) WORD $(0x0E208000 | (m)<<16 | (n)<<5 | (d))
// smlal2 v{d}.8h, v{n}.16b, v{m}.16b
#define SMLAL2_8H(d, n, m) WORD $(0x4E208000 | (m)<<16 | (n)<<5 | (d))
// sadalp v{d}.4s, v{n}.8h
#define SADALP4S(d, n) WORD $(0x4E606800 | (n)<<5 | (d))
// saddlp v{d}.4s, v{n}.8h
#define SADDLP4S(d, n) WORD $(0x4E602800 | (n)<<5 | (d))
// fcvtn v{d}.4h, v{n}.4s
#define FCVTN4H(d, n) WORD $(0x0E216800 | (n)<<5 | (d))
// fcvtn2 v{d}.8h, v{n}.4s
#define FCVTN8H(d, n) WORD $(0x4E216800 | (n)<<5 | (d))
// ushl v{d}.16b, v{n}.16b, v{m}.16b
#define USHL16B(d, n, m) WORD $(0x6E204400 | (m)<<16 | (n)<<5 | (d))
// mul v{d}.16b, v{n}.16b, v{m}.16b
#define MUL16B(d, n, m) WORD $(0x4E209C00 | (m)<<16 | (n)<<5 | (d))
// neg v{d}.16b, v{n}.16b
#define NEG16B(d, n) WORD $(0x6E20B800 | (n)<<5 | (d))
// neg v{d}.4s, v{n}.4s
#define NEG4S(d, n) WORD $(0x6EA0B800 | (n)<<5 | (d))
// smmla v{d}.4s, v{n}.16b, v{m}.16b
#define SMMLA4S(d, n, m) WORD $(0x4E80A400 | (m)<<16 | (n)<<5 | (d))
// fmla v{d}.4s, v{n}.4s, v{m}.4s
#define FMLA4S(d, n, m) WORD $(0x4E20CC00 | (m)<<16 | (n)<<5 | (d))
// movi v{d}.2d, #0
#define MOVI0(d) WORD $(0x6F00E400 | (d))
// srshr v{d}.4s, v{n}.4s, #7
#define SRSHR7_4S(d, n) WORD $(0x4F392400 | (n)<<5 | (d))
// fmls v{d}.4s, v{n}.4s, v{m}.4s
#define FMLS4S(d, n, m) WORD $(0x4EA0CC00 | (m)<<16 | (n)<<5 | (d))
// sxtl2 v{d}.8h, v{n}.16b
#define SXTL2_8H(d, n) WORD $(0x4F08A400 | (n)<<5 | (d))
// smull v{d}.4s, v{n}.4h, v{e}.h[{h}]
#define SMULL4SE(d, n, e, h) WORD $(0x0F40A000 | ((h)&1)<<20 | ((h)>>1&1)<<21 | ((h)>>2)<<11 | (e)<<16 | (n)<<5 | (d))
// smlal v{d}.4s, v{n}.4h, v{e}.h[{h}]
#define SMLAL4SE(d, n, e, h) WORD $(0x0F402000 | ((h)&1)<<20 | ((h)>>1&1)<<21 | ((h)>>2)<<11 | (e)<<16 | (n)<<5 | (d))
// fabs v{d}.4s, v{n}.4s
#define FABS4S(d, n) WORD $(0x4EA0F800 | (n)<<5 | (d))
// fmaxnm v{d}.4s, v{n}.4s, v{m}.4s
#define FMAXNM4S(d, n, m) WORD $(0x4E20C400 | (m)<<16 | (n)<<5 | (d))
// fmaxnmv s{d}, v{n}.4s
#define FMAXNMV4S(d, n) WORD $(0x6E30C800 | (n)<<5 | (d))
// saddlp v{d}.8h, v{n}.16b
#define SADDLP8H(d, n) WORD $(0x4E202800 | (n)<<5 | (d))
// sadalp v{d}.8h, v{n}.16b
#define SADALP8H(d, n) WORD $(0x4E206800 | (n)<<5 | (d))
// saddlv s{d}, v{n}.8h
#define SADDLV8H(d, n) WORD $(0x4E703800 | (n)<<5 | (d))
