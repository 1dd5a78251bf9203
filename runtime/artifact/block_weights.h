// The weights section of a model file, verified block by block as it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/artifact/sha256.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/program/weights.h"

namespace modeld {

// Reads by pread, never by mapping: a file that shrinks or changes under us is kRefused, not a
// signal. Holds one block of at most kWeightBlockBytes. Not thread-safe.
class BlockWeights final : public WeightSource {
 public:
  // `offset` and `size`: the section in the file. One hash per block.
  BlockWeights(UniqueFd fd, uint64_t offset, uint64_t size, std::vector<Sha256> hashes);

  uint64_t size() const override { return size_; }
  Status read(uint64_t offset, std::span<std::byte> out) override;

 private:
  Status load_block(uint64_t index);

  UniqueFd fd_;
  uint64_t offset_;
  uint64_t size_;
  std::vector<Sha256> hashes_;
  std::vector<std::byte> block_;
  std::optional<uint64_t> loaded_;
};

}  // namespace modeld
