#include "tools/compile/text.h"

namespace modeld::compile {

std::string printable(std::string_view name) {
  constexpr size_t kMaxLength = 120;
  std::string text;
  for (const char c : name.substr(0, kMaxLength)) {
    text += c >= ' ' && c <= '~' ? c : '?';
  }
  if (name.size() > kMaxLength) text += "...";
  return text;
}

}  // namespace modeld::compile
