// Whether one output comes out bit for bit the same, run after run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "runtime/artifact/sha256.h"
#include "runtime/program/tensor.h"

namespace modeld {

// Keeps the first result and the hash of every distinct one. Not thread-safe.
class Steadiness {
 public:
  explicit Steadiness(TensorType type) : type_(std::move(type)) {}

  // `bytes` are type.bytes() long.
  void add(std::span<const std::byte> bytes);

  size_t distinct() const { return hashes_.size(); }
  // The box of indices that differed from the first result, both ends included; empty lists for a
  // scalar, and while nothing differed.
  const std::vector<int64_t>& first() const { return first_; }
  const std::vector<int64_t>& last() const { return last_; }

 private:
  void widen(int64_t element);

  TensorType type_;
  std::vector<std::byte> reference_;
  std::set<Sha256> hashes_;
  std::vector<int64_t> first_;
  std::vector<int64_t> last_;
};

}  // namespace modeld
