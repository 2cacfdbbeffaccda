// A stream whose peer sends the fuzzer's input in pieces, and takes everything.
#pragma once

#include <algorithm>
#include <cstring>

#include "homeostat/base/net.h"

namespace homeostat::fuzz {

class FuzzStream : public Stream {
 public:
  // The first byte of the input says how large the pieces are.
  explicit FuzzStream(std::string_view input, std::string_view protocol = {}) : protocol_(protocol) {
    if (input.empty()) return;
    piece_ = 1 + static_cast<unsigned char>(input[0]) * 16;
    input_ = input.substr(1);
  }

  Task<Result<size_t>> Read(std::span<char> buffer) override {
    size_t count = closed_ ? 0 : std::min({buffer.size(), piece_, input_.size()});
    std::memcpy(buffer.data(), input_.data(), count);
    input_.erase(0, count);
    co_return count;
  }
  Task<Result<void>> Write(std::vector<Bytes>) override { co_return Result<void>(); }
  void CloseWrite() override {}
  void Close() override { closed_ = true; }
  std::string remote_address() const override { return "192.0.2.1:1"; }
  std::string_view application_protocol() const override { return protocol_; }

 private:
  std::string input_;
  std::string_view protocol_;
  size_t piece_ = 1;
  bool closed_ = false;
};

}  // namespace homeostat::fuzz
