// Typed reads from nested TOML tables that notice what nobody asked for, for pipelines: tables in
// lists in tables, and the first error ends the compile. (config/toml_reader.h reads the daemons'
// flat files and gathers every problem with the documented range.) Only pipeline.cpp uses it: it
// shows toml++.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace modeld::compile {

// A view of one table; the document outlives it. Errors are kInvalidArgument and name file, line
// and key.
class TomlTable {
 public:
  TomlTable(const toml::table& table, std::string file, std::string path)
      : table_(table), file_(std::move(file)), path_(std::move(path)) {}

  bool has(std::string_view key) const { return table_.contains(key); }
  int line() const { return static_cast<int>(table_.source().begin.line); }

  Result<std::string> text(std::string_view key, std::string otherwise = {});
  Result<int64_t> integer(std::string_view key, int64_t otherwise, int64_t least, int64_t most);
  Result<double> number(std::string_view key, double otherwise);
  Result<bool> flag(std::string_view key);  // false where the key is absent
  Result<std::vector<int64_t>> integers(std::string_view key, size_t count);
  // A list of pairs of integers.
  Result<std::vector<std::vector<int64_t>>> pairs(std::string_view key);
  Result<std::vector<double>> numbers(std::string_view key, size_t count);
  Result<std::vector<std::string>> texts(std::string_view key);
  // Nothing where the key is absent.
  Result<std::optional<TomlTable>> table(std::string_view key);
  // Tables of a list; empty where the key is absent.
  Result<std::vector<TomlTable>> tables(std::string_view key);
  // All keys of this table, each of which will be asked for.
  std::vector<std::string> keys() const;

  // An error about `key` of this table.
  Error wrong(std::string_view key, std::string expected, std::string found) const;
  // The error of the first key nobody asked for.
  Status finish() const;

 private:
  const toml::node* find(std::string_view key);
  Error wrong_type(std::string_view key, std::string expected) const;

  const toml::table& table_;
  std::string file_;
  std::string path_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace modeld::compile
