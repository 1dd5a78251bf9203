#include "tools/modelctl/frame_option.h"

#include <charconv>
#include <vector>

namespace modeld::modelctl {
namespace {

Error malformed(const std::string& text) {
  return Error(ErrorCode::kInvalidArgument, "--frame")
      .expecting("NAME=WIDTHxHEIGHT or NAME=WIDTHxHEIGHT:STRIDE:UV_OFFSET", text);
}

// Takes a number off the front of `text`.
bool take_number(std::string_view& text, uint64_t& value) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

Result<std::pair<std::string, std::string>> split_assignment(const std::string& option,
                                                             const std::string& text) {
  const size_t at = text.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size()) {
    return Error(ErrorCode::kInvalidArgument, option).expecting("NAME=VALUE", text);
  }
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

Result<FrameOption> parse_frame_option(const std::string& text) {
  MODELD_ASSIGN(const auto parts, split_assignment("--frame", text));
  FrameOption frame;
  frame.input = parts.first;
  std::string_view rest = parts.second;
  if (!take_number(rest, frame.width) || !take(rest, 'x') || !take_number(rest, frame.height)) {
    return malformed(text);
  }
  if (rest.empty()) {
    if (frame.width > kMaxNv12Side || frame.height > kMaxNv12Side) return malformed(text);
    frame.stride = frame.width;
    frame.uv_offset = frame.width * frame.height;
    return frame;
  }
  if (!take(rest, ':') || !take_number(rest, frame.stride) || !take(rest, ':') ||
      !take_number(rest, frame.uv_offset) || !rest.empty()) {
    return malformed(text);
  }
  return frame;
}

}  // namespace modeld::modelctl
