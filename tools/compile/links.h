// Who writes and who reads each tensor of a draft, kept right while a pass changes it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tools/compile/draft.h"

namespace modeld::compile {

// The draft must not be changed past this object while it lives, except for adding tensors. Removed
// ops stay in place (empty) until finish(), so that positions keep their meaning.
class Links {
 public:
  explicit Links(Draft& draft);

  size_t op_count() const { return draft_.ops.size(); }
  bool removed(size_t op) const { return removed_[op]; }
  const Op& op(size_t index) const { return draft_.ops[index]; }
  Draft& draft() { return draft_; }

  // Position of the op that writes the tensor; nothing for inputs, states and constants.
  std::optional<size_t> producer(TensorId tensor) const;
  // The op of `kind` that writes the tensor, if that is so.
  std::optional<size_t> producer(TensorId tensor, OpKind kind) const;
  // Ops that read the tensor (an op that reads it twice counts twice).
  const std::vector<size_t>& readers(TensorId tensor) const;
  // A program output or the `next` of a state: its name and place are a promise.
  bool is_root(TensorId tensor) const;
  // Exactly one op reads it, once, and nothing else does.
  bool has_single_use(TensorId tensor) const;

  // Every op that reads `from` reads `to` instead, which is written earlier. Roots stay.
  void replace_reads(TensorId from, TensorId to);
  // The op at `op` gets another definition; its outputs stay the same.
  void replace_op(size_t op, Op replacement);
  void remove_op(size_t op);
  // Removes `op`, whose only output is `out`, by letting its readers read `in`. Where `out` is a
  // root, the op that writes `in` writes `out` from now on. False, and nothing changed, where that
  // cannot be (in is no op's or another root).
  bool bypass(size_t op, TensorId in, TensorId out);

  // Drops removed ops.
  void finish();

 private:
  void unlink_reads(size_t op);
  void link_reads(size_t op);
  void grow();

  Draft& draft_;
  std::vector<size_t> producers_;  // by tensor; kNone
  std::vector<std::vector<size_t>> readers_;
  std::vector<bool> roots_;
  std::vector<bool> removed_;
};

}  // namespace modeld::compile
