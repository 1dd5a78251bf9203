#include "tools/compile/base64.h"

#include <cstdint>

namespace modeld::compile {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

Error corrupt(const char* what) {
  return {ErrorCode::kCorrupt, std::string("not base64: ") + what};
}

}  // namespace

Result<std::vector<std::byte>> decode_base64(std::string_view text) {
  std::vector<std::byte> bytes;
  uint32_t group = 0;
  int digits = 0;
  int padding = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const size_t digit = kAlphabet.find(c);
    if (digit == std::string_view::npos || padding > 0) return corrupt("a stray character");
    group = group << 6 | static_cast<uint32_t>(digit);
    if (++digits % 4 != 0) continue;
    for (const int shift : {16, 8, 0}) bytes.push_back(static_cast<std::byte>(group >> shift));
    group = 0;
  }
  const int rest = digits % 4;
  if (rest == 1 || padding != (4 - rest) % 4) return corrupt("it is cut off");
  if (rest >= 2) bytes.push_back(static_cast<std::byte>(group >> (rest == 2 ? 4 : 10)));
  if (rest == 3) bytes.push_back(static_cast<std::byte>(group >> 2));
  return bytes;
}

}  // namespace modeld::compile
