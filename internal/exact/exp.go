package exact

import "math"

// The constants of Exp, exported so that vector kernels share them.
const (
	ExpLow   = -87.33 // below it Exp is 0: the smallest result is still a normal float32
	ExpHigh  = 88.37  // above it Exp stays at Exp(ExpHigh) ≈ 2.39e38: the greatest n is 127
	ExpLog2E = 0x1.715476p+0
	ExpLn2Hi = 0x1.62e43p-1 // ln 2 rounded to float32
	ExpLn2Lo = -0x1.05c61p-29

	// ExpMagic is 1.5·2²³ + 127. From 2²³ to 2²⁴ the float32 numbers are the integers, so that adding ExpMagic to z rounds z
	// to the nearest integer n, ties to even; and the sum's lower bits are n + 127, the exponent field of 2ⁿ.
	ExpMagic = 0x1.8p23 + 127

	// 1 + r + ExpC2·r² + … + ExpC6·r⁶ approximates eʳ on |r| ≤ ln(2)/2 with a relative error below 3.1e-9. The coefficients
	// come from the Remez exchange algorithm for the relative error.
	ExpC2 = 0x1.fffffcp-2
	ExpC3 = 0x1.555492p-3
	ExpC4 = 0x1.5558fp-5
	ExpC5 = 0x1.1239a2p-7
	ExpC6 = 0x1.6a24a4p-10
)

// Exp returns eˣ with an error below 2 units in the last place (measured 0.86). Below ExpLow it is 0, above ExpHigh it is
// Exp(ExpHigh), and of NaN it is NaN.
//
// The steps, each rounded once to float32 and each one instruction of a vector unit:
//
//	x = min(x, ExpHigh)          NaN stays (VMINPS with x as the second source; FMINNM would lose it, FMIN keeps it)
//	t = fma(x, log2e, magic)     n + 127 in the lower bits
//	n = t − magic                exact
//	r = fma(n, −ln2hi, x)        exact
//	r = fma(n, −ln2lo, r)
//	p = fma(… fma(fma(C6, r, C5), r, C4) …, r, 1)
//	y = p · float(bits(t) << 23) 2ⁿ, exact
//	y = 0 where x < ExpLow       false for NaN
func Exp(x float32) float32 {
	if x < ExpLow {
		return 0
	}
	if x > ExpHigh {
		x = ExpHigh
	}
	t := FMA(x, ExpLog2E, ExpMagic)
	n := t - ExpMagic
	r := FMA(n, -ExpLn2Hi, x)
	r = FMA(n, -ExpLn2Lo, r)
	p := FMA(ExpC6, r, ExpC5)
	p = FMA(p, r, ExpC4)
	p = FMA(p, r, ExpC3)
	p = FMA(p, r, ExpC2)
	p = FMA(p, r, 1)
	p = FMA(p, r, 1)
	return p * math.Float32frombits(math.Float32bits(t)<<23)
}

// SiLU returns x / (1 + Exp(−x)), one addition and one division, each rounded. An infinite x is returned as it is.
func SiLU(x float32) float32 { return x / (1 + Exp(-x)) }

// Sigmoid returns 1 / (1 + Exp(−x)), one addition and one division, each rounded.
func Sigmoid(x float32) float32 { return 1 / (1 + Exp(-x)) }

// The coefficients of Softplus: 1/3 + z/5 + z²/7 + … ≈ SoftplusC0 + … + SoftplusC4·z⁴ for z up to 1/9, with an error below 1e-9.
const (
	SoftplusC0 = 0x1.555556p-2
	SoftplusC1 = 0x1.9998d4p-3
	SoftplusC2 = 0x1.24c926p-3
	SoftplusC3 = 0x1.bc8cf8p-4
	SoftplusC4 = 0x1.dba26p-4
)

// Softplus returns ln(1 + eˣ), with an error below 3 units in the last place: max(x, 0) + ln(1 + e) for e = Exp(−|x|). The second
// term is 2·artanh(s) for s = e/(2+e), computed as fma(2s, z·P(z), 2s) with z = s·s and P by FMA from SoftplusC4 down, each step rounded
// once. Below ExpLow it is 0.
func Softplus(x float32) float32 {
	e := Exp(-math.Float32frombits(math.Float32bits(x) &^ (1 << 31)))
	s := e / (2 + e)
	z := float32(s * s)
	p := FMA(SoftplusC4, z, SoftplusC3)
	p = FMA(p, z, SoftplusC2)
	p = FMA(p, z, SoftplusC1)
	p = FMA(p, z, SoftplusC0)
	tail := FMA(s+s, float32(z*p), s+s)
	if x > 0 {
		return x + tail
	}
	return tail
}

// Expm1 returns eˣ − 1 with a small error relative to it, near 0 too: with n, r and the polynomial of Exp, q = fma(P(r), r·r, r) is eʳ − 1, and the result is
// fma(q, 2ⁿ, 2ⁿ−1). Below ExpLow it is −1, above ExpHigh it is that of ExpHigh, and of NaN it is NaN.
func Expm1(x float32) float32 {
	if x < ExpLow {
		return -1
	}
	if x > ExpHigh {
		x = ExpHigh
	}
	t := FMA(x, ExpLog2E, ExpMagic)
	n := t - ExpMagic
	r := FMA(n, -ExpLn2Hi, x)
	r = FMA(n, -ExpLn2Lo, r)
	p := FMA(ExpC6, r, ExpC5)
	p = FMA(p, r, ExpC4)
	p = FMA(p, r, ExpC3)
	p = FMA(p, r, ExpC2)
	q := FMA(p, float32(r*r), r)
	power := math.Float32frombits(math.Float32bits(t) << 23)
	return FMA(q, power, power-1)
}

// XIELU returns positive·x² + linear·x for x above 0, and else negative·(e^min(x, floor) − 1 − x) + linear·x (arXiv 2411.13010), each step rounded once.
func XIELU(x, positive, negative, linear, floor float32) float32 {
	straight := float32(linear * x)
	if x > 0 {
		return float32(float32(positive*x)*x) + straight
	}
	low := x
	if low > floor {
		low = floor
	}
	return float32((Expm1(low)-x)*negative) + straight
}

// The coefficients of GELU: 2·√(2/π) and 2·√(2/π)·0.044715.
const (
	GELUC1 = 0x1.988454p+0
	GELUC3 = 0x1.2444f2p-4
)

// GELU returns the Gaussian error linear unit in the form with a hyperbolic tangent (arXiv 1606.08415),
// x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))) = x / (1 + Exp(−v)): with t = x·x and v = x·fma(t, GELUC3, GELUC1), each step rounded once.
func GELU(x float32) float32 {
	t := float32(x * x)
	v := float32(x * FMA(t, GELUC3, GELUC1))
	return x / (1 + Exp(-v))
}

// The coefficients of GELUErf: x·P(x²) with P(t) = GELUErfC0 + … + GELUErfC6·t⁶ is the logarithm of Φ(x)/Φ(−x) for t up to GELUErfMost, Φ
// being the normal distribution. They come from a fit of x·Φ(x) that minimises its largest error in proportion to x, which is 2.9e-8.
const (
	GELUErfMost = 36
	GELUErfC0   = 0x1.98846p+0
	GELUErfC1   = 0x1.29a4p-4
	GELUErfC2   = -0x1.116d84p-14
	GELUErfC3   = -0x1.cff124p-14
	GELUErfC4   = 0x1.0a11f4p-17
	GELUErfC5   = -0x1.1c095ep-22
	GELUErfC6   = 0x1.e2bfeap-29
)

// GELUErf returns the Gaussian error linear unit as it is defined (arXiv 1606.08415), x·Φ(x) = x/2·(1 + erf(x/√2)), with an error below
// 2e-7: x / (1 + Exp(−v)) with t = min(x·x, GELUErfMost) and v = x·P(t), P by FMA from GELUErfC6 down, each step rounded once.
func GELUErf(x float32) float32 {
	t := float32(x * x)
	if t > GELUErfMost {
		t = GELUErfMost
	}
	p := FMA(GELUErfC6, t, GELUErfC5)
	p = FMA(p, t, GELUErfC4)
	p = FMA(p, t, GELUErfC3)
	p = FMA(p, t, GELUErfC2)
	p = FMA(p, t, GELUErfC1)
	p = FMA(p, t, GELUErfC0)
	v := float32(x * p)
	return x / (1 + Exp(-v))
}

// SoftcapFactor returns −2/limit, by which Softcap multiplies.
func SoftcapFactor(limit float32) float32 { return -2 / limit }

// Softcap returns limit·tanh(x/limit), which keeps x between −limit and limit: limit·(1−e)/(1+e) with the sign of x, for
// e = Exp(|x|·SoftcapFactor(limit)), each step rounded once. limit is above 0.
func Softcap(x, limit float32) float32 {
	const sign = 1 << 31
	bits := math.Float32bits(x)
	e := Exp(math.Float32frombits(bits&^sign) * SoftcapFactor(limit))
	capped := (1 - e) / (1 + e) * limit
	return math.Float32frombits(math.Float32bits(capped) | bits&sign)
}

// SwiGLUClampedSlope is what gates are multiplied by in the sigmoid of SwiGLUClamped.
const SwiGLUClampedSlope = 0x1.b3b646p+0

// SwiGLUClamped returns (u+1) · g/(1 + Exp(−SwiGLUClampedSlope·g)) with g = min(gate, limit) and u = min(max(up, −limit), limit), the
// activation of gpt-oss, each step rounded once. A NaN stays NaN.
func SwiGLUClamped(gate, up, limit float32) float32 {
	if gate > limit {
		gate = limit
	}
	if up > limit {
		up = limit
	}
	if up < -limit {
		up = -limit
	}
	return gate / (1 + Exp(float32(-SwiGLUClampedSlope*gate))) * (up + 1)
}
