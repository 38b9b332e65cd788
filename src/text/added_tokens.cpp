#include "text/added_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "text/utf8.h"

namespace colibri {
namespace {

constexpr uint32_t kVisibleSpace = 0x2581;

bool is_blank(std::string_view content) {
    for (size_t position = 0; position < content.size();) {
        const Utf8Step step = utf8_step(content, position);
        if (!is_white_space(step.code_point) && step.code_point != kVisibleSpace) return false;
        position += step.length;
    }
    return true;
}

size_t character_before(std::string_view text, size_t position) {
    do --position;
    while (position > 0 && (static_cast<uint8_t>(text[position]) & 0xC0) == 0x80);
    return position;
}

size_t blanks_before(std::string_view text, size_t position) {
    while (position > 0) {
        const size_t before = character_before(text, position);
        if (!is_white_space(utf8_step(text, before).code_point)) break;
        position = before;
    }
    return position;
}

size_t blanks_after(std::string_view text, size_t position) {
    while (position < text.size()) {
        const Utf8Step step = utf8_step(text, position);
        if (!is_white_space(step.code_point)) break;
        position += step.length;
    }
    return position;
}

}  // namespace

Result<AddedTokens> AddedTokens::build(std::vector<AddedToken> tokens,
                                       const std::vector<NormalizerStep>& steps,
                                       std::string_view file_name) {
    AddedTokens added;
    size_t total = 0;
    for (const AddedToken& token : tokens) {
        total += token.content.size();
        if (token.content.empty() || token.content.size() > kMaxContentBytes ||
            total > kMaxTotalBytes)
            return fail(
                ErrorKind::invalid_input,
                fmt::format("{}: added token {}: content of {} bytes (one must have 1 to {}, all "
                            "together at most {})",
                            file_name, token.id, token.content.size(), kMaxContentBytes,
                            kMaxTotalBytes));
        if (token.special) added.special_ids_.push_back(token.id);
        if (token.single_word && !added.word_) {
            TRY(added.word_, Regex::compile("\\w", RegexDialect::rust, file_name));
        }
    }
    std::sort(added.special_ids_.begin(), added.special_ids_.end());
    // By content; of the same content the special one first, then the earlier one.
    std::vector<size_t> order(tokens.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&tokens](size_t a, size_t b) {
        return std::tuple(std::string_view(tokens[a].content), !tokens[a].special, a) <
               std::tuple(std::string_view(tokens[b].content), !tokens[b].special, b);
    });
    for (const size_t i : order)
        if (added.tokens_.empty() || added.tokens_.back().content != tokens[i].content)
            added.tokens_.push_back(std::move(tokens[i]));
    RegexScratch scratch;
    for (int32_t i = 0; i < static_cast<int32_t>(added.tokens_.size()); ++i) {
        const AddedToken& token = added.tokens_[i];
        if (token.normalized) {
            TRY(const std::string content, normalize(steps, token.content, scratch));
            if (!content.empty()) added.add_to_tree(added.normalized_, content, i);
        } else {
            added.add_to_tree(added.raw_, token.content, i);
        }
    }
    return added;
}

void AddedTokens::add_to_tree(Tree& tree, std::string_view content, int32_t token) const {
    if (tree.nodes.empty()) tree.nodes.emplace_back();  // index 0 means "none"
    uint32_t node = 0;
    for (const char c : content) {
        const auto byte = static_cast<uint8_t>(c);
        uint32_t child = node == 0 ? tree.roots[byte] : tree.nodes[node].child;
        while (node != 0 && child != 0 && tree.nodes[child].byte != byte)
            child = tree.nodes[child].sibling;
        if (child == 0) {
            child = static_cast<uint32_t>(tree.nodes.size());
            tree.nodes.push_back({.byte = byte});
            if (node == 0) {
                tree.roots[byte] = child;
            } else {
                tree.nodes[child].sibling = tree.nodes[node].child;
                tree.nodes[node].child = child;
            }
        }
        node = child;
    }
    Node& end = tree.nodes[node];
    if (end.token >= 0 && (tokens_[end.token].special || !tokens_[token].special)) return;
    end.token = token;
    end.blank = !tokens_[token].special && is_blank(content);
}

std::optional<AddedTokens::Hit> AddedTokens::longest_at(const Tree& tree, std::string_view text,
                                                        size_t position,
                                                        SpecialTokens which) const {
    std::optional<Hit> best;
    uint32_t node = tree.roots[static_cast<uint8_t>(text[position])];
    while (node != 0) {
        const Node& here = tree.nodes[node];
        ++position;
        if (here.token >= 0 && (which == SpecialTokens::recognized || here.blank))
            best = Hit{here.token, position};
        if (position == text.size()) break;
        const auto byte = static_cast<uint8_t>(text[position]);
        node = here.child;
        while (node != 0 && tree.nodes[node].byte != byte) node = tree.nodes[node].sibling;
    }
    return best;
}

bool AddedTokens::touches_word(std::string_view text, size_t begin, size_t end,
                               RegexScratch& scratch) const {
    const auto is_word = [&](size_t position) {
        const std::string_view character = text.substr(position, utf8_step(text, position).length);
        RegexMatch match{};
        return word_->find(character, 0, scratch, match).value_or(false);
    };
    return (begin > 0 && is_word(character_before(text, begin))) ||
           (end < text.size() && is_word(end));
}

std::vector<AddedTokens::Part> AddedTokens::split(std::string_view text, bool normalized,
                                                  SpecialTokens which,
                                                  RegexScratch& scratch) const {
    const Tree& tree = normalized ? normalized_ : raw_;
    std::vector<Part> parts;
    size_t done = 0;
    for (size_t position = 0; !tree.nodes.empty() && position < text.size();) {
        const auto hit = longest_at(tree, text, position, which);
        if (!hit) {
            ++position;
            continue;
        }
        const AddedToken& token = tokens_[hit->token];
        size_t begin = position;
        size_t end = hit->end;
        // The search goes on behind the token's own text, whatever else it takes or leaves.
        position = end;
        if (token.single_word && touches_word(text, begin, end, scratch)) continue;
        if (token.lstrip) begin = std::max(blanks_before(text, begin), done);
        if (token.rstrip) end = blanks_after(text, end);
        if (done < begin) parts.push_back({text.substr(done, begin - done)});
        // A token may lie wholly inside the white space that the one before it took.
        if (begin < end) parts.push_back({text.substr(begin, end - begin), token.id});
        done = std::max(done, end);
    }
    if (done < text.size()) parts.push_back({text.substr(done)});
    return parts;
}

std::optional<int32_t> AddedTokens::find(std::string_view content) const {
    const auto token = std::lower_bound(
        tokens_.begin(), tokens_.end(), content,
        [](const AddedToken& a, std::string_view value) { return a.content < value; });
    if (token == tokens_.end() || token->content != content) return std::nullopt;
    return token->id;
}

bool AddedTokens::is_special(int32_t id) const {
    return std::binary_search(special_ids_.begin(), special_ids_.end(), id);
}

size_t AddedTokens::memory_bytes() const {
    size_t total =
        tokens_.capacity() * sizeof(AddedToken) + special_ids_.capacity() * sizeof(int32_t);
    for (const AddedToken& token : tokens_) total += token.content.capacity();
    return total + (raw_.nodes.capacity() + normalized_.nodes.capacity()) * sizeof(Node);
}

}  // namespace colibri
