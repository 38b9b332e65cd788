#include "runtime/sequence_state.h"

#include <gtest/gtest.h>

#include <cstring>

namespace colibri {
namespace {

constexpr uint32_t kCapacity = 300;

std::shared_ptr<const StateShape> shape(uint64_t fingerprint = 77) {
    auto made = std::make_shared<StateShape>();
    made->layers = {{.latent = 5, .index_key = 3}, {.latent = 5}};
    made->hidden = 4;
    made->fingerprint = fingerprint;
    return made;
}

// A value that says where it belongs.
float mark(uint32_t layer, uint32_t position, uint32_t salt) {
    return float(layer * 100000 + position * 10 + salt);
}

void write(SequenceState& state, uint32_t begin, uint32_t end, uint32_t salt) {
    for (uint32_t layer = 0; layer < 2; ++layer)
        for (uint32_t p = begin; p < end; ++p) {
            std::fill_n(state.layer(layer).latent(p), 5, mark(layer, p, salt));
            if (layer == 0) std::fill_n(state.layer(0).index_key(p), 3, -mark(0, p, salt));
        }
}

void extend(SequenceState& state, uint32_t rows, uint32_t salt) {
    const uint32_t begin = state.length();
    const Status status = state.append(rows);
    ASSERT_TRUE(status) << status.error().message;
    write(state, begin, begin + rows, salt);
    state.accept(rows);
}

// Rows [begin, end) hold what extend(…, salt) wrote.
void expect_rows(SequenceState& state, uint32_t begin, uint32_t end, uint32_t salt) {
    for (uint32_t p = begin; p < end; ++p) {
        EXPECT_EQ(state.layer(0).latent(p)[4], mark(0, p, salt)) << "position " << p;
        EXPECT_EQ(state.layer(1).latent(p)[0], mark(1, p, salt)) << "position " << p;
        EXPECT_EQ(state.layer(0).index_key(p)[2], -mark(0, p, salt)) << "position " << p;
    }
}

SequenceState filled(uint32_t rows, uint32_t salt = 1) {
    SequenceState state(shape(), kCapacity);
    extend(state, rows, salt);
    state.set_last_hidden(std::vector<float>{1, 2, 3, 4});
    return state;
}

// Goal: pending rows become part of the sequence only as far as they are accepted.
// Method: appends of which none, some and all rows are accepted, over a block border.
TEST(SequenceState, AcceptsAPrefixOfWhatWasAppended) {
    SequenceState state(shape(), kCapacity);
    extend(state, 60, 1);
    ASSERT_TRUE(state.append(10));
    write(state, 60, 70, 2);
    EXPECT_EQ(state.pending(), 10U);
    state.accept(6);
    EXPECT_EQ(state.length(), 66U);
    EXPECT_EQ(state.pending(), 0U);
    ASSERT_TRUE(state.append(4));
    state.accept(0);
    EXPECT_EQ(state.length(), 66U);
    extend(state, 70, 3);
    expect_rows(state, 0, 60, 1);
    expect_rows(state, 60, 66, 2);
    expect_rows(state, 66, 136, 3);
}

// Goal: a full context is refused with what is used, what is needed, the limit and the option;
// nothing changes. Method: one row too many, and exactly the last one.
TEST(SequenceState, RefusesRowsBeyondTheContext) {
    SequenceState state = filled(299);
    const Status status = state.append(2);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::out_of_budget);
    for (const char* part : {"299", "2 more", "300", "--ctx"})
        EXPECT_NE(status.error().message.find(part), std::string::npos) << status.error().message;
    EXPECT_EQ(state.length(), 299U);
    EXPECT_EQ(state.pending(), 0U);
    extend(state, 1, 1);
    expect_rows(state, 0, 300, 1);
    EXPECT_FALSE(state.append(1));
}

// Goal: truncation keeps the rows before it and drops the hidden row, which belongs to a later
// position. Method: cuts at, before and after a block border, then other rows.
TEST(SequenceState, TruncatesAndGoesOn) {
    for (const uint32_t length : {0U, 1U, 63U, 64U, 65U, 128U, 199U}) {
        SequenceState state = filled(200);
        state.truncate(length);
        EXPECT_EQ(state.length(), length);
        EXPECT_TRUE(state.last_hidden().empty());
        extend(state, 50, 2);
        expect_rows(state, 0, length, 1);
        expect_rows(state, length, length + 50, 2);
    }
    SequenceState same = filled(200);
    same.truncate(200);
    EXPECT_EQ(same.last_hidden().size(), 4U);
}

// Goal: forks share memory until one of them writes, and never see each other's rows.
// Method: a fork in the middle of a block; addresses of full and of partial blocks before and after
// writing.
TEST(SequenceState, ForksCopyOnWrite) {
    SequenceState state = filled(150);
    SequenceState fork = state.fork(100);
    EXPECT_EQ(fork.length(), 100U);
    EXPECT_EQ(fork.layer(0).latent(0), state.layer(0).latent(0));
    EXPECT_EQ(fork.layer(0).latent(99), state.layer(0).latent(99));
    extend(fork, 100, 2);
    EXPECT_EQ(fork.layer(0).latent(10), state.layer(0).latent(10)) << "a full block stays shared";
    EXPECT_NE(fork.layer(0).latent(99), state.layer(0).latent(99))
        << "the written block is its own";
    expect_rows(state, 0, 150, 1);
    expect_rows(fork, 0, 100, 1);
    expect_rows(fork, 100, 200, 2);
    extend(state, 100, 3);
    expect_rows(state, 150, 250, 3);
    expect_rows(fork, 100, 200, 2);
}

// Goal: a snapshot survives whatever happens to the state, and can be restored more than once.
// Method: the state is extended, truncated into a shared block, extended again; then assigned back
// twice.
TEST(SequenceState, SnapshotsRestore) {
    SequenceState state = filled(130);
    const SequenceState snapshot = state.snapshot();
    EXPECT_EQ(snapshot.last_hidden().size(), 4U);
    extend(state, 20, 2);
    state.truncate(70);
    extend(state, 60, 3);
    for (int round = 0; round < 2; ++round) {
        state = snapshot;
        EXPECT_EQ(state.length(), 130U);
        expect_rows(state, 0, 130, 1);
        EXPECT_EQ(state.last_hidden()[3], 4.0F);
        extend(state, 5, 4);
    }
}

// Goal: a saved state comes back with rows and hidden row.
// Method: round trips of lengths around block borders, with a capacity that differs.
TEST(SequenceState, SavesAndLoads) {
    for (const uint32_t rows : {1U, 63U, 64U, 65U, 200U}) {
        const std::string bytes = filled(rows).serialize();
        auto loaded = SequenceState::deserialize(shape(), 256, bytes);
        ASSERT_TRUE(loaded) << loaded.error().message;
        EXPECT_EQ(loaded->length(), rows);
        EXPECT_EQ(loaded->capacity(), 256U);
        expect_rows(*loaded, 0, rows, 1);
        ASSERT_EQ(loaded->last_hidden().size(), 4U);
        EXPECT_EQ(loaded->last_hidden()[2], 3.0F);
        extend(*loaded, 10, 2);
        expect_rows(*loaded, rows, rows + 10, 2);
    }
    const SequenceState empty(shape(), kCapacity);
    const auto loaded = SequenceState::deserialize(shape(), kCapacity, empty.serialize());
    ASSERT_TRUE(loaded);
    EXPECT_EQ(loaded->length(), 0U);
}

// Goal: no damaged byte goes unnoticed.
// Method: every byte of the header, and bytes of the first row, the middle, the last block and the
// hidden row, inverted in turn.
TEST(SequenceState, RefusesAnyDamagedByte) {
    const std::string bytes = filled(130).serialize();
    std::vector<size_t> places;
    for (size_t i = 0; i < 64; ++i) places.push_back(i);
    for (const size_t i : {bytes.size() / 3, bytes.size() / 2, bytes.size() - 17, bytes.size() - 16,
                           bytes.size() - 1})
        places.push_back(i);
    for (const size_t place : places) {
        std::string damaged = bytes;
        damaged[place] = char(~damaged[place]);
        const auto loaded = SequenceState::deserialize(shape(), kCapacity, damaged);
        EXPECT_FALSE(loaded) << "byte " << place;
    }
}

// Goal: files that are no state, or end early, or have more than they should, are refused as
// damaged. Method: nothing, a text, a header alone, every kind of cut, trailing bytes.
TEST(SequenceState, RefusesCutAndForeignFiles) {
    const std::string bytes = filled(130).serialize();
    for (const std::string& wrong :
         {std::string(), std::string("hello\n"), std::string(100, 'x'), bytes.substr(0, 47),
          bytes.substr(0, 48), bytes.substr(0, 200), bytes.substr(0, bytes.size() / 2),
          bytes.substr(0, bytes.size() - 1), bytes + 'x', bytes + bytes}) {
        const auto loaded = SequenceState::deserialize(shape(), kCapacity, wrong);
        ASSERT_FALSE(loaded) << wrong.size() << " bytes";
        EXPECT_EQ(loaded.error().kind, ErrorKind::corrupt) << loaded.error().message;
    }
}

// Goal: a state of another model, version or larger context is refused with the reason, not as
// damage. Method: other fingerprint, other layers, later version, a context that is too small.
TEST(SequenceState, RefusesStatesOfOthers) {
    const std::string bytes = filled(130).serialize();
    const auto other = SequenceState::deserialize(shape(78), kCapacity, bytes);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().kind, ErrorKind::invalid_input);
    EXPECT_NE(other.error().message.find("another model"), std::string::npos);

    auto wider = std::make_shared<StateShape>(*shape());
    wider->layers[1].latent = 6;
    const auto layers = SequenceState::deserialize(wider, kCapacity, bytes);
    ASSERT_FALSE(layers);
    EXPECT_EQ(layers.error().kind, ErrorKind::invalid_input);

    std::string version = bytes;
    version[8] = 9;
    const auto later = SequenceState::deserialize(shape(), kCapacity, version);
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().kind, ErrorKind::invalid_input);
    EXPECT_NE(later.error().message.find("version 9"), std::string::npos) << later.error().message;

    const auto small = SequenceState::deserialize(shape(), 129, bytes);
    ASSERT_FALSE(small);
    EXPECT_EQ(small.error().kind, ErrorKind::out_of_budget);
    EXPECT_NE(small.error().message.find("--ctx"), std::string::npos);
}

}  // namespace
}  // namespace colibri
