#include "blocks/experts/moe.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "blocks/experts/feed_forward.h"
#include "blocks/linear.h"
#include "blocks/router/router.h"

namespace colibri {

namespace {

// Bounds of one group of experts that run together: outputs buffered, and leases held.
constexpr uint32_t kGroupPairs = 128;
constexpr uint32_t kGroupExperts = 16;

// The rows that go to each expert of the union, in row order.
struct Assignment {
    uint32_t* offsets = nullptr;  // [experts + 1] into pairs
    uint32_t* pairs = nullptr;    // [rows * top_k]: index into the [rows][top_k] arrays
    ExpertId* set = nullptr;      // the union, ascending
    uint32_t set_size = 0;
};

Assignment assign(Compute& compute, const MoeBlock& block, uint32_t experts, uint32_t top_k,
                  uint32_t rows, const uint32_t* ids) {
    Assignment a;
    a.offsets = compute.scratch.take<uint32_t>(experts + 1);
    a.pairs = compute.scratch.take<uint32_t>(uint64_t(rows) * top_k);
    a.set = compute.scratch.take<ExpertId>(experts);
    auto* cursor = compute.scratch.take<uint32_t>(experts);
    std::fill_n(a.offsets, experts + 1, 0U);
    for (uint32_t i = 0; i < rows * top_k; ++i) ++a.offsets[ids[i] + 1];
    for (uint32_t e = 0; e < experts; ++e) {
        if (a.offsets[e + 1] != 0) a.set[a.set_size++] = {.layer = block.layer, .index = e};
        a.offsets[e + 1] += a.offsets[e];
        cursor[e] = a.offsets[e];
    }
    for (uint32_t i = 0; i < rows * top_k; ++i) a.pairs[cursor[ids[i]]++] = i;
    return a;
}

// One pass over the experts of a layer. Rows of experts are gathered into groups of at most
// kGroupPairs (row, expert) pairs; a group runs as soon as the next expert is not there yet.
class Walk {
public:
    Walk(Compute& compute, ExpertStore& store, const MoeBlock& block, FloatRows h, uint32_t rows,
         uint32_t top_k, RoutedRows routes, const Assignment& assignment,
         FunctionRef<Status()> meanwhile, OutputRows out)
        : compute_(compute),
          store_(store),
          block_(block),
          h_(h),
          top_k_(top_k),
          pairs_(rows * top_k),
          decode_(is_decode(rows, top_k)),
          routes_(routes),
          assignment_(assignment),
          meanwhile_(meanwhile),
          out_(out),
          gathered_(compute.scratch.take<float>(uint64_t(kGroupPairs) * block.dim)),
          outputs_(compute.scratch.take<float>(uint64_t(kGroupPairs) * block.dim)) {}

    // Decode steps keep the outputs of all pairs until the end, so they must fit one group's
    // buffer.
    static bool is_decode(uint32_t rows, uint32_t top_k) {
        return rows <= kDecodeRowsMax && rows * top_k <= kGroupPairs;
    }

    // Consumes the open stream.
    Status run();

private:
    void gather(const ExpertLease& lease, uint32_t from, uint32_t count);
    // And gives the slots back at once: a scan's next reads go there.
    Status compute_group();
    void accumulate(uint32_t count);
    // Before the first wait, or at the end where nothing was waited for.
    Status use_gap();

    Compute& compute_;
    ExpertStore& store_;
    const MoeBlock& block_;
    FloatRows h_;
    uint32_t top_k_;
    uint32_t pairs_;
    bool decode_;
    RoutedRows routes_;
    const Assignment& assignment_;
    FunctionRef<Status()> meanwhile_;  // work that needs no expert
    bool meanwhile_done_ = false;
    OutputRows out_;
    float* gathered_;                              // [kGroupPairs][dim]
    float* outputs_;                               // [kGroupPairs][dim]
    std::array<uint32_t, kGroupPairs> pair_of_{};  // which pair a buffered row belongs to
    uint32_t buffered_ = 0;                        // rows in gathered_ and outputs_
    std::array<ExpertBatch, kGroupExperts> batches_;
    uint32_t batch_count_ = 0;
    std::array<ExpertLease, kGroupExperts> held_;
    uint32_t held_count_ = 0;
};

void Walk::gather(const ExpertLease& lease, uint32_t from, uint32_t count) {
    const uint32_t* pairs = assignment_.pairs + assignment_.offsets[lease.id().index] + from;
    FloatRows x{gathered_ + uint64_t(buffered_) * block_.dim, block_.dim};
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t row = pairs[i] / top_k_;
        const float* source = h_.values + uint64_t(row) * h_.stride;
        pair_of_[buffered_ + i] = pairs[i];
        // One row is read where it lies: the experts that share it share its quantized form.
        if (count == 1)
            x.values = source;
        else
            std::memcpy(gathered_ + uint64_t(buffered_ + i) * block_.dim, source,
                        block_.dim * sizeof(float));
    }
    batches_[batch_count_++] = {.weights = block_.weights.expert.bind(lease.data()),
                                .x = x,
                                .row_count = count,
                                .out = {outputs_ + uint64_t(buffered_) * block_.dim, block_.dim},
                                .routed = true,
                                .layer = block_.layer,
                                .expert = lease.id().index};
    buffered_ += count;
}

// acc = fma(weight, y, acc). A row's experts come in ascending id; dimensions are cut over the
// team.
void Walk::accumulate(uint32_t count) {
    const auto part = [&](uint32_t begin, uint32_t end) {
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t row = pair_of_[i] / top_k_;
            compute_.kernels.add_scaled(outputs_ + uint64_t(i) * block_.dim + begin,
                                        routes_.weights[pair_of_[i]], end - begin,
                                        out_.values + uint64_t(row) * out_.stride + begin);
        }
    };
    if (uint64_t(count) * block_.dim < 8192)
        part(0, block_.dim);
    else
        compute_.pool.split(block_.dim, 16, part);
}

Status Walk::use_gap() {
    return std::exchange(meanwhile_done_, true) ? Status() : meanwhile_();
}

Status Walk::compute_group() {
    TRY_STATUS(expert_batches(compute_, {batches_.data(), batch_count_}));
    batch_count_ = 0;
    for (uint32_t i = 0; i < held_count_; ++i) held_[i].release();
    held_count_ = 0;
    if (decode_) return {};
    accumulate(buffered_);
    buffered_ = 0;
    return {};
}

Status Walk::run() {
    const uint32_t held_limit = std::min(kGroupExperts, store_.max_held());
    while (true) {
        const bool must_wait = store_.ready() == 0;
        if (held_count_ == held_limit || batch_count_ == kGroupExperts ||
            (held_count_ > 0 && must_wait))
            TRY_STATUS(compute_group());
        if (must_wait) TRY_STATUS(use_gap());
        TRY(ExpertLease lease, store_.next());
        if (!lease) break;
        const uint32_t expert = lease.id().index;
        const uint32_t total = assignment_.offsets[expert + 1] - assignment_.offsets[expert];
        for (uint32_t from = 0; from < total;) {
            if (buffered_ == kGroupPairs || batch_count_ == kGroupExperts)
                TRY_STATUS(compute_group());
            const uint32_t count = std::min(total - from, kGroupPairs - buffered_);
            gather(lease, from, count);
            from += count;
        }
        held_[held_count_++] = std::move(lease);
    }
    TRY_STATUS(compute_group());
    TRY_STATUS(use_gap());
    if (!decode_) return {};
    // Experts came in any order; add them up in the order of the pairs, in which ids ascend within
    // a row.
    std::array<uint32_t, kGroupPairs> buffered_at{};
    for (uint32_t i = 0; i < pairs_; ++i) buffered_at[pair_of_[i]] = i;
    for (uint32_t pair = 0; pair < pairs_; ++pair)
        compute_.kernels.add_scaled(outputs_ + uint64_t(buffered_at[pair]) * block_.dim,
                                    routes_.weights[pair], block_.dim,
                                    out_.values + uint64_t(pair / top_k_) * out_.stride);
    return {};
}

}  // namespace

Status choose_experts(Compute& compute, const MoeBlock& block, FloatRows h, uint32_t rows,
                      RoutedRows routes) {
    const auto& router = std::get<Router>(block.spec.router);
    auto* logits = compute.scratch.take<float>(uint64_t(rows) * router.experts);
    auto* scratch = compute.scratch.take<float>(2 * router.experts);
    multiply_float(compute, block.weights.router, h, rows, {logits, router.experts});
    for (uint32_t r = 0; r < rows; ++r) {
        float* row = logits + uint64_t(r) * router.experts;
        for (uint32_t e = 0; e < router.experts; ++e)
            if (!std::isfinite(row[e]))
                return fail(ErrorKind::invalid_input,
                            fmt::format("layer {}: the router's score of expert {} is not a finite "
                                        "number: the weights "
                                        "overflow in this model or are damaged",
                                        block.layer, e));
        route(compute.kernels, router, block.weights.selection_bias, row, scratch,
              routes.ids + uint64_t(r) * router.top_k, routes.weights + uint64_t(r) * router.top_k);
    }
    return {};
}

uint64_t choose_experts_scratch_bytes(const MoeFeedForward& spec, uint32_t rows) {
    const uint64_t experts = std::get<Router>(spec.router).experts;
    return scratch_bytes_of<float>(rows * experts) + scratch_bytes_of<float>(2 * experts);
}

uint64_t moe_scratch_bytes(const MoeFeedForward& spec, uint32_t dim, uint32_t rows) {
    const auto& router = std::get<Router>(spec.router);
    const uint64_t experts = router.experts;
    uint64_t bytes =
        choose_experts_scratch_bytes(spec, rows) + scratch_bytes_of<uint32_t>(experts + 1) +
        scratch_bytes_of<uint32_t>(experts) +
        scratch_bytes_of<uint32_t>(uint64_t(rows) * router.top_k) +
        scratch_bytes_of<ExpertId>(experts) +
        2 * scratch_bytes_of<float>(uint64_t(kGroupPairs) * dim) +
        expert_batches_scratch_bytes(dim, spec.expert.hidden, kGroupPairs, kGroupExperts);
    if (spec.shared)
        bytes += scratch_bytes_of<float>(uint64_t(rows) * dim) +
                 feed_forward_scratch_bytes(dim, spec.shared->hidden, rows);
    return bytes;
}

Status moe_forward(Compute& compute, ExpertStore& store, const MoeBlock& block, FloatRows h,
                   uint32_t row_count, RoutedRows routes, const CancelToken* cancel,
                   const MoeHooks& hooks, OutputRows out) {
    const auto& router = std::get<Router>(block.spec.router);
    const ScratchScope scope(compute.scratch);
    TRY_STATUS(choose_experts(compute, block, h, row_count, routes));
    hooks.routed(routes);
    const Assignment assignment =
        assign(compute, block, router.experts, router.top_k, row_count, routes.ids);
    const bool decode = Walk::is_decode(row_count, router.top_k);
    TRY_STATUS(store.open_stream({assignment.set, assignment.set_size},
                                 decode ? StreamKind::decode : StreamKind::scan, cancel));
    hooks.reading();
    auto* shared = block.weights.shared
                       ? compute.scratch.take<float>(uint64_t(row_count) * block.dim)
                       : nullptr;
    // The shared expert needs no disk: it runs while there is nothing else to do.
    const auto run_shared = [&]() -> Status {
        if (shared == nullptr) return {};
        return feed_forward(compute, *block.weights.shared, h, row_count, {shared, block.dim});
    };
    for (uint32_t r = 0; r < row_count; ++r)
        std::fill_n(out.values + uint64_t(r) * out.stride, block.dim, 0.0F);
    Walk walk(compute, store, block, h, row_count, router.top_k, routes, assignment, run_shared,
              out);
    const Status walked = walk.run();
    store.close_stream();
    TRY_STATUS(walked);
    if (shared != nullptr)
        for (uint32_t r = 0; r < row_count; ++r)
            compute.kernels.add(shared + uint64_t(r) * block.dim, block.dim,
                                out.values + uint64_t(r) * out.stride);
    return {};
}

}  // namespace colibri
