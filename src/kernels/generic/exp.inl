// exp over sixteen lanes: the operations of exp_f32 (math.cpp), lane by lane.
#pragma once

#include "kernels/math.h"

namespace colibri {

template <class S>
COLIBRI_SIMD typename S::Float exp_of(typename S::Float x) {
    using C = ExpConstants;
    using Float = typename S::Float;
    // The bound first: a NaN then comes through as the second operand.
    const Float y = S::min(S::broadcast(C::highest), S::max(S::broadcast(C::lowest), x));
    const Float round_shift = S::broadcast(C::round_shift);
    const Float shifted = S::fma(y, S::broadcast(C::inverse_ln2), round_shift);
    const Float n = S::sub(shifted, round_shift);
    Float r = S::fma(n, S::broadcast(-C::ln2_high), y);
    r = S::fma(n, S::broadcast(-C::ln2_low), r);
    Float p = S::broadcast(C::p4);
    p = S::fma(p, r, S::broadcast(C::p3));
    p = S::fma(p, r, S::broadcast(C::p2));
    p = S::fma(p, r, S::broadcast(C::p1));
    p = S::fma(p, r, S::broadcast(C::p0));
    p = S::fma(p, S::mul(r, r), r);
    p = S::add(p, S::broadcast(1.0F));
    return S::times_power_of_two(p, n);
}

}  // namespace colibri
