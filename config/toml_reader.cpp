#include "config/toml_reader.h"

#include <toml++/toml.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

namespace modeld {
namespace {

struct Problem {
  uint32_t line = 0;
  Error error;
};

std::string format_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

// The value as it would be written, with its kind where the text alone could mislead.
std::string describe(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (node.is_array()) return "an array";
  std::ostringstream text;
  if (const auto* string = node.as_string()) {
    text << '"' << string->get() << '"';
  } else if (const auto* integer = node.as_integer()) {
    text << integer->get();
  } else if (const auto* real = node.as_floating_point()) {
    text << real->get() << " (a float)";
  } else if (const auto* flag = node.as_boolean()) {
    text << (flag->get() ? "true" : "false");
  } else {
    text << "a date or time";
  }
  return text.str();
}

std::string list_names(std::span<const std::string_view> names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i != 0) text += i + 1 == names.size() ? " or " : ", ";
    text += '"' + std::string(names[i]) + '"';
  }
  return text;
}

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

}  // namespace

struct TomlReader::Document {
  toml::table root;
  std::string name;
  std::string section;
  std::vector<std::string> sections;  // asked for
  std::vector<std::string> keys;      // asked for, "section.key"
  std::vector<Problem> problems;

  void add_problem(const toml::node* node, std::string message, std::string expected,
                   std::string found) {
    const uint32_t line = node == nullptr ? 0 : node->source().begin.line;
    const std::string where = line == 0 ? name : name + ":" + std::to_string(line);
    problems.push_back({line, Error(ErrorCode::kInvalidArgument, std::move(message))
                                  .expecting(std::move(expected), std::move(found))
                                  .in(where)});
  }

  const toml::node* find(std::string_view key) {
    keys.push_back(section + "." + std::string(key));
    return peek(key);
  }

  const toml::node* peek(std::string_view key) const {
    const toml::table* table = root[section].as_table();
    return table == nullptr ? nullptr : table->get(key);
  }

  void wrong(const toml::node* node, std::string_view key, std::string expected) {
    add_problem(node, "key " + section + "." + std::string(key), std::move(expected),
                describe(*node));
  }

  void find_unknown() {
    for (const auto& [key, node] : root) {
      const std::string table_name(key.str());
      const bool known = std::find(sections.begin(), sections.end(), table_name) != sections.end();
      if (!known) {
        add_problem(&node, (node.is_table() ? "unknown section " : "unknown key ") + table_name,
                    "one of the documented names", table_name);
      } else if (const toml::table* table = node.as_table()) {
        find_unknown_keys(table_name, *table);
      } else {
        add_problem(&node, "section " + table_name, "a table", describe(node));
      }
    }
  }

  void find_unknown_keys(const std::string& table_name, const toml::table& table) {
    const std::string prefix = table_name + ".";
    for (const auto& [key, node] : table) {
      const std::string full = prefix + std::string(key.str());
      if (std::find(keys.begin(), keys.end(), full) != keys.end()) continue;
      std::string known;
      for (const std::string& candidate : keys) {
        if (candidate.rfind(prefix, 0) == 0) {
          known += (known.empty() ? "" : ", ") + candidate.substr(prefix.size());
        }
      }
      add_problem(&node, "unknown key " + full, "one of " + known, std::string(key.str()));
    }
  }
};

Result<TomlReader> TomlReader::parse(std::string_view text, std::string name) {
  auto document = std::make_unique<Document>();
  document->name = std::move(name);
  try {
    document->root = toml::parse(text);
  } catch (const toml::parse_error& failure) {
    return Error(ErrorCode::kInvalidArgument, std::string(failure.description()))
        .expecting("TOML", "text that does not parse")
        .in(document->name + ":" + std::to_string(failure.source().begin.line));
  } catch (const std::exception& failure) {
    return Error(ErrorCode::kInvalidArgument, failure.what()).in(document->name);
  }
  return TomlReader(std::move(document));
}

TomlReader::TomlReader(std::unique_ptr<Document> document) : document_(std::move(document)) {}
TomlReader::~TomlReader() = default;
TomlReader::TomlReader(TomlReader&&) noexcept = default;
TomlReader& TomlReader::operator=(TomlReader&&) noexcept = default;

void TomlReader::section(std::string_view name) {
  document_->section = name;
  document_->sections.emplace_back(name);
}

void TomlReader::flag(std::string_view key, bool& value) {
  const toml::node* node = document_->find(key);
  if (node == nullptr) return;
  if (const auto* found = node->as_boolean()) {
    value = found->get();
  } else {
    document_->wrong(node, key, "true or false");
  }
}

void TomlReader::integer(std::string_view key, uint32_t& value, uint32_t minimum,
                         uint32_t maximum) {
  const toml::node* node = document_->find(key);
  if (node == nullptr) return;
  const auto* found = node->as_integer();
  if (found != nullptr && found->get() >= int64_t{minimum} && found->get() <= int64_t{maximum}) {
    value = static_cast<uint32_t>(found->get());
  } else {
    document_->wrong(node, key,
                     "an integer, " + std::to_string(minimum) + " to " + std::to_string(maximum));
  }
}

void TomlReader::number(std::string_view key, double& value, double minimum, double maximum) {
  const toml::node* node = document_->find(key);
  if (node == nullptr) return;
  const std::optional<double> found =
      node->is_number() ? node->value<double>() : std::optional<double>();
  // Written so that NaN fails.
  if (found && *found >= minimum && *found <= maximum) {
    value = *found;
  } else {
    document_->wrong(node, key,
                     "a number, " + format_number(minimum) + " to " + format_number(maximum));
  }
}

void TomlReader::milliseconds(std::string_view key, Nanoseconds& value, double minimum,
                              double maximum) {
  double milliseconds = static_cast<double>(value) / kMillisecond;
  number(key, milliseconds, minimum, maximum);
  value = std::llround(milliseconds * kMillisecond);
}

void TomlReader::choice(std::string_view key, size_t& value,
                        std::span<const std::string_view> names) {
  const toml::node* node = document_->find(key);
  if (node == nullptr) return;
  if (const auto* found = node->as_string()) {
    const auto match = std::find(names.begin(), names.end(), found->get());
    if (match != names.end()) {
      value = static_cast<size_t>(match - names.begin());
      return;
    }
  }
  document_->wrong(node, key, list_names(names));
}

void TomlReader::word(std::string_view key, std::string& value, size_t max_length) {
  const toml::node* node = document_->find(key);
  if (node == nullptr) return;
  const auto* found = node->as_string();
  if (found != nullptr && !found->get().empty() && found->get().size() <= max_length &&
      std::all_of(found->get().begin(), found->get().end(), is_word_character)) {
    value = found->get();
  } else {
    document_->wrong(
        node, key,
        "a string of 1 to " + std::to_string(max_length) + " characters A-Z a-z 0-9 _ -");
  }
}

void TomlReader::text(std::string_view key, std::string& value, size_t max_length) {
  const toml::node* node = document_->find(key);
  if (node == nullptr) return;
  const auto* found = node->as_string();
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (found != nullptr && found->get().size() <= max_length &&
      std::all_of(found->get().begin(), found->get().end(), printable)) {
    value = found->get();
  } else {
    document_->wrong(node, key,
                     "a string of at most " + std::to_string(max_length) + " printable characters");
  }
}

void TomlReader::path(std::string_view key, std::filesystem::path& value, size_t max_length,
                      bool may_be_empty) {
  const toml::node* node = document_->find(key);
  if (node == nullptr) return;
  const auto* found = node->as_string();
  if (found != nullptr && found->get().empty() && may_be_empty) {
    value.clear();
  } else if (found != nullptr && found->get().size() <= max_length && found->get()[0] == '/' &&
             found->get().find('\0') == std::string::npos) {
    value = found->get();
  } else {
    document_->wrong(node, key,
                     std::string("an absolute path") + (may_be_empty ? " or \"\"" : "") +
                         ", at most " + std::to_string(max_length) + " bytes");
  }
}

void TomlReader::refuse(std::string_view key, std::string expected, std::string found) {
  document_->add_problem(document_->peek(key), "key " + document_->section + "." + std::string(key),
                         std::move(expected), std::move(found));
}

std::vector<Error> TomlReader::finish() {
  document_->find_unknown();
  std::stable_sort(document_->problems.begin(), document_->problems.end(),
                   [](const Problem& a, const Problem& b) { return a.line < b.line; });
  std::vector<Error> errors;
  errors.reserve(document_->problems.size());
  for (Problem& problem : document_->problems) errors.push_back(std::move(problem.error));
  document_->problems.clear();
  return errors;
}

const std::vector<std::string>& TomlReader::keys() const {
  return document_->keys;
}

}  // namespace modeld
