#include "format/npy.h"

#include <fmt/format.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace colibri {

namespace {

static_assert(std::endian::native == std::endian::little, "headers below say little-endian");

// NumPy's name of an element type; "" when it has none.
std::string_view descriptor_of(DType dtype) {
    switch (dtype) {
        case DType::f32: return "<f4";
        case DType::f16: return "<f2";
        case DType::u8: return "|u1";
        case DType::i8: return "|i1";
        case DType::i32: return "<i4";
        case DType::i64: return "<i8";
        case DType::bf16:
        case DType::f8_e4m3:
        case DType::f8_e8m0: return "";
    }
    return "";
}

std::string header_of(std::string_view descriptor, std::span<const uint64_t> shape) {
    std::string dimensions;
    for (const uint64_t size : shape)
        dimensions += fmt::format("{}{}", dimensions.empty() ? "" : ", ", size);
    if (shape.size() == 1) dimensions += ',';  // a tuple of one
    std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   descriptor, dimensions);
    constexpr size_t kPreamble = 10, kAlignment = 64;
    while ((kPreamble + text.size() + 1) % kAlignment != 0) text += ' ';
    text += '\n';
    std::string header("\x93NUMPY\x01\x00", 8);
    header += char(text.size() & 0xFF);
    header += char(text.size() >> 8);
    return header + text;
}

}  // namespace

Result<NpyWriter> NpyWriter::open(const std::string& path, DType dtype,
                                  std::vector<uint64_t> shape) {
    const std::string_view descriptor = descriptor_of(dtype);
    if (descriptor.empty())
        return fail(ErrorKind::unsupported,
                    fmt::format("{}: NumPy has no element type for {}", path, to_string(dtype)));
    NpyWriter writer;
    writer.path_ = path;
    writer.partial_path_ = path + ".partial";
    writer.expected_bytes_ = size_bytes(dtype);
    for (const uint64_t size : shape)
        if (__builtin_mul_overflow(writer.expected_bytes_, size, &writer.expected_bytes_))
            return fail(ErrorKind::invalid_input,
                        fmt::format("{}: the array would be larger than 2^64 bytes", path));
    writer.file_ = std::fopen(writer.partial_path_.c_str(), "wbe");
    if (writer.file_ == nullptr)
        return fail(ErrorKind::io, fmt::format("{}: cannot be written: {}", writer.partial_path_,
                                               std::generic_category().message(errno)));
    const std::string header = header_of(descriptor, shape);
    TRY_STATUS(writer.put(std::as_bytes(std::span(header))));
    return writer;
}

NpyWriter::NpyWriter(NpyWriter&& other) noexcept {
    *this = std::move(other);
}

NpyWriter& NpyWriter::operator=(NpyWriter&& other) noexcept {
    if (this == &other) return *this;
    abandon();
    path_ = std::move(other.path_);
    partial_path_ = std::move(other.partial_path_);
    file_ = std::exchange(other.file_, nullptr);
    expected_bytes_ = other.expected_bytes_;
    written_bytes_ = other.written_bytes_;
    return *this;
}

NpyWriter::~NpyWriter() {
    abandon();
}

void NpyWriter::abandon() {
    if (file_ == nullptr) return;
    std::fclose(std::exchange(file_, nullptr));
    std::remove(partial_path_.c_str());
}

Status NpyWriter::put(std::span<const std::byte> bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size()) return {};
    return fail(ErrorKind::io,
                fmt::format("{}: write failed: {}", path_, std::generic_category().message(errno)));
}

Status NpyWriter::append(std::span<const std::byte> elements) {
    if (elements.size() > expected_bytes_ - written_bytes_)
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: {} bytes after {} are more than the shape's {}", path_,
                                elements.size(), written_bytes_, expected_bytes_));
    TRY_STATUS(put(elements));
    written_bytes_ += elements.size();
    return {};
}

Status NpyWriter::close() {
    if (written_bytes_ != expected_bytes_)
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: {} bytes were given, the shape needs {}", path_,
                                written_bytes_, expected_bytes_));
    if (std::fclose(std::exchange(file_, nullptr)) != 0 ||
        std::rename(partial_path_.c_str(), path_.c_str()) != 0) {
        const int error = errno;
        std::remove(partial_path_.c_str());
        return fail(ErrorKind::io, fmt::format("{}: cannot be completed: {}", path_,
                                               std::generic_category().message(error)));
    }
    return {};
}

}  // namespace colibri
