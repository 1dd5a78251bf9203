#include "tools/compile/slice_pickle.h"

#include <algorithm>
#include <charconv>

#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

constexpr size_t kMaxStack = 4096;
constexpr size_t kMaxMemo = 16384;
constexpr size_t kMaxText = 256;
constexpr size_t kMaxSlices = 1024;

Error corrupt(std::string what) {
  return {ErrorCode::kCorrupt, "pickle: " + std::move(what)};
}

Error refused(std::string what) {
  return {ErrorCode::kRefused, "pickle: " + std::move(what)};
}

std::string hex(uint8_t opcode) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "0x";
  text += kDigits[opcode >> 4];
  text += kDigits[opcode & 15];
  if (opcode > ' ' && opcode < 0x7f) text += std::string(" ('") + static_cast<char>(opcode) + "')";
  return text;
}

}  // namespace

Result<std::span<const std::byte>> SlicePickle::take(uint64_t count) {
  if (count > rest_.size()) return corrupt("it is cut off");
  const auto taken = rest_.first(count);
  rest_ = rest_.subspan(count);
  return taken;
}

Result<uint64_t> SlicePickle::take_unsigned(int bytes) {
  MODELD_ASSIGN(const auto taken, take(static_cast<uint64_t>(bytes)));
  uint64_t value = 0;
  for (size_t i = taken.size(); i-- > 0;) value = value << 8 | static_cast<uint64_t>(taken[i]);
  return value;
}

Result<std::string> SlicePickle::take_line() {
  const auto end = std::find(rest_.begin(), rest_.end(), std::byte{'\n'});
  if (end == rest_.end()) return corrupt("it is cut off");
  const auto length = static_cast<size_t>(end - rest_.begin());
  if (length > kMaxText) return corrupt("a line is too long");
  std::string line(reinterpret_cast<const char*>(rest_.data()), length);
  rest_ = rest_.subspan(length + 1);
  return line;
}

// Little-endian two's complement.
Result<int64_t> SlicePickle::take_long(uint64_t bytes) {
  if (bytes > 8) return refused("an integer of more than 64 bits");
  MODELD_ASSIGN(const auto taken, take(bytes));
  if (taken.empty()) return int64_t{0};
  uint64_t value = (taken.back() & std::byte{0x80}) != std::byte{0} ? ~uint64_t{0} : 0;
  for (size_t i = taken.size(); i-- > 0;) value = value << 8 | static_cast<uint64_t>(taken[i]);
  return static_cast<int64_t>(value);
}

Status SlicePickle::push(Value value) {
  if (stack_.size() >= kMaxStack) return corrupt("its stack is too deep");
  stack_.push_back(std::move(value));
  return {};
}

Result<SlicePickle::Value> SlicePickle::pop() {
  if (stack_.empty() || stack_.back().kind == Kind::kMark) return corrupt("its stack is empty");
  Value value = std::move(stack_.back());
  stack_.pop_back();
  return value;
}

Result<std::vector<SlicePickle::Value>> SlicePickle::pop_to_mark() {
  const auto mark = std::find_if(stack_.rbegin(), stack_.rend(),
                                 [](const Value& value) { return value.kind == Kind::kMark; });
  if (mark == stack_.rend()) return corrupt("a mark is missing");
  std::vector<Value> values(std::make_move_iterator(mark.base()),
                            std::make_move_iterator(stack_.end()));
  stack_.erase(mark.base() - 1, stack_.end());
  return values;
}

Status SlicePickle::push_number_line(bool is_long) {
  MODELD_ASSIGN(std::string line, take_line());
  // Protocol 0 writes False and True as the integers 00 and 01.
  if (line.size() == 2 && line[0] == '0') return refused("a truth value");
  if (is_long && line.ends_with('L')) line.pop_back();
  Value value;
  value.kind = Kind::kInt;
  const auto end = line.data() + line.size();
  const auto [rest, error] = std::from_chars(line.data(), end, value.number);
  if (error == std::errc::result_out_of_range) return refused("an integer of more than 64 bits");
  if (error != std::errc() || rest != end) return corrupt("not a number: " + printable(line));
  return push(std::move(value));
}

Status SlicePickle::push_text(std::string text) {
  if (text.size() > kMaxText) return corrupt("a text is too long");
  Value value;
  value.kind = Kind::kText;
  value.text = std::move(text);
  return push(std::move(value));
}

Status SlicePickle::push_tuple(std::vector<Value> values) {
  if (values.size() > 3) return refused("a tuple of more than three");
  Value tuple;
  tuple.kind = Kind::kTuple;
  for (const Value& value : values) {
    if (value.kind == Kind::kNone) {
      tuple.items.emplace_back(std::nullopt);
    } else if (value.kind == Kind::kInt) {
      tuple.items.emplace_back(value.number);
    } else {
      return refused("a tuple of something else than integers and None");
    }
  }
  return push(std::move(tuple));
}

Status SlicePickle::push_tuple_of(size_t count) {
  std::vector<Value> values(count);
  for (size_t i = count; i-- > 0;) {
    MODELD_ASSIGN(values[i], pop());
  }
  return push_tuple(std::move(values));
}

Status SlicePickle::set_items(std::vector<Value> values) {
  if (stack_.empty() || stack_.back().kind != Kind::kDict) return refused("items without a dict");
  if (values.size() % 2 != 0) return corrupt("a key without value");
  for (size_t i = 0; i < values.size(); i += 2) {
    const Value& key = values[i];
    const Value& value = values[i + 1];
    if (key.kind != Kind::kText || value.kind != Kind::kSlice) {
      return refused("an item that is not a named slice");
    }
    NamedSlice slice{key.text, value.items[0], value.items[1], value.items[2]};
    const auto same = [&](const NamedSlice& other) { return other.name == slice.name; };
    if (std::any_of(slices_.begin(), slices_.end(), same)) {
      return refused("the name '" + printable(slice.name) + "' twice");
    }
    if (slices_.size() >= kMaxSlices) return corrupt("too many slices");
    slices_.push_back(std::move(slice));
  }
  return {};
}

Status SlicePickle::push_global(const std::string& module, const std::string& name) {
  if ((module != "builtins" && module != "__builtin__") || name != "slice") {
    return refused("the global '" + printable(module + "." + name) + "'");
  }
  Value value;
  value.kind = Kind::kSliceType;
  return push(std::move(value));
}

// slice(stop), slice(start, stop) or slice(start, stop, step).
Status SlicePickle::reduce() {
  MODELD_ASSIGN(Value arguments, pop());
  MODELD_ASSIGN(const Value callable, pop());
  if (callable.kind != Kind::kSliceType || arguments.kind != Kind::kTuple ||
      arguments.items.empty()) {
    return refused("a call that does not make a slice");
  }
  auto& items = arguments.items;
  if (items.size() == 1) items.insert(items.begin(), std::nullopt);
  if (items.size() == 2) items.emplace_back(std::nullopt);
  arguments.kind = Kind::kSlice;
  return push(std::move(arguments));
}

Status SlicePickle::store(uint64_t key) {
  if (stack_.empty() || stack_.back().kind == Kind::kMark) return corrupt("nothing to remember");
  if (memo_.size() >= kMaxMemo) return corrupt("it remembers too much");
  memo_[key] = stack_.back();
  return {};
}

Status SlicePickle::load(uint64_t key) {
  const auto found = memo_.find(key);
  if (found == memo_.end()) return corrupt("it asks for what was never remembered");
  return push(found->second);
}

Status SlicePickle::framing(uint8_t opcode, bool& handled) {
  handled = true;
  switch (opcode) {
    case 0x80: {  // PROTO
      MODELD_ASSIGN(const uint64_t version, take_unsigned(1));
      if (version > 5) return refused("protocol " + std::to_string(version));
      return {};
    }
    case 0x95: {  // FRAME
      MODELD_ASSIGN(const uint64_t length, take_unsigned(8));
      if (length > rest_.size()) return corrupt("it is cut off");
      return {};
    }
    case '(': {  // MARK
      Value mark;
      mark.kind = Kind::kMark;
      return push(std::move(mark));
    }
    default:
      handled = false;
      return {};
  }
}

Status SlicePickle::scalar(uint8_t opcode, bool& handled) {
  handled = true;
  Value value;
  value.kind = Kind::kInt;
  switch (opcode) {
    case 'N':  // NONE
      value.kind = Kind::kNone;
      return push(std::move(value));
    case 'I':  // INT
      return push_number_line(false);
    case 'L':  // LONG
      return push_number_line(true);
    case 'J': {  // BININT
      MODELD_ASSIGN(value.number, take_long(4));
      return push(std::move(value));
    }
    case 'K':    // BININT1
    case 'M': {  // BININT2
      MODELD_ASSIGN(const uint64_t number, take_unsigned(opcode == 'K' ? 1 : 2));
      value.number = static_cast<int64_t>(number);
      return push(std::move(value));
    }
    case 0x8a:    // LONG1
    case 0x8b: {  // LONG4
      MODELD_ASSIGN(const uint64_t length, take_unsigned(opcode == 0x8a ? 1 : 4));
      MODELD_ASSIGN(value.number, take_long(length));
      return push(std::move(value));
    }
    default:
      handled = false;
      return {};
  }
}

Status SlicePickle::text(uint8_t opcode, bool& handled) {
  handled = true;
  int length_bytes = 0;
  switch (opcode) {
    case 'V': {  // UNICODE: a line in which only odd characters are escaped
      MODELD_ASSIGN(std::string line, take_line());
      if (line.find('\\') != std::string::npos) return refused("an escaped character in a text");
      return push_text(std::move(line));
    }
    case 0x8c:  // SHORT_BINUNICODE
    case 'U':   // SHORT_BINSTRING
      length_bytes = 1;
      break;
    case 'X':  // BINUNICODE
    case 'T':  // BINSTRING
      length_bytes = 4;
      break;
    case 0x8d:  // BINUNICODE8
      length_bytes = 8;
      break;
    default:
      handled = false;
      return {};
  }
  MODELD_ASSIGN(const uint64_t length, take_unsigned(length_bytes));
  MODELD_ASSIGN(const auto bytes, take(length));
  if (bytes.size() > kMaxText) return corrupt("a text is too long");
  return push_text(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Status SlicePickle::container(uint8_t opcode, bool& handled) {
  handled = true;
  switch (opcode) {
    case ')':  // EMPTY_TUPLE
      return push_tuple({});
    case 0x85:  // TUPLE1
    case 0x86:  // TUPLE2
    case 0x87:  // TUPLE3
      return push_tuple_of(opcode - 0x84u);
    case 't': {  // TUPLE
      MODELD_ASSIGN(std::vector<Value> values, pop_to_mark());
      return push_tuple(std::move(values));
    }
    case '}':    // EMPTY_DICT
    case 'd': {  // DICT
      std::vector<Value> values;
      if (opcode == 'd') {
        MODELD_ASSIGN(values, pop_to_mark());
      }
      if (has_dict_) return refused("more than one dict");
      has_dict_ = true;
      Value dict;
      dict.kind = Kind::kDict;
      MODELD_TRY(push(std::move(dict)));
      return set_items(std::move(values));
    }
    case 's': {  // SETITEM
      std::vector<Value> item(2);
      MODELD_ASSIGN(item[1], pop());
      MODELD_ASSIGN(item[0], pop());
      return set_items(std::move(item));
    }
    case 'u': {  // SETITEMS
      MODELD_ASSIGN(std::vector<Value> values, pop_to_mark());
      return set_items(std::move(values));
    }
    case 'c': {  // GLOBAL
      MODELD_ASSIGN(const std::string module, take_line());
      MODELD_ASSIGN(const std::string name, take_line());
      return push_global(module, name);
    }
    case 0x93: {  // STACK_GLOBAL
      MODELD_ASSIGN(const Value name, pop());
      MODELD_ASSIGN(const Value module, pop());
      if (name.kind != Kind::kText || module.kind != Kind::kText) {
        return refused("a global without a name");
      }
      return push_global(module.text, name.text);
    }
    case 'R':  // REDUCE
      return reduce();
    default:
      handled = false;
      return {};
  }
}

Status SlicePickle::memo(uint8_t opcode, bool& handled) {
  handled = true;
  switch (opcode) {
    case 0x94:  // MEMOIZE
      return store(memo_.size());
    case 'q':    // BINPUT
    case 'r': {  // LONG_BINPUT
      MODELD_ASSIGN(const uint64_t key, take_unsigned(opcode == 'q' ? 1 : 4));
      return store(key);
    }
    case 'h':    // BINGET
    case 'j': {  // LONG_BINGET
      MODELD_ASSIGN(const uint64_t key, take_unsigned(opcode == 'h' ? 1 : 4));
      return load(key);
    }
    case 'p':    // PUT
    case 'g': {  // GET
      MODELD_ASSIGN(const std::string line, take_line());
      uint64_t key = 0;
      const auto end = line.data() + line.size();
      const auto [rest, error] = std::from_chars(line.data(), end, key);
      if (error != std::errc() || rest != end) return corrupt("not a number: " + printable(line));
      return opcode == 'p' ? store(key) : load(key);
    }
    default:
      handled = false;
      return {};
  }
}

Status SlicePickle::step(uint8_t opcode, bool& stop) {
  if (opcode == '.') {
    stop = true;
    return {};
  }
  for (const auto family : {&SlicePickle::framing, &SlicePickle::scalar, &SlicePickle::text,
                            &SlicePickle::container, &SlicePickle::memo}) {
    bool handled = false;
    MODELD_TRY((this->*family)(opcode, handled));
    if (handled) return {};
  }
  return refused("opcode " + hex(opcode) + " is not one a dictionary of slices needs");
}

Result<std::vector<NamedSlice>> SlicePickle::read() {
  bool stop = false;
  while (!stop) {
    MODELD_ASSIGN(const uint64_t opcode, take_unsigned(1));
    MODELD_TRY(step(static_cast<uint8_t>(opcode), stop));
  }
  if (stack_.size() != 1 || stack_[0].kind != Kind::kDict) {
    return refused("it holds something else than a dictionary of slices");
  }
  if (!rest_.empty()) return corrupt("bytes after its end");
  return std::move(slices_);
}

}  // namespace modeld::compile
