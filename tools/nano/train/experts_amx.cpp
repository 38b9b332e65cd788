// Routed experts, forward and backward, on AMX-BF16 tiles.  One expert at a time stays in L2.
// D hidden, I expert width; multiples of 32.  rows: token of each assignment sorted by expert;
// start[E+1]. Gradients of weights are fp32.  Built by train.py when the machine has AMX; model.py
// is the plain twin.
#include <immintrin.h>
#include <sys/syscall.h>
#include <torch/extension.h>
#include <unistd.h>

#include <ATen/Parallel.h>
#include <cmath>
#include <vector>

using bf16 = uint16_t;
namespace {

struct __attribute__((packed)) TileCfg {
    uint8_t palette = 1, start = 0, pad[14] = {};
    uint16_t colsb[16] = {};
    uint8_t rows[16] = {};
};

// Other libraries keep their own tile shapes on this thread: set ours, put theirs back.
struct Tiles {
    alignas(64) char theirs[64];
    Tiles() {
        static thread_local bool allowed = !syscall(SYS_arch_prctl, 0x1023, 18);
        (void)allowed;
        _tile_storeconfig(theirs);
        TileCfg c;
        for (int i = 0; i < 8; i++) c.colsb[i] = 64, c.rows[i] = 16;
        load(&c);
    }
    ~Tiles() {
        asm volatile("" : : "r"(theirs) : "memory");
        if (theirs[0])
            load(theirs);
        else
            _tile_release();
    }
    static void load(const void* p) {
        asm volatile("" : : "r"(p) : "memory");  // the intrinsic declares only part of its input
        _tile_loadconfig(p);
    }
};

inline __m512i to_bf16x32(__m512 lo, __m512 hi) {
    return (__m512i)_mm512_cvtne2ps_pbh(hi, lo);
}
inline __m256i to_bf16(__m512 v) {
    return (__m256i)_mm512_cvtneps_pbh(v);
}
inline __m512 from_bf16(const bf16* p) {
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)p)), 16));
}

// C[M,N] f32 = A[M,K] * B, B packed [K/2][N][2]; M,N,K multiples of 32
void gemm(const bf16* a, int lda, const bf16* b, int n_total, float* c, int ldc, int m, int n,
          int k) {
    for (int i = 0; i < m; i += 32)
        for (int j = 0; j < n; j += 32) {
            _tile_zero(0);
            _tile_zero(1);
            _tile_zero(2);
            _tile_zero(3);
            for (int p = 0; p < k; p += 32) {
                _tile_loadd(4, a + (size_t)i * lda + p, lda * 2);
                _tile_loadd(5, a + (size_t)(i + 16) * lda + p, lda * 2);
                _tile_loadd(6, b + (size_t)(p / 2) * n_total * 2 + j * 2, n_total * 4);
                _tile_loadd(7, b + (size_t)(p / 2) * n_total * 2 + (j + 16) * 2, n_total * 4);
                _tile_dpbf16ps(0, 4, 6);
                _tile_dpbf16ps(1, 4, 7);
                _tile_dpbf16ps(2, 5, 6);
                _tile_dpbf16ps(3, 5, 7);
            }
            _tile_stored(0, c + (size_t)i * ldc + j, ldc * 4);
            _tile_stored(1, c + (size_t)i * ldc + j + 16, ldc * 4);
            _tile_stored(2, c + (size_t)(i + 16) * ldc + j, ldc * 4);
            _tile_stored(3, c + (size_t)(i + 16) * ldc + j + 16, ldc * 4);
        }
}

// w [N][K] row-major -> packed [K/2][N][2]
void pack_t(const bf16* w, int n, int k, bf16* out) {
    auto s = (const uint32_t*)w;
    auto d = (uint32_t*)out;
    int k2 = k / 2;
    for (int i = 0; i < n; i += 16)
        for (int p = 0; p < k2; p++) {
            for (int x = 0; x < 16; x++) d[(size_t)p * n + i + x] = s[(size_t)(i + x) * k2 + p];
        }
}

// w [K][N] row-major -> packed [K/2][N][2]
void pack_rows(const bf16* w, int k, int n, bf16* out) {
    for (int p = 0; p < k; p += 2) {
        const bf16 *r0 = w + (size_t)p * n, *r1 = r0 + n;
        bf16* o = out + (size_t)p * n;
        for (int j = 0; j < n; j += 16) {
            __m512i lo = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)(r0 + j)));
            __m512i hi = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)(r1 + j)));
            _mm512_storeu_si512(o + 2 * j, _mm512_or_si512(lo, _mm512_slli_epi32(hi, 16)));
        }
    }
}

// src [M][N] -> dst [N][M]
void transpose(const bf16* s, int m, int n, bf16* d) {
    for (int i = 0; i < m; i += 32)
        for (int j = 0; j < n; j++) {
            bf16 t[32];
            for (int x = 0; x < 32; x++) t[x] = s[(size_t)(i + x) * n + j];
            memcpy(d + (size_t)j * m + i, t, 64);
        }
}

int up32(int v) {
    return (v + 31) & ~31;
}

struct Scratch {
    std::vector<bf16> x, act, gy, gh, b1, b2, t1, pk;
    std::vector<float> f1, f2, f3;
};

inline __m512 exp512(__m512 x) {
    x = _mm512_min_ps(_mm512_max_ps(x, _mm512_set1_ps(-87.f)), _mm512_set1_ps(87.f));
    __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), 0);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693147181f), x);
    __m512 p = _mm512_set1_ps(1.f / 720);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.f / 120));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.f / 24));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.f / 6));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.f));
    return _mm512_scalef_ps(p, n);
}
inline __m512 sigm(__m512 x) {
    return _mm512_div_ps(
        _mm512_set1_ps(1.f),
        _mm512_add_ps(_mm512_set1_ps(1.f), exp512(_mm512_sub_ps(_mm512_setzero_ps(), x))));
}

void gather(const bf16* src, const int64_t* rows, int cnt, int mp, int d, bf16* out) {
    for (int i = 0; i < cnt; i++) memcpy(out + (size_t)i * d, src + (size_t)rows[i] * d, d * 2);
    if (mp > cnt) memset(out + (size_t)cnt * d, 0, (size_t)(mp - cnt) * d * 2);
}

}  // namespace

// x [N,D] bf16, gate_up [E,2I,D], down [E,D,I] bf16, rows [A] i64, start [E+1] i64 -> y [A,D] bf16,
// h [A,2I] bf16
std::vector<torch::Tensor> forward(torch::Tensor x, torch::Tensor gu, torch::Tensor dn,
                                   torch::Tensor rows, torch::Tensor start) {
    int e = gu.size(0), i2 = gu.size(1), d = gu.size(2), w = i2 / 2;
    auto y = torch::empty({rows.size(0), d}, x.options());
    auto h = torch::empty({rows.size(0), i2}, x.options());
    auto xp = (const bf16*)x.data_ptr();
    auto gp = (const bf16*)gu.data_ptr();
    auto dp = (const bf16*)dn.data_ptr();
    auto rp = rows.data_ptr<int64_t>();
    auto sp = start.data_ptr<int64_t>();
    auto yp = (bf16*)y.data_ptr();
    auto hp = (bf16*)h.data_ptr();
    at::parallel_for(0, e, 1, [&](int64_t lo, int64_t hi) {
        Tiles tiles;
        Scratch s;
        s.b1.resize((size_t)d * i2);
        s.b2.resize((size_t)d * w);
        for (int64_t ex = lo; ex < hi; ex++) {
            int64_t at = sp[ex];
            int cnt = sp[ex + 1] - at, mp = up32(cnt);
            if (!cnt) continue;
            if ((int)s.f1.size() < mp * d) {
                s.x.resize(mp * d);
                s.act.resize(mp * w);
                s.f1.resize(mp * d);
            }
            pack_t(gp + (size_t)ex * i2 * d, i2, d, s.b1.data());
            pack_t(dp + (size_t)ex * d * w, d, w, s.b2.data());
            gather(xp, rp + at, cnt, mp, d, s.x.data());
            gemm(s.x.data(), d, s.b1.data(), i2, s.f1.data(), i2, mp, i2, d);
            for (int r = 0; r < mp; r++) {
                const float* f = s.f1.data() + (size_t)r * i2;
                for (int j = 0; j < w; j += 16) {
                    __m512 g = _mm512_loadu_ps(f + j), u = _mm512_loadu_ps(f + w + j);
                    if (r < cnt) {
                        _mm256_storeu_si256((__m256i*)(hp + (at + r) * i2 + j), to_bf16(g));
                        _mm256_storeu_si256((__m256i*)(hp + (at + r) * i2 + w + j), to_bf16(u));
                    }
                    _mm256_storeu_si256((__m256i*)(s.act.data() + (size_t)r * w + j),
                                        to_bf16(_mm512_mul_ps(_mm512_mul_ps(g, sigm(g)), u)));
                }
            }
            gemm(s.act.data(), w, s.b2.data(), d, s.f1.data(), d, mp, d, w);
            for (int r = 0; r < cnt; r++)
                for (int j = 0; j < d; j += 32)
                    _mm512_storeu_si512(
                        yp + (at + r) * d + j,
                        to_bf16x32(_mm512_loadu_ps(s.f1.data() + (size_t)r * d + j),
                                   _mm512_loadu_ps(s.f1.data() + (size_t)r * d + j + 16)));
        }
    });
    return {y, h};
}

// gy [N,D] bf16, wt [A] f32 (weight of each assignment) -> gx [A,D] bf16, gw [A] f32, ggu f32, gdn
// f32
std::vector<torch::Tensor> backward(torch::Tensor x, torch::Tensor gy, torch::Tensor h,
                                    torch::Tensor wt, torch::Tensor gu, torch::Tensor dn,
                                    torch::Tensor rows, torch::Tensor start) {
    int e = gu.size(0), i2 = gu.size(1), d = gu.size(2), w = i2 / 2;
    auto f32 = x.options().dtype(torch::kFloat);
    auto gx = torch::empty({rows.size(0), d}, x.options());
    auto gw = torch::empty({rows.size(0)}, f32), ggu = torch::empty({e, i2, d}, f32),
         gdn = torch::empty({e, d, w}, f32);
    auto xp = (const bf16*)x.data_ptr();
    auto gyp = (const bf16*)gy.data_ptr();
    auto hp = (const bf16*)h.data_ptr();
    auto gp = (const bf16*)gu.data_ptr();
    auto dp = (const bf16*)dn.data_ptr();
    auto rp = rows.data_ptr<int64_t>();
    auto sp = start.data_ptr<int64_t>();
    auto wp = wt.data_ptr<float>();
    auto gxp = (bf16*)gx.data_ptr();
    auto gwp = gw.data_ptr<float>();
    auto ggp = ggu.data_ptr<float>();
    auto gdp = gdn.data_ptr<float>();
    at::parallel_for(0, e, 1, [&](int64_t lo, int64_t hi) {
        Tiles tiles;
        Scratch s;
        s.b1.resize((size_t)d * i2);
        s.b2.resize((size_t)d * w);
        s.f2.resize((size_t)w * d);
        for (int64_t ex = lo; ex < hi; ex++) {
            int64_t at = sp[ex];
            int cnt = sp[ex + 1] - at, mp = up32(cnt);
            if (!cnt) {
                memset(ggp + (size_t)ex * i2 * d, 0, (size_t)i2 * d * 4);
                memset(gdp + (size_t)ex * d * w, 0, (size_t)w * d * 4);
                continue;
            }
            if ((int)s.f1.size() < mp * d) {
                s.x.resize(mp * d);
                s.gy.resize(mp * d);
                s.pk.resize(mp * d);
                s.f1.resize(mp * d);
                s.act.resize(mp * w);
                s.gh.resize(mp * i2);
                s.t1.resize(mp * i2);
            }
            pack_rows(dp + (size_t)ex * d * w, d, w, s.b2.data());  // K=d, N=w
            gather(gyp, rp + at, cnt, mp, d, s.gy.data());
            gemm(s.gy.data(), d, s.b2.data(), w, s.f1.data(), w, mp, w,
                 d);  // unscaled gradient of act
            for (int r = 0; r < mp; r++) {
                bf16 *gh = s.gh.data() + (size_t)r * i2, *ac = s.act.data() + (size_t)r * w;
                if (r >= cnt) {
                    memset(gh, 0, i2 * 2);
                    memset(ac, 0, w * 2);
                    continue;
                }
                float k = wp[at + r];
                __m512 dot = _mm512_setzero_ps(), kv = _mm512_set1_ps(k), one = _mm512_set1_ps(1.f);
                for (int j = 0; j < w; j += 16) {
                    __m512 g = from_bf16(hp + (at + r) * i2 + j),
                           u = from_bf16(hp + (at + r) * i2 + w + j);
                    __m512 ga = _mm512_loadu_ps(s.f1.data() + (size_t)r * w + j), sg = sigm(g),
                           si = _mm512_mul_ps(g, sg);
                    __m512 a = _mm512_mul_ps(si, u);
                    dot = _mm512_fmadd_ps(ga, a, dot);
                    ga = _mm512_mul_ps(ga, kv);
                    __m512 gg = _mm512_mul_ps(_mm512_mul_ps(ga, u),
                                              _mm512_fmadd_ps(si, _mm512_sub_ps(one, sg), sg));
                    _mm256_storeu_si256((__m256i*)(gh + j), to_bf16(gg));
                    _mm256_storeu_si256((__m256i*)(gh + w + j), to_bf16(_mm512_mul_ps(ga, si)));
                    _mm256_storeu_si256(
                        (__m256i*)(ac + j),
                        to_bf16(_mm512_mul_ps(a, kv)));  // scaled: used for gdown with unscaled gy
                }
                gwp[at + r] = _mm512_reduce_add_ps(dot);
            }
            // gdown^T [w,d] = (w*act)^T gy
            transpose(s.act.data(), mp, w, s.t1.data());
            pack_rows(s.gy.data(), mp, d, s.pk.data());
            gemm(s.t1.data(), mp, s.pk.data(), d, s.f2.data(), d, w, d, mp);
            float* gd = gdp + (size_t)ex * d * w;
            for (int j = 0; j < d; j++)
                for (int i = 0; i < w; i++) gd[(size_t)j * w + i] = s.f2[(size_t)i * d + j];
            // ggate_up [2w,d] = gh^T x
            gather(xp, rp + at, cnt, mp, d, s.x.data());
            transpose(s.gh.data(), mp, i2, s.t1.data());
            pack_rows(s.x.data(), mp, d, s.pk.data());
            gemm(s.t1.data(), mp, s.pk.data(), d, ggp + (size_t)ex * i2 * d, d, i2, d, mp);
            // gx [mp,d] = gh * gate_up
            pack_rows(gp + (size_t)ex * i2 * d, i2, d, s.b1.data());
            gemm(s.gh.data(), i2, s.b1.data(), d, s.f1.data(), d, mp, d, i2);
            for (int r = 0; r < cnt; r++)
                for (int j = 0; j < d; j += 32)
                    _mm512_storeu_si512(
                        gxp + (at + r) * d + j,
                        to_bf16x32(_mm512_loadu_ps(s.f1.data() + (size_t)r * d + j),
                                   _mm512_loadu_ps(s.f1.data() + (size_t)r * d + j + 16)));
        }
    });
    return {gx, gw, ggu, gdn};
}

// out[t] = sum_k scale[t,k] * v[slot[t,k]];  v [A,D] bf16, slot [N,K] i64, scale [N,K] f32 -> [N,D]
// bf16
torch::Tensor combine(torch::Tensor v, torch::Tensor slot, torch::Tensor scale) {
    int64_t n = slot.size(0), k = slot.size(1);
    int d = v.size(1);
    auto out = torch::empty({n, d}, v.options());
    auto vp = (const bf16*)v.data_ptr();
    auto sp = slot.data_ptr<int64_t>();
    auto cp = scale.data_ptr<float>();
    auto op = (bf16*)out.data_ptr();
    at::parallel_for(0, n, 64, [&](int64_t lo, int64_t hi) {
        for (int64_t t = lo; t < hi; t++)
            for (int j = 0; j < d; j += 32) {
                __m512 a = _mm512_setzero_ps(), b = a;
                for (int q = 0; q < k; q++) {
                    const bf16* r = vp + sp[t * k + q] * d + j;
                    __m512 c = _mm512_set1_ps(cp[t * k + q]);
                    a = _mm512_fmadd_ps(c, from_bf16(r), a);
                    b = _mm512_fmadd_ps(c, from_bf16(r + 16), b);
                }
                _mm512_storeu_si512(op + t * d + j, to_bf16x32(a, b));
            }
    });
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward);
    m.def("backward", &backward);
    m.def("combine", &combine);
}
