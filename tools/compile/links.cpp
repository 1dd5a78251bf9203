#include "tools/compile/links.h"

#include <algorithm>
#include <limits>

namespace modeld::compile {
namespace {

constexpr size_t kNone = std::numeric_limits<size_t>::max();

}  // namespace

Links::Links(Draft& draft) : draft_(draft), removed_(draft.ops.size(), false) {
  grow();
  for (const TensorId id : draft_.outputs) roots_[id] = true;
  for (const DraftState& state : draft_.states) roots_[state.next] = true;
  for (size_t i = 0; i < draft_.ops.size(); ++i) {
    for (const TensorId id : draft_.ops[i].outputs) producers_[id] = i;
    link_reads(i);
  }
}

void Links::grow() {
  const size_t count = draft_.tensors.size();
  if (producers_.size() >= count) return;
  producers_.resize(count, kNone);
  readers_.resize(count);
  roots_.resize(count, false);
}

std::optional<size_t> Links::producer(TensorId tensor) const {
  if (tensor >= producers_.size() || producers_[tensor] == kNone) return std::nullopt;
  return producers_[tensor];
}

std::optional<size_t> Links::producer(TensorId tensor, OpKind kind) const {
  const auto found = producer(tensor);
  if (!found || draft_.ops[*found].kind != kind) return std::nullopt;
  return found;
}

const std::vector<size_t>& Links::readers(TensorId tensor) const {
  static const std::vector<size_t> nobody;
  return tensor < readers_.size() ? readers_[tensor] : nobody;
}

bool Links::is_root(TensorId tensor) const {
  return tensor < roots_.size() && roots_[tensor];
}

bool Links::has_single_use(TensorId tensor) const {
  return !is_root(tensor) && readers(tensor).size() == 1;
}

void Links::link_reads(size_t op) {
  for (const TensorId id : draft_.ops[op].inputs) {
    if (id != kNoTensor) readers_[id].push_back(op);
  }
}

void Links::unlink_reads(size_t op) {
  for (const TensorId id : draft_.ops[op].inputs) {
    if (id == kNoTensor) continue;
    auto& readers = readers_[id];
    readers.erase(std::find(readers.begin(), readers.end(), op));
  }
}

void Links::replace_reads(TensorId from, TensorId to) {
  grow();
  for (const size_t op : readers_[from]) {
    std::replace(draft_.ops[op].inputs.begin(), draft_.ops[op].inputs.end(), from, to);
    readers_[to].push_back(op);
  }
  readers_[from].clear();
}

void Links::replace_op(size_t op, Op replacement) {
  grow();
  unlink_reads(op);
  replacement.outputs = draft_.ops[op].outputs;
  draft_.ops[op] = std::move(replacement);
  link_reads(op);
}

void Links::remove_op(size_t op) {
  unlink_reads(op);
  for (const TensorId id : draft_.ops[op].outputs) producers_[id] = kNone;
  draft_.ops[op].inputs.clear();
  removed_[op] = true;
}

bool Links::bypass(size_t op, TensorId in, TensorId out) {
  if (!is_root(out)) {
    remove_op(op);
    replace_reads(out, in);
    return true;
  }
  const auto writer = producer(in);
  if (!writer || is_root(in)) return false;
  remove_op(op);
  replace_reads(in, out);
  std::replace(draft_.ops[*writer].outputs.begin(), draft_.ops[*writer].outputs.end(), in, out);
  producers_[in] = kNone;
  producers_[out] = *writer;
  return true;
}

void Links::finish() {
  size_t kept = 0;
  for (size_t i = 0; i < draft_.ops.size(); ++i) {
    if (removed_[i]) continue;
    if (kept != i) draft_.ops[kept] = std::move(draft_.ops[i]);
    ++kept;
  }
  draft_.ops.resize(kept);
}

}  // namespace modeld::compile
