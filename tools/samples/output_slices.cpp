#include "tools/samples/output_slices.h"

#include <openssl/evp.h>

#include <cassert>
#include <string_view>

namespace modeld::samples {
namespace {

constexpr size_t kColumns = 76;
constexpr char kMemoize = '\x94';

void append_number(std::string& out, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

void append_text(std::string& out, std::string_view text) {
  assert(text.size() < 256);
  out.push_back('\x8c');  // SHORT_BINUNICODE
  append_number(out, text.size(), 1);
  out.append(text);
  out.push_back(kMemoize);
}

void append_integer(std::string& out, int64_t value) {
  assert(value >= 0 && value < 65536);
  const bool one_byte = value < 256;
  out.push_back(one_byte ? 'K' : 'M');  // BININT1, BININT2
  append_number(out, static_cast<uint64_t>(value), one_byte ? 1 : 2);
}

// slice(start, stop, None) after its key. The class is spelled out once and then fetched from the
// memo, where it is entry 4: after the dict, the first key, "builtins" and "slice".
void append_slice(std::string& out, const HeadSlice& slice, bool first) {
  if (first) {
    append_text(out, "builtins");
    append_text(out, "slice");
    out.push_back('\x93');  // STACK_GLOBAL
    out.push_back(kMemoize);
  } else {
    out.append("h\x04");  // BINGET
  }
  append_integer(out, slice.start);
  append_integer(out, slice.stop);
  out.push_back('N');     // NONE
  out.push_back('\x87');  // TUPLE3
  out.push_back(kMemoize);
  out.push_back('R');  // REDUCE
  out.push_back(kMemoize);
}

std::string pickle(std::span<const HeadSlice> slices) {
  assert(!slices.empty() && slices.size() <= 1000);
  std::string body;
  body.push_back('}');  // EMPTY_DICT
  body.push_back(kMemoize);
  const bool single = slices.size() == 1;
  if (!single) body.push_back('(');  // MARK
  for (const HeadSlice& slice : slices) {
    append_text(body, slice.name);
    append_slice(body, slice, &slice == &slices.front());
  }
  body.push_back(single ? 's' : 'u');  // SETITEM, SETITEMS
  body.push_back('.');                 // STOP
  std::string out("\x80\x04\x95");     // PROTO 4, FRAME
  append_number(out, body.size(), 8);
  return out + body;
}

}  // namespace

std::string encode_output_slices(std::span<const HeadSlice> slices) {
  const std::string bytes = pickle(slices);
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(length));
  std::string lines;
  for (size_t at = 0; at < text.size(); at += kColumns) {
    lines.append(text, at, kColumns).push_back('\n');
  }
  return lines;
}

}  // namespace modeld::samples
