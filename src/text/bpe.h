// Byte-pair encoding of one piece: repeatedly join the neighbours of lowest rank, leftmost first.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace colibri {

// Which neighbours may join.
enum class MergeRule : uint8_t {
    pairs,  // tokenizer.json: a list of id pairs in order of rank
    ranks,  // tiktoken: any two whose concatenation is a token, ranked by that token's id
};

// What a piece falls into before merging.
enum class Symbols : uint8_t {
    bytes,       // byte-level vocabularies
    characters,  // SentencePiece-like vocabularies
};

// Joined pairs by (left, right).
class MergeTable {
public:
    struct Merge {
        int32_t left;
        int32_t right;
        uint32_t rank;
        int32_t result;
    };

    explicit MergeTable(size_t count = 0);
    // A pair given again takes the later rank, as in the reference library.
    void insert(const Merge& merge);
    [[nodiscard]] const Merge* find(int32_t left, int32_t right) const;
    [[nodiscard]] size_t memory_bytes() const { return slots_.capacity() * sizeof(Merge); }

private:
    std::vector<Merge> slots_;
    size_t mask_ = 0;
};

struct BpeOptions {
    MergeRule rule = MergeRule::pairs;
    Symbols symbols = Symbols::bytes;
    bool whole_piece_first =
        false;                   // "ignore_merges": a piece that is a token is not merged at all
    bool fuse_unknown = false;   // a run of unknown symbols gives one unknown token
    int32_t unknown = kNoToken;  // without one, a symbol that no token spells is dropped
    // By byte: the token of a byte (symbols: bytes), or the <0xXX> token (symbols: characters with
    // byte fallback).
    std::array<int32_t, 256> byte_tokens = [] {
        std::array<int32_t, 256> none{};
        none.fill(kNoToken);
        return none;
    }();
};

// Working memory; one per thread and call.
struct BpeScratch {
    struct Symbol {
        uint32_t begin;  // bytes of the piece
        uint32_t end;
        int32_t id;
        int32_t previous;  // -1: none
        int32_t next;
    };
    struct Candidate {
        uint32_t rank;
        uint32_t symbol;
        uint32_t end;  // of the joined symbol; another end means that the candidate is out of date
        int32_t result;
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> queue;
};

// Immutable and thread-safe. Longest piece: kMaxPieceBytes. Time is n log n in the piece's length.
class Bpe {
public:
    static constexpr size_t kMaxPieceBytes = INT32_MAX;

    Bpe() = default;
    Bpe(const BpeOptions& options, MergeTable merges)
        : options_(options), merges_(std::move(merges)) {}

    // Appends the ids of `piece`. `vocabulary` is the one that the merges were made for.
    void encode(std::string_view piece, const Vocabulary& vocabulary, std::vector<int32_t>& out,
                BpeScratch& scratch) const;
    // Appends the tokens of bytes that are not text: by byte where the vocabulary can, else as
    // unknown.
    void encode_bytes(std::string_view bytes, const Vocabulary& vocabulary,
                      std::vector<int32_t>& out, BpeScratch& scratch) const;

    [[nodiscard]] const BpeOptions& options() const { return options_; }
    [[nodiscard]] size_t memory_bytes() const { return merges_.memory_bytes(); }

private:
    using Symbol = BpeScratch::Symbol;
    struct Joined {
        uint32_t rank;
        int32_t result;
    };
    struct Input;

    [[nodiscard]] std::optional<Joined> joined(const Symbol& left, const Symbol& right,
                                               const Input& input) const;
    void split_into_bytes(std::string_view piece, std::vector<Symbol>& symbols) const;
    void split_into_characters(const Input& input, std::vector<Symbol>& symbols) const;
    void add_unknown(std::vector<Symbol>& symbols, uint32_t begin, uint32_t end) const;
    void merge_short(const Input& input, std::vector<Symbol>& symbols) const;
    void merge_long(const Input& input, BpeScratch& scratch) const;
    void merge_and_append(const Input& input, std::vector<int32_t>& out, BpeScratch& scratch) const;

    BpeOptions options_;
    MergeTable merges_;
};

}  // namespace colibri
