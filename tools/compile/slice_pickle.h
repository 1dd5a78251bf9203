// The stack machine behind read_slice_pickle(): the opcodes of Python's pickle format that a
// dictionary of slices uses, and no others. Source of the format: Python's pickletools.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "tools/compile/output_slices.h"

namespace modeld::compile {

// Used once: read() consumes the data. Every size is bounded, whatever the data say.
class SlicePickle {
 public:
  explicit SlicePickle(std::span<const std::byte> bytes) : rest_(bytes) {}

  Result<std::vector<NamedSlice>> read();

 private:
  enum class Kind : uint8_t { kMark, kNone, kInt, kText, kTuple, kDict, kSliceType, kSlice };

  // Containers hold numbers and None only, so a value is small whatever refers to it.
  struct Value {
    Kind kind = Kind::kNone;
    int64_t number = 0;
    std::string text;
    std::vector<std::optional<int64_t>> items;  // of a tuple or slice
  };

  Status step(uint8_t opcode, bool& stop);
  Status framing(uint8_t opcode, bool& handled);
  Status scalar(uint8_t opcode, bool& handled);
  Status text(uint8_t opcode, bool& handled);
  Status container(uint8_t opcode, bool& handled);
  Status memo(uint8_t opcode, bool& handled);

  Result<std::span<const std::byte>> take(uint64_t count);
  Result<uint64_t> take_unsigned(int bytes);
  Result<std::string> take_line();
  Result<int64_t> take_long(uint64_t bytes);
  Status push_number_line(bool is_long);
  Status push_text(std::string value);
  Status push(Value value);
  Result<Value> pop();
  // Values above the topmost mark, in order; the mark is removed.
  Result<std::vector<Value>> pop_to_mark();
  Status push_tuple(std::vector<Value> values);
  Status push_tuple_of(size_t count);
  Status set_items(std::vector<Value> values);
  Status push_global(const std::string& module, const std::string& name);
  Status reduce();
  Status store(uint64_t key);
  Status load(uint64_t key);

  std::span<const std::byte> rest_;
  std::vector<Value> stack_;
  std::map<uint64_t, Value> memo_;
  bool has_dict_ = false;
  std::vector<NamedSlice> slices_;
};

}  // namespace modeld::compile
