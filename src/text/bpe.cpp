#include "text/bpe.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "text/utf8.h"

namespace colibri {
namespace {

// Up to here searching all neighbours again after each merge is faster than keeping a queue.
constexpr size_t kShortPiece = 32;

constexpr MergeTable::Merge kEmptySlot{kNoToken, kNoToken, 0, kNoToken};

// std::push_heap keeps the largest in front; the next merge has the lowest rank, then the leftmost
// place.
bool later(const BpeScratch::Candidate& a, const BpeScratch::Candidate& b) {
    return std::pair(a.rank, a.symbol) > std::pair(b.rank, b.symbol);
}

}  // namespace

struct Bpe::Input {
    std::string_view piece;
    const Vocabulary& vocabulary;
};

MergeTable::MergeTable(size_t count)
    : slots_(std::bit_ceil(std::max<size_t>(count + count / 2, 2)), kEmptySlot),
      mask_(slots_.size() - 1) {}

void MergeTable::insert(const Merge& merge) {
    size_t slot = hash_pair(merge.left, merge.right) & mask_;
    while (slots_[slot].left != kNoToken &&
           (slots_[slot].left != merge.left || slots_[slot].right != merge.right))
        slot = (slot + 1) & mask_;
    slots_[slot] = merge;
}

const MergeTable::Merge* MergeTable::find(int32_t left, int32_t right) const {
    for (size_t slot = hash_pair(left, right) & mask_;; slot = (slot + 1) & mask_) {
        const Merge& merge = slots_[slot];
        if (merge.left == left && merge.right == right) return &merge;
        if (merge.left == kNoToken) return nullptr;
    }
}

void Bpe::encode(std::string_view piece, const Vocabulary& vocabulary, std::vector<int32_t>& out,
                 BpeScratch& scratch) const {
    CHECK(piece.size() <= kMaxPieceBytes);
    if (piece.empty()) return;
    if (options_.whole_piece_first || options_.rule == MergeRule::ranks) {
        if (const int32_t whole = vocabulary.find(piece); whole != kNoToken) {
            out.push_back(whole);
            return;
        }
    }
    const Input input{piece, vocabulary};
    scratch.symbols.clear();
    switch (options_.symbols) {
        case Symbols::bytes: split_into_bytes(piece, scratch.symbols); break;
        case Symbols::characters: split_into_characters(input, scratch.symbols); break;
    }
    merge_and_append(input, out, scratch);
}

void Bpe::encode_bytes(std::string_view bytes, const Vocabulary& vocabulary,
                       std::vector<int32_t>& out, BpeScratch& scratch) const {
    CHECK(bytes.size() <= kMaxPieceBytes);
    scratch.symbols.clear();
    split_into_bytes(bytes, scratch.symbols);
    merge_and_append({bytes, vocabulary}, out, scratch);
}

void Bpe::merge_and_append(const Input& input, std::vector<int32_t>& out,
                           BpeScratch& scratch) const {
    if (scratch.symbols.size() <= kShortPiece) {
        merge_short(input, scratch.symbols);
        for (const Symbol& symbol : scratch.symbols) out.push_back(symbol.id);
        return;
    }
    merge_long(input, scratch);
    for (int32_t i = 0; i >= 0; i = scratch.symbols[i].next) out.push_back(scratch.symbols[i].id);
}

std::optional<Bpe::Joined> Bpe::joined(const Symbol& left, const Symbol& right,
                                       const Input& input) const {
    switch (options_.rule) {
        case MergeRule::pairs:
            if (const auto* merge = merges_.find(left.id, right.id))
                return Joined{merge->rank, merge->result};
            return std::nullopt;
        case MergeRule::ranks: {
            const int32_t id =
                input.vocabulary.find(input.piece.substr(left.begin, right.end - left.begin));
            if (id == kNoToken) return std::nullopt;
            return Joined{static_cast<uint32_t>(id), id};
        }
    }
    return std::nullopt;
}

void Bpe::split_into_bytes(std::string_view piece, std::vector<Symbol>& symbols) const {
    for (uint32_t i = 0; i < piece.size(); ++i) {
        const int32_t id = options_.byte_tokens[static_cast<uint8_t>(piece[i])];
        if (id == kNoToken)
            add_unknown(symbols, i, i + 1);
        else
            symbols.push_back({.begin = i, .end = i + 1, .id = id, .previous = -1, .next = -1});
    }
}

void Bpe::split_into_characters(const Input& input, std::vector<Symbol>& symbols) const {
    for (uint32_t begin = 0; begin < input.piece.size();) {
        const uint32_t end = begin + utf8_step(input.piece, begin).length;
        const std::string_view character = input.piece.substr(begin, end - begin);
        const int32_t id = input.vocabulary.find(character);
        const bool bytes = std::all_of(character.begin(), character.end(), [this](char c) {
            return options_.byte_tokens[static_cast<uint8_t>(c)] != kNoToken;
        });
        if (id != kNoToken) {
            symbols.push_back({.begin = begin, .end = end, .id = id, .previous = -1, .next = -1});
        } else if (bytes) {
            for (uint32_t i = begin; i < end; ++i)
                symbols.push_back({.begin = i,
                                   .end = i + 1,
                                   .id = options_.byte_tokens[static_cast<uint8_t>(input.piece[i])],
                                   .previous = -1,
                                   .next = -1});
        } else {
            add_unknown(symbols, begin, end);
        }
        begin = end;
    }
}

void Bpe::add_unknown(std::vector<Symbol>& symbols, uint32_t begin, uint32_t end) const {
    if (options_.unknown == kNoToken) return;
    // Only a true neighbour fuses: a known symbol lies between two runs.
    if (options_.fuse_unknown && !symbols.empty() && symbols.back().id == options_.unknown &&
        symbols.back().end == begin)
        symbols.back().end = end;
    else
        symbols.push_back(
            {.begin = begin, .end = end, .id = options_.unknown, .previous = -1, .next = -1});
}

void Bpe::merge_short(const Input& input, std::vector<Symbol>& symbols) const {
    constexpr uint32_t kNever = UINT32_MAX;
    std::array<Joined, kShortPiece> next{};
    const auto refresh = [&](size_t i) {
        next[i] = joined(symbols[i], symbols[i + 1], input).value_or(Joined{kNever, kNoToken});
    };
    size_t count = symbols.size();
    for (size_t i = 0; i + 1 < count; ++i) refresh(i);
    while (count > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < count; ++i)
            if (next[i].rank < next[best].rank) best = i;
        if (next[best].rank == kNever) break;
        symbols[best].id = next[best].result;
        symbols[best].end = symbols[best + 1].end;
        std::copy(symbols.begin() + best + 2, symbols.begin() + count, symbols.begin() + best + 1);
        std::copy(next.begin() + best + 1, next.begin() + count - 1, next.begin() + best);
        --count;
        symbols.resize(count);
        if (best + 1 < count) refresh(best);
        if (best > 0) refresh(best - 1);
    }
}

void Bpe::merge_long(const Input& input, BpeScratch& scratch) const {
    auto& symbols = scratch.symbols;
    auto& queue = scratch.queue;
    queue.clear();
    const auto count = static_cast<int32_t>(symbols.size());
    const auto candidate = [&](int32_t left) -> std::optional<BpeScratch::Candidate> {
        const Symbol& a = symbols[left];
        if (a.next < 0) return std::nullopt;
        const Symbol& b = symbols[a.next];
        const auto result = joined(a, b, input);
        if (!result) return std::nullopt;
        return BpeScratch::Candidate{.rank = result->rank,
                                     .symbol = static_cast<uint32_t>(left),
                                     .end = b.end,
                                     .result = result->result};
    };
    for (int32_t i = 0; i < count; ++i) {
        symbols[i].previous = i - 1;
        symbols[i].next = i + 1 < count ? i + 1 : -1;
    }
    for (int32_t i = 0; i < count; ++i)
        if (const auto first = candidate(i)) queue.push_back(*first);
    std::make_heap(queue.begin(), queue.end(), later);
    const auto push = [&](int32_t left) {
        if (const auto added = candidate(left)) {
            queue.push_back(*added);
            std::push_heap(queue.begin(), queue.end(), later);
        }
    };
    while (!queue.empty()) {
        std::pop_heap(queue.begin(), queue.end(), later);
        const BpeScratch::Candidate top = queue.back();
        queue.pop_back();
        Symbol& left = symbols[top.symbol];
        if (left.id == kNoToken || left.next < 0 || symbols[left.next].end != top.end) continue;
        Symbol& right = symbols[left.next];
        left.id = top.result;
        left.end = right.end;
        left.next = right.next;
        right.id = kNoToken;  // joined away; what still points at it is out of date
        if (left.next >= 0) symbols[left.next].previous = static_cast<int32_t>(top.symbol);
        if (left.previous >= 0) push(left.previous);
        push(static_cast<int32_t>(top.symbol));
    }
}

}  // namespace colibri
