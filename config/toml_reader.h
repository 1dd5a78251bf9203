// Takes typed values out of a TOML document and notices everything nobody asked for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/result.h"

namespace modeld {

// Usage: parse, then section() and one read per known key, then finish(). A read leaves its target
// alone when the key is absent and files a problem (key, line, expected, found) when the value does
// not fit. Not thread-safe.
class TomlReader {
 public:
  // `name` stands in front of line numbers. kInvalidArgument with the line for text that is not
  // TOML.
  static Result<TomlReader> parse(std::string_view text, std::string name);
  ~TomlReader();
  TomlReader(TomlReader&&) noexcept;
  TomlReader& operator=(TomlReader&&) noexcept;

  // The table that the reads which follow look into.
  void section(std::string_view name);

  void flag(std::string_view key, bool& value);
  void integer(std::string_view key, uint32_t& value, uint32_t minimum, uint32_t maximum);
  void number(std::string_view key, double& value, double minimum, double maximum);
  void milliseconds(std::string_view key, Nanoseconds& value, double minimum, double maximum);
  // One of `names`; `value` becomes its index.
  void choice(std::string_view key, size_t& value, std::span<const std::string_view> names);
  // 1 to `max_length` characters of A-Z a-z 0-9 _ -
  void word(std::string_view key, std::string& value, size_t max_length);
  // Any printable ASCII, at most `max_length` characters; may be empty.
  void text(std::string_view key, std::string& value, size_t max_length);
  // Absolute, at most `max_length` bytes; the empty string only where `may_be_empty`.
  void path(std::string_view key, std::filesystem::path& value, size_t max_length,
            bool may_be_empty = false);

  // A value that was read and fits, but cannot be had: `key` of the current section.
  void refuse(std::string_view key, std::string expected, std::string found);

  // Adds a problem for every key and section that was not asked for; all problems by line.
  std::vector<Error> finish();
  // "section.key" of every key asked for so far.
  const std::vector<std::string>& keys() const;

 private:
  struct Document;
  explicit TomlReader(std::unique_ptr<Document> document);
  std::unique_ptr<Document> document_;
};

}  // namespace modeld
