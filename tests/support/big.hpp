// Numbers of 500 bits (150 digits) in MPFR, which judge the library's results.
#pragma once

#include <mpfr.h>

namespace big {

class Big {
  public:
    Big(double value = 0) {
        mpfr_init2(value_, 500);
        mpfr_set_d(value_, value, MPFR_RNDN);
    }
    Big(const Big& other) : Big() { mpfr_set(value_, other.value_, MPFR_RNDN); }
    Big& operator=(const Big& other) {
        mpfr_set(value_, other.value_, MPFR_RNDN);
        return *this;
    }
    ~Big() { mpfr_clear(value_); }
    double toDouble() const { return mpfr_get_d(value_, MPFR_RNDN); }

    using Binary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
    using Unary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
    static Big of(Binary function, const Big& a, const Big& b) {
        Big result;
        function(result.value_, a.value_, b.value_, MPFR_RNDN);
        return result;
    }
    static Big of(Unary function, const Big& a) {
        Big result;
        function(result.value_, a.value_, MPFR_RNDN);
        return result;
    }
    static Big pi() {
        Big result;
        mpfr_const_pi(result.value_, MPFR_RNDN);
        return result;
    }
    friend bool operator<(const Big& a, const Big& b) { return mpfr_less_p(a.value_, b.value_) != 0; }
    friend bool operator==(const Big& a, const Big& b) { return mpfr_equal_p(a.value_, b.value_) != 0; }
    friend Big floorOf(const Big& a) {
        Big result;
        mpfr_floor(result.value_, a.value_);
        return result;
    }

  private:
    mpfr_t value_;
};

inline Big operator+(const Big& a, const Big& b) { return Big::of(mpfr_add, a, b); }
inline Big operator-(const Big& a, const Big& b) { return Big::of(mpfr_sub, a, b); }
inline Big operator*(const Big& a, const Big& b) { return Big::of(mpfr_mul, a, b); }
inline Big operator/(const Big& a, const Big& b) { return Big::of(mpfr_div, a, b); }
inline Big power(const Big& a, const Big& b) { return Big::of(mpfr_pow, a, b); }
inline Big logOf(const Big& a) { return Big::of(mpfr_log, a); }
inline Big rootOf(const Big& a) { return Big::of(mpfr_sqrt, a); }
inline Big ceilOf(const Big& a) { return Big(0) - floorOf(Big(0) - a); }

} // namespace big
