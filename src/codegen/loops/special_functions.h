// Functions that <cmath> lacks, in double precision.
#pragma once

namespace triptych::loops {

double erfinv(double y);   // inverse of erf; +-inf at +-1, NaN outside
double digamma(double x);  // derivative of lgamma; copysign(inf, -x) at 0, NaN at negative integers
double bessel_i0(double x);  // modified Bessel function of the first kind, order 0

}  // namespace triptych::loops
